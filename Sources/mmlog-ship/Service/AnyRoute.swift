import CommandLineTool
import LogCommands
import MMLogDestinations
import MMLogShipping
import MMLogStorage
import MMLogSystem

/// The shipping of a directory to one destination: of records, or of whole archives.
struct AnyRoute: Sendable {
  private enum Kind: Sendable {
    case records(Shipper)
    case archives(ArchiveShipper, any ArchiveDestination)
  }

  /// The route's name in messages.
  let name: String
  private let kind: Kind
  private let archiveNumbers = LockedValue(ArchiveNumbers())
  /// Prints events that are worth a line, until the shipper is stopped.
  private let reporting: Task<Void, Never>

  init(_ route: Plan.Route) throws {
    name = "\(route.directory) to \(route.target.name)"
    switch try route.target.settings.destination() {
    case .records(let destination):
      var configuration = route.target.shipping
      configuration.ringDirectory = route.rings
      configuration.identities = route.identities
      if !route.target.isNamed { configuration.target = route.target.settings.target }
      let shipper = try Shipper(
        of: route.directory, as: route.target.name, to: destination, configuration: configuration)
      (kind, reporting) = (.records(shipper), Self.report(shipper.events, name))
    case .archives(let destination):
      var configuration = ArchiveShipper.Configuration()
      configuration.retry = route.target.shipping.retry
      let shipper = try ArchiveShipper(
        of: route.directory, to: destination, configuration: configuration)
      kind = .archives(shipper, destination)
      reporting = Self.report(shipper.events, name, archiveNumbers)
    }
  }

  private static func report(
    _ events: AsyncStream<Shipper.Event>, _ name: String
  ) -> Task<Void, Never> {
    Task.detached {
      let refusals = Refusals(of: name)
      let summing = Task {
        while (try? await Task.sleep(for: .seconds(60))) != nil { refusals.saySum() }
      }
      var unsaid: DeliveryError?
      for await event in events {
        unsaid = event.errorOfFirstTries
        if case .refused(_, let count, let reason) = event, count > 0 {
          refusals.add(count, reason)
        } else if let sentence = event.sentence {
          Command.complain("\(name): \(sentence)")
        }
      }
      summing.cancel()
      refusals.saySum()
      if let unsaid { Command.complain("\(name): \(unsaid)") }
    }
  }

  private static func report(
    _ events: AsyncStream<ArchiveShipper.Event>, _ name: String,
    _ numbers: LockedValue<ArchiveNumbers>
  ) -> Task<Void, Never> {
    Task.detached {
      var (isBlocked, unsaid) = (false, DeliveryError?.none)
      for await event in events {
        numbers.withLock { $0.take(event) }
        unsaid = event.errorOfFirstTries
        let wasBlocked = isBlocked
        isBlocked = event.isBlocked
        if isBlocked, wasBlocked { continue }
        if let sentence = event.sentence { Command.complain("\(name): \(sentence)") }
      }
      if let unsaid { Command.complain("\(name): \(unsaid)") }
    }
  }

  func start() throws {
    switch kind {
    case .records(let shipper): try shipper.start()
    case .archives(let shipper, _): try shipper.start()
    }
  }

  /// Sends all that is archived now.
  ///
  /// - Parameter isShared: Whether it is enough that another program is at work.
  /// - Returns: Whether everything was sent.
  func sendAll(sharing isShared: Bool) async -> Bool {
    do throws(LogError) {
      switch kind {
      case .records(let shipper):
        let isAll = try await shipper.shipAll()
        if !isAll, Task.isCancelled {
          Command.complain("\(name): not all was sent; what is left is sent next time")
        }
        return isAll
      case .archives(let shipper, _):
        // An archive that cannot be read keeps no other waiting: `shipAll` reports it at its end.
        let all = (try? shipper.waiting()).map { Set($0.map(\.path)) }
        _ = try await shipper.shipAll()
        // A shipper that was killed within an upload also has a lease, for a while. What was sealed
        // meanwhile is not asked for.
        let waiting = try shipper.waiting().filter {
          Task.isCancelled || all?.contains($0.path) ?? true
        }
        let leases = waiting.compactMap(\.state.lease)
        if waiting.count > (Task.isCancelled && !isShared ? 0 : leases.count) {
          let verb = waiting.count == 1 ? "is" : "are"
          Command.complain(
            "\(name): \(count(waiting.count, "archive")) \(verb) left, and \(verb) sent next time")
          return false
        }
        guard !isShared, let lease = leases.first else { return true }
        Command.complain(
          "\(name): \(leases.count) archives are leased to others, the first to '\(lease.owner)' "
            + "until \(lease.expiry); they are not sent before that")
        return false
      }
    } catch {
      // The other program sends what is there.
      if isShared, error.code == .archiveInUse { return true }
      // An event has reported any other error.
      if error.code != .archiveInUse, statistics?.lastError == error.message { return false }
      Command.complain("\(name): \(error)")
      return false
    }
  }

  func flush(within limit: Duration) async -> Bool {
    switch kind {
    case .records(let shipper): await shipper.flush(within: limit)
    // An unfinished archive goes on where it ended, or is sent again.
    case .archives: true
    }
  }

  /// Asks the shipper to end soon, and does not wait for it.
  func cancel() {
    switch kind {
    case .records(let shipper): shipper.cancel()
    case .archives(let shipper, _): shipper.cancel()
    }
  }

  /// Stops the shipper, and returns when everything is printed that is worth a line.
  func stop() async {
    switch kind {
    case .records(let shipper): await shipper.stop()
    case .archives(let shipper, _): await shipper.stop()
    }
    await reporting.value
  }

  /// What keeps the destination from taking anything; nil if it answers.
  func check() async -> String? {
    do {
      switch kind {
      case .records(let shipper): try await shipper.check()
      case .archives(_, let destination): try await destination.check()
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Describes what would be sent now, in lines.
  func waiting() throws(LogError) -> [String] {
    switch kind {
    case .records(let shipper):
      return try shipper.waiting().map { waiting in
        "session \(waiting.session): \(waiting.records) records"
          + (waiting.hasRing ? ", and what is in its ring" : "")
          + (waiting.corruption.isEmpty
            ? "" : ", and \(waiting.corruption.count) gaps where it is corrupted")
      }
    case .archives(let shipper, _):
      return try shipper.waiting().map { "\($0.fileName): \($0.size) bytes" }
    }
  }

  /// Sends again what the destination has refused.
  ///
  /// - Returns: The outcome, and whether the destination has everything now.
  func retry() async throws(LogError) -> (text: String, isWhole: Bool) {
    switch kind {
    case .records(let shipper):
      let result = try await shipper.retryRefused()
      let unreadable =
        result.unreadable == 0
        ? "" : "; \(count(result.unreadable, "line")) of '.refused' cannot be read, and stay there"
      let waiting = result.waiting == 0 ? "" : ", \(result.waiting) in archives that cannot be read"
      return (
        "\(result.acknowledged) sent, \(result.refused) refused again, \(result.missing) not here "
          + "any more\(waiting)\(unreadable)",
        result.refused == 0 && result.missing == 0 && result.waiting == 0
          && result.unreadable == 0
      )
    case .archives(let shipper, _):
      let (count, refused) = (try await shipper.retryRefused(), try shipper.refused().count)
      return ("\(count) archives sent, \(refused) refused", refused == 0)
    }
  }

  /// Whether something was not sent that should have been.
  var hasLost: Bool {
    switch kind {
    case .records(let shipper): shipper.statistics.refused > 0 || shipper.statistics.gaps > 0
    case .archives(let shipper, _): (try? shipper.refused().isEmpty) != true
    }
  }

  /// The numbers of records; nil if whole archives are sent.
  var statistics: Shipper.Statistics? {
    if case .records(let shipper) = kind { shipper.statistics } else { nil }
  }

  /// The numbers of whole archives; nil if records are sent.
  var archives: ArchiveNumbers? {
    guard case .archives(let shipper, _) = kind else { return nil }
    var numbers = archiveNumbers.withLock { $0 }
    numbers.waiting = try? shipper.waiting().count
    return numbers
  }
}

/// Reports the records that a destination has refused. The first refusal is printed at once, later
/// ones as sums by reason.
private final class Refusals: Sendable {
  private let name: String
  /// How many were refused since the last sum, by reason.
  private let counts = LockedValue<[String: Int]>([:])
  private let isAnySaid = LockedValue(false)
  private static let maximumReasons = 10

  /// - Parameter name: The route's name.
  init(of name: String) { self.name = name }

  func add(_ count: Int, _ reason: String) {
    let isFirst = isAnySaid.withLock { isSaid in
      defer { isSaid = true }
      return !isSaid
    }
    if isFirst { return say(count, reason) }
    // The reasons are limited: a destination may name the record in its reason.
    counts.withLock { counts in
      let isNamed = counts[reason] != nil || counts.count < Self.maximumReasons
      counts[isNamed ? reason : "other reasons", default: 0] += count
    }
  }

  func saySum() {
    let sums = counts.withLock { counts in
      defer { counts = [:] }
      return counts
    }
    for (reason, count) in sums.sorted(by: { $0.key < $1.key }) { say(count, reason) }
  }

  private func say(_ count: Int, _ reason: String) {
    let what = "\(name): \(count) record\(count == 1 ? " was" : "s were") refused"
    if reason.hasSuffix(RefusedRecords.unnamedSuffix) {
      return Command.complain("\(what), and cannot be sent again: \(reason)")
    }
    Command.complain(
      "\(what) and put aside; 'mmlog-ship retry' sends \(count == 1 ? "it" : "them") again: "
        + reason)
  }
}

extension Shipper.Event {
  /// The error of the first tries, which is not reported yet. It is reported if the program ends
  /// before that.
  fileprivate var errorOfFirstTries: DeliveryError? {
    if case .retrying(_, _, let error, _) = self, sentence == nil { error } else { nil }
  }

  /// A sentence if the event is worth a line; nil if all goes as it should.
  fileprivate var sentence: String? {
    switch self {
    case .started, .acknowledged: return nil
    case .retrying(_, let attempt, let error, let delay):
      // The first failures may be a restart of the destination.
      guard attempt == 3 || attempt % 20 == 0 || error.hasAskedFor(delay) else { return nil }
      return "\(error); tried \(count(attempt, "time")), the next time in "
        + "\(delay.components.seconds) s"
    case .blocked(let error): return "\(error); nothing is sent until that is changed"
    case .resumed: return "the destination takes records again"
    case .refused(_, 0, let reason):
      return "the destination refused the note about missing records: \(reason)"
    // `Refusals` reports refused records.
    case .refused: return nil
    case .contradiction(_, let sentence): return sentence
    case .changedBatch(let id):
      return "the batch \(id) was on its way when its shipper ended, and cannot be made again: "
        + "some of its records may arrive twice, or not"
    case .gap(let gap): return "records are gone before they were sent: \(gap)"
    case .recovered(let sessions):
      return "recovered \(count(sessions.count, "session")) of processes that had died"
    case .failed(let error) where error.code == .archiveInUse: return nil
    case .failed(let error): return "\(error)"
    case .waitingForAnother: return "another mmlog-ship sends this; waiting until it ends"
    @unknown default: return nil
    }
  }
}

extension DeliveryError {
  /// Whether the receiver has asked for a pause of a minute or more, which is reported at once.
  fileprivate func hasAskedFor(_ delay: Duration) -> Bool {
    if case .tryAgain(.some) = remedy { delay >= .seconds(60) } else { false }
  }
}

extension ArchiveShipper.Event {
  /// Whether nothing is sent until somebody acts.
  var isBlocked: Bool {
    if case .retrying(_, _, let error, _) = self { error.remedy == .waitForAction } else { false }
  }

  /// The error of the first tries, which is not reported yet. It is reported if the program ends
  /// before that.
  fileprivate var errorOfFirstTries: DeliveryError? {
    if case .retrying(_, _, let error, _) = self, sentence == nil { error } else { nil }
  }

  /// A sentence if the event is worth a line; nil if all goes as it should.
  fileprivate var sentence: String? {
    switch self {
    case .shipped: return nil
    case .retrying(let archive, let attempt, let error, let delay):
      if isBlocked { return "\(error); nothing is sent until that is changed" }
      guard attempt == 3 || attempt % 20 == 0 || error.hasAskedFor(delay) else { return nil }
      return "\(archive.fileName): \(error); tried \(count(attempt, "time")), the next time in "
        + "\(delay.components.seconds) s"
    case .refused(let archive, let reason):
      return "\(archive.fileName) was refused; 'mmlog-ship retry' sends it again: \(reason)"
    case .failed(let error): return "\(error)"
    @unknown default: return nil
    }
  }
}
