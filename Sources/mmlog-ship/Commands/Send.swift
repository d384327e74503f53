import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogDestinations
import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem

extension Command {
  static let send = Command(
    "send",
    description: [
      "Sends what is archived, and what will be, until SIGTERM or SIGINT comes.",
      """
      After a signal, it sends archived records for the time of --grace at most, and ends. A \
      second signal ends it at once. No record is lost: records that were not acknowledged are \
      sent next time.
      """,
      """
      --session, --crashed, --since and --until send only some of the records, and have a separate \
      cursor: a later run with the same options sends only new records. An --until such as today \
      or 1h becomes a fixed time when the command starts. So with --until 1h, each run sends all \
      records before its time, also those that an earlier run has sent.
      """,
      timeDescription,
    ],
    options: Option.plan + [
      .once, .orphans, .session, .since, .until, .crashed, .check, .grace, .metrics,
    ],
    operands: shippedOperands
  ) { try Send($0, $1).run() }
}

/// Sends the records of directories.
private struct Send {
  private let arguments: Arguments
  private let output: StandardOutput
  private let routes: [Plan.Route]
  private let grace: Duration

  init(_ arguments: Arguments, _ output: StandardOutput) throws {
    (self.arguments, self.output) = (arguments, output)
    let ends = [Option.once, .orphans, .check, .session, .since, .until, .crashed]
    for option in [Option.metrics, .grace] where arguments.isSet(option) {
      guard let end = ends.first(where: arguments.isSet) else { continue }
      throw UsageError("--\(option.long) has no effect with --\(end.long), which ends by itself")
    }
    grace =
      try arguments.value(of: .grace, expected: "a time such as 10s or 2m", durationArgument)
      ?? .seconds(10)
    let plan: Plan
    do { plan = try Plan(arguments) } catch let error as SettingError {
      throw UsageError("\(error)")
    }
    routes = plan.routes
    // A file of metrics that cannot be written is refused before anything is sent.
    if let path = arguments.value(of: .metrics) {
      let (parent, name) = path.splitAtLastSlash
      _ = try NamedFile(name, in: Directory.open(parent), path)
    }
  }

  func run() throws -> Program.Status {
    // If only some directories cannot be opened, they may come later, or each is an error of its
    // own.
    let directories = Set(routes.map(\.directory))
    var problems: [String] = []
    for directory in directories.sorted() {
      do throws(SystemError) { _ = try Directory.open(directory) } catch {
        problems.append("cannot open '\(directory)': \(error)")
      }
    }
    if problems.count == directories.count {
      for problem in problems {
        Command.complain("\(problem); name a directory that services log into")
      }
      return .nothingReadable
    }
    if arguments.isSet(.check) { return try check(selectedRoutes()) }
    // The signals are blocked before the first thread, so that all threads leave them to this one.
    StopSignals.block()
    let areRecovered = arguments.isSet(.orphans) ? recover() : true
    // Recovered sessions are among what can be selected.
    let routes = try selectedRoutes().map { try $0.open() }
    let isBounded = arguments.isSet(.once) || arguments.isSet(.orphans) || isSelection
    guard isBounded else { return try serve(routes) }
    let status = try sendOnce(routes)
    return areRecovered ? status : .corruptionOrLoss
  }

  private var isSelection: Bool {
    [Option.session, .since, .until, .crashed].contains { arguments.isSet($0) }
  }

  /// Gives routes for selected records cursors of their own: the usual cursor would pass over
  /// records that are not selected. No archive waits for these cursors. The same selection, asked
  /// for again, sends what is new.
  private func selectedRoutes() throws -> [Plan.Route] {
    guard isSelection else { return routes }
    let (prefixes, onlyCrashed) = (arguments.values(of: .session), arguments.isSet(.crashed))
    var times = LogReader.Filter()
    try arguments.setTimes(of: &times, .local)
    let selected: [Plan.Route] = try routes.compactMap { route in
      guard !route.target.settings.url.takesArchives else {
        throw UsageError(
          "--session, --since, --until and --crashed are for destinations of records")
      }
      var target = route.target
      target.shipping.isSelection = true
      (target.shipping.filter.since, target.shipping.filter.until) = (times.since, times.until)
      if !prefixes.isEmpty || onlyCrashed {
        var filter = LogReader.Filter()
        filter.sessions = prefixes
        let folders = [route.directory, route.rings].compactMap(\.self)
        let sessions = LogFiles(folders.map(LogReader.Input.path)).overview(filter: filter)
          .filter { !onlyCrashed || $0.ending.isCrash }
        if sessions.isEmpty { return nil }
        target.shipping.filter.sessions = sessions.map(\.session.id.description)
      }
      target.name = selectionName(target)
      var selected = route
      selected.target = target
      return selected
    }
    if selected.isEmpty, !prefixes.isEmpty {
      throw UsageError(
        "there is no such session; 'mmlog-decode sessions DIR' lists those that there are")
    }
    return selected
  }

  /// Returns the name of the cursor of a destination's selection.
  private func selectionName(_ target: Target) -> String {
    var until = arguments.value(of: .until)
    // The cursor also passes over what is too new. If `until` is later the next time, such as
    // `today`, a cursor of the same name would be behind records that are selected by then.
    if until == "boot" {
      // This time comes from two clocks, and is never exactly the same.
      until = "boot \(Host.bootID())"
    } else if arguments.isRelativeTime(.until), let time = target.shipping.filter.until {
      until = "@\(time.nanosecondsSince1970)"
    }
    let times = [
      arguments.value(of: .since).map { "since \($0)" }, until.map { "until \($0)" },
    ]
    let crashed = arguments.isSet(.crashed) ? ["crashed"] : []
    var texts = arguments.values(of: .session) + times.compactMap(\.self) + crashed
    let prefix = String(target.name.prefix(40))
    // Another destination may have the same prefix.
    if prefix != target.name { texts.append(target.name) }
    return "\(prefix).\(String(texts.sorted().joined(separator: ",").utf8.fnv1a, radix: 16))"
  }

  /// Recovers the rings of dead processes, and says which rings are left because they are of other
  /// stores. These are no failure.
  ///
  /// - Returns: Whether all rings were recovered, and none of their records was corrupted.
  private func recover() -> Bool {
    var isWhole = true
    var left: [LogError] = []
    let complain = { (error: LogError) in
      isWhole = false
      Command.complain("\(error)")
    }
    for directory in Set(routes.map(\.directory)) {
      let rings = routes.first { $0.directory == directory }?.rings ?? directory
      do throws(LogError) {
        for session in try LogRecovery.recoverKnown(
          rings, archiveDirectory: directory, left: { left.append($0) }, problem: complain)
        {
          guard let sentence = session.corruptionSentence else { continue }
          Command.complain(sentence)
          if session.losses.total(.corrupted) > 0 { isWhole = false }
        }
      } catch {
        complain(error)
      }
    }
    // A ring may have been recovered into another one of the directories since.
    for ring in left where (try? File.status(ofPath: ring.path)) != nil {
      Command.complain("\(ring)")
    }
    return isWhole
  }

  // MARK: - Once

  private func sendOnce(_ routes: [any ShippingRoute]) throws -> Program.Status {
    let (answer, isOrphans) = (Promise<Bool>(), arguments.isSet(.orphans))
    let work = Task.detached {
      let all = await withTaskGroup(of: Bool.self) { group in
        for route in routes {
          group.addTask {
            let isAll = await route.sendAll(sharing: isOrphans)
            await route.stop()
            return isAll
          }
        }
        return await group.reduce(true) { $0 && $1 }
      }
      answer.fulfill(all)
    }
    while true {
      if let all = answer.wait(atMost: 20_000_000) {
        return all && !routes.contains(where: \.hasLost) ? .success : .corruptionOrLoss
      }
      if StopSignals.wait(nanoseconds: 1) != nil {
        StopSignals.unblock()
        work.cancel()
      }
    }
  }

  // MARK: - As a service

  private func serve(_ routes: [any ShippingRoute]) throws -> Program.Status {
    for route in routes { try route.start() }
    ServiceManager.notify("READY=1\nSTATUS=\(status(routes))")
    var seconds = 0
    while StopSignals.wait(nanoseconds: 1_000_000_000) == nil {
      seconds += 1
      if seconds % 5 == 0 { ServiceManager.notify("WATCHDOG=1\nSTATUS=\(status(routes))") }
      if seconds % 15 == 0 { writeMetrics(routes) }
    }
    StopSignals.unblock()
    ServiceManager.notify("STOPPING=1")
    let grace = grace
    let isDone = try waiting {
      await withTaskGroup(of: Bool.self) { group in
        for route in routes { group.addTask { await route.flush(within: grace) } }
        return await group.reduce(true) { $0 && $1 }
      }
    }
    // Each needs up to a second for the request that is on its way.
    for route in routes { route.cancel() }
    try waiting { for route in routes { await route.stop() } }
    writeMetrics(routes)
    if !isDone { Command.complain("not all was sent; what is left is sent next time") }
    return .success
  }

  private func status(_ routes: [any ShippingRoute]) -> String {
    let (records, archives) = (routes.compactMap(\.statistics), routes.compactMap(\.archives))
    let blocked = records.count { $0.isBlocked } + archives.count { $0.isBlocked }
    func sum(_ numbers: [Int]) -> Int { numbers.reduce(0, +) }
    var parts: [String] = []
    if !records.isEmpty {
      parts.append("\(sum(records.map(\.records))) records sent")
      parts.append("\(sum(records.map(\.waiting))) waiting")
    }
    if !archives.isEmpty {
      parts.append("\(sum(archives.map(\.sent))) archives sent")
      parts.append("\(sum(archives.compactMap(\.waiting))) waiting")
    }
    if blocked > 0 { parts.append("\(blocked) destinations take nothing") }
    return parts.joined(separator: ", ")
  }

  private func writeMetrics(_ routes: [any ShippingRoute]) {
    guard let path = arguments.value(of: .metrics) else { return }
    let text =
      Shipper.Statistics.prometheusText(
        of: routes.compactMap { route in
          route.statistics.map { (consumer: route.name, statistics: $0) }
        })
      + ArchiveNumbers.prometheusText(
        of: routes.compactMap { route in
          route.archives.map { (route: route.name, numbers: $0) }
        })
    do {
      let (parent, name) = path.splitAtLastSlash
      let directory = try Directory.open(parent)
      switch try NamedFile(name, in: directory, path) {
      // The file is replaced, so that the collector never sees half of it.
      case .regular:
        try directory.replace(name, with: Array(text.utf8), mode: 0o644, isSynced: false)
      case .inPlace:
        let file = try directory.openFile(name, [.write, .nonBlocking])
        _ = try Array(text.utf8).withUnsafeBytes { try file.writeOnce($0) }
      }
    } catch let error as SystemError where error.isUnreadPipe {
      // This does not wait for a reader: the next numbers come.
    } catch {
      Command.complain("cannot write the metrics: \(error)")
    }
  }

  // MARK: - Trying

  private func check(_ routes: [Plan.Route]) throws -> Program.Status {
    var status = Program.Status.success
    for planned in routes {
      let route = try planned.open()
      let problem: String? = try waiting { await route.check() }
      let answer = problem ?? "the destination answers"
      try output.append("\(route.name): \(answer)\n".escapedControls)
      if problem != nil { status = .corruptionOrLoss }
      // If nobody can open the directory at all, reading it reports that.
      if let directory = try? Directory.open(planned.directory),
        let problem = ConsumerFile.problem(ofNoting: planned.target.name, in: directory)
      {
        try output.append("  what is sent cannot be noted: \(problem)\n".escapedControls)
        status = .corruptionOrLoss
      }
      do throws(LogError) {
        let waiting = try route.waiting()
        if waiting.isEmpty { try? output.append("  nothing would be sent\n") }
        for line in waiting { try? output.append("  \(line)\n".escapedControls) }
      } catch {
        Command.complain("\(route.name): \(error)")
        status = .corruptionOrLoss
      }
    }
    return status
  }
}
