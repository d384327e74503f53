import Foundation
import MMLog
import MMLogSystem
import Synchronization
import Testing
import TestSupport

@Suite("Numbers about a store")
struct StatisticsTests {
  @Test("records count as waiting until they are archived, by level, with their bytes")
  func counts() throws {
    let test = try TestStore { $0.drainInterval = .seconds(3600) }
    #expect(test.store.statistics.waiting.count == 0)
    #expect(test.store.statistics.oldestWaiting == nil)
    // Header, ticks, identity, value.
    for number in 0..<10 { test.log.info("\(number)") }
    for number in 0..<3 { test.log.error("\(number)") }

    let before = test.store.statistics
    try test.store.flush(.archive)
    let after = test.store.statistics
    try test.store.close()
    let closed = test.store.statistics

    #expect(before.waiting.count(.info) == 10 && before.waiting.count(.error) == 3)
    #expect(before.waiting.bytes(.info) == 320 && before.waiting.bytes(.error) == 96)
    #expect(before.waiting.bytes == 416 && before.archived.count == 0)
    #expect(try #require(before.oldestWaiting) >= .zero)
    #expect(before.compressionRatio == nil)
    #expect(before.usedSegments >= 1 && before.usedSegments <= before.segments)
    #expect(after.archived == before.waiting && after.waiting.count == 0)
    #expect(after.oldestWaiting == nil)
    #expect(after.rawBytes >= 416 && after.writtenBytes > 0)
    #expect(after.passes > 0 && after.failedPasses == 0 && after.lastPass != nil)
    #expect(closed.archived == after.archived && closed.ringBytes == 0 && closed.segments == 0)
  }

  @Test("flight records wait for nothing")
  func flightRecords() throws {
    let test = try TestStore {
      ($0.drainInterval, $0.archiveLevel) = (.seconds(3600), .info)
    }
    for number in 0..<10 { test.log.debug("\(number)") }
    #expect(test.store.statistics.waiting.count == 0)
    #expect(test.store.statistics.oldestWaiting == nil)
    for number in 0..<10 {
      test.log.info("\(number)")
      test.log.debug("\(number)")
    }
    let before = test.store.statistics.waiting
    #expect(before.count == 10 && before.count(.info) == 10 && before.bytes == 320)
    try test.store.flush(.archive)
    #expect(test.store.statistics.waiting.count == 0)
    try test.store.close()
  }

  @Test("flight records count as archived when they are captured, with what they take")
  func capturedRecords() throws {
    let test = try TestStore {
      ($0.drainInterval, $0.archiveLevel) = (.seconds(3600), .info)
    }
    for number in 0..<10 { test.log.debug("\(number)") }
    try test.store.flush(.archive)
    let before = test.store.statistics
    try test.store.capture(reason: "a look")
    let after = test.store.statistics
    try test.store.close()
    #expect(before.archived.count == 0 && before.frames == 0 && before.writtenBytes == 0)
    #expect(after.archived.count(.debug) == 10 && after.archived.bytes(.debug) == 320)
    // One frame with them, and one with the record that says why.
    #expect(after.frames == 2 && after.rawBytes > 320 && after.writtenBytes > 0)
  }

  @Test("a record in pieces counts once, with all of its bytes")
  func fragments() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
    }
    let text = String(repeating: "x", count: 20_000)
    test.log.info("\(text, privacy: .public)")
    try test.store.flush(.archive)
    let archived = test.store.statistics.archived
    #expect(archived.count == 1 && archived.bytes > 20_000)
    try test.store.close()
  }

  @Test("losses and archives are among them")
  func others() throws {
    let test = try TestStore()
    test.log.info("one")
    _ = try test.store.rotate(within: .seconds(60))
    try test.store.applyRetention(within: .seconds(60))
    let open = test.store.statistics
    try test.store.close()
    test.log.warning("too late")
    #expect(open.archives == 1 && open.archiveBytes > 0 && open.pendingBytes == open.archiveBytes)
    #expect(open.losses.isEmpty && open.syncs >= 1)
    #expect(test.store.statistics.losses[.noRing, .warning] == 1)
  }

  #if DEBUG
    @Test("what stays in a flight recorder's ring is not read to count what waits")
    func flightRecordsAreNotRead() throws {
      let test = try TestStore {
        $0.makeTiny()
        ($0.archiveLevel, $0.drainInterval) = (.info, .seconds(3600))
      }
      for number in 0..<2000 { test.log.debug("debug \(number)") }
      try test.store.flush(.archive)
      test.log.info("waits")
      let ring = test.folder(try test.folder.names(ending: ".ring")[0])
      ForcedFault.force(.pread, errno: EIO, onCall: .max, under: ring)
      defer { ForcedFault.clear(under: ring) }
      let statistics = test.store.statistics
      #expect(statistics.waiting.count == 1)
      // Of the one segment that the thread has.
      #expect(ForcedFault.passed(.pread, under: ring) == 1)
      #expect(Contents(test.folder.path).messages.count { $0.hasPrefix("debug") } > 500)
      try test.store.close()
    }

    @Test("passes and syncs that fail are counted, and what they leave waits")
    func failures() throws {
      let test = try TestStore { $0.drainInterval = .seconds(3600) }
      test.log.info("one")
      // Only archives, not settings, which the store may be noting meanwhile.
      let archives = test.folder("test-")
      ForcedFault.force(.fdatasync, errno: EIO, under: archives)
      defer { ForcedFault.clear(under: archives) }
      #expect(throws: LogError.self) { try test.store.flush(.disk) }
      let unsynced = test.store.statistics
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: archives)
      test.log.info("two")
      #expect(throws: LogError.self) { try test.store.flush(.archive) }
      let unwritten = test.store.statistics
      ForcedFault.clear(under: archives)
      try test.store.flush(.disk)

      #expect(unsynced.failedSyncs == 1 && unsynced.failedPasses >= 1)
      #expect(unsynced.archived.count == 1)
      #expect(unwritten.failedPasses > unsynced.failedPasses)
      #expect(unwritten.waiting.count == 1 && unwritten.archived.count == 1)
      #expect(test.store.statistics.archived.count == 2)
      #expect(test.store.statistics.failedSyncs == 1)
      try test.store.close()
    }
  #endif

  @Test("they can be asked for while threads log, and while the store is closed")
  func concurrently() throws {
    let test = try TestStore { $0.makeTiny() }
    let (store, log) = (test.store, test.log)
    let isOver = Atomic<Bool>(false)
    let asking = try Thread(name: "asking") {
      var archived: UInt64 = 0
      while !isOver.load(ordering: .acquiring) {
        let statistics = store.statistics
        if statistics.archived.count < archived { Issue.record("a count went back") }
        archived = statistics.archived.count
      }
    }
    try onThreads(4) { thread in for number in 0..<5000 { log.info("\(thread) \(number)") } }
    try store.close()
    isOver.store(true, ordering: .releasing)
    asking.join()
    #expect(store.statistics.archived.count(.info) == 20_000)
  }
}

@Suite("Numbers in Prometheus's format")
struct PrometheusTests {
  @Test("every number is there with its name, type and labels, as a strict parser reads it")
  func text() throws {
    let test = try TestStore()
    for number in 0..<5 { test.log.notice("\(number)") }
    try test.store.flush(.archive)
    let statistics = test.store.statistics
    let awkward = "a\\b\"c\nd {e=\"f\"} ü"
    let text = statistics.prometheusText(labels: ["store": "orders", "note": awkward])
    try test.store.close()

    let families = try Exposition(text).families
    let own = ["store": "orders", "note": awkward]
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
      families[name]?.samples[own.merging(labels) { $1 }]
    }
    #expect(value("mmlog_archived_records_total", ["level": "notice"]) == 5)
    #expect(value("mmlog_archived_records_total", ["level": "error"]) == 0)
    #expect(value("mmlog_archived_record_bytes_total", ["level": "notice"]) == 160)
    #expect(value("mmlog_lost_records_total", ["cause": "ring full", "level": "info"]) == 0)
    #expect(value("mmlog_ring_segments") == Double(statistics.segments))
    #expect(value("mmlog_written_bytes_total") == Double(statistics.writtenBytes))
    #expect(value("mmlog_oldest_waiting_seconds") == 0)
    #expect(try #require(value("mmlog_drain_last_success_timestamp_seconds")) > 1e9)
    for (name, family) in families {
      #expect(name.hasPrefix("mmlog_"))
      #expect((family.type == "counter") == name.hasSuffix("_total"), "\(name)")
    }
  }

  @Test("several stores make one text, in which each name is there once")
  func severalStores() throws {
    let test = try TestStore()
    test.log.info("one")
    try test.store.close()
    let one = test.store.statistics
    let text = LogStore.Statistics.prometheusText(of: [
      (one, ["store": "a"]), (one, ["store": "b"]),
    ])
    let families = try Exposition(text).families
    #expect(families["mmlog_ring_bytes"]?.samples == [["store": "a"]: 0, ["store": "b"]: 0])
    #expect(try Exposition(one.prometheusText()).families["mmlog_ring_bytes"]?.samples == [[:]: 0])
  }

  @Test(
    "a label that cannot be one is a mistake of the caller's",
    arguments: ["1a", "__name", "level"])
  func badLabels(name: String) async {
    await #expect(processExitsWith: .failure) { [name] in
      let test = try TestStore()
      _ = test.store.statistics.prometheusText(labels: [name: "x"])
    }
  }

  @Test("other programs read it, where there are any")
  func otherPrograms() throws {
    let test = try TestStore()
    test.log.info("one")
    try test.store.close()
    let text = test.store.statistics.prometheusText(labels: ["store": "a\\b\"c\nd"])
    let checks: [[String]] = [
      ["promtool", "check", "metrics"],
      [
        ProcessInfo.processInfo.environment["MMLOG_PYTHON"] ?? "python3", "-c",
        """
        import sys
        try: from prometheus_client.parser import text_string_to_metric_families as parse
        except ImportError: sys.exit(127)
        samples = [s for f in parse(sys.stdin.read()) for s in f.samples]
        assert len(samples) > 50 and all(s.labels["store"] == 'a\\\\b"c\\nd' for s in samples)
        """,
      ],
    ]
    for check in checks {
      let (status, output) = try run(check, input: text)
      if status == 127 {
        print(
          "SKIPPED  \(check[0]): apt-get install prometheus; pip install prometheus_client, or set MMLOG_PYTHON"
        )
      }
      #expect(status == 0 || status == 127, "\(check[0]): \(output)")
    }
  }

  private func run(_ command: [String], input: String) throws -> (status: Int32, output: String) {
    let folder = TemporaryDirectory()
    let source = folder.put("text", Array(input.utf8))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardInput = FileHandle(forReadingAtPath: source)
    let errors = folder.put("errors")
    process.standardError = FileHandle(forWritingAtPath: errors)
    let output = try process.output() + Data(folder.bytes("errors"))
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}

/// Prometheus's text format, read as strictly as its description allows.
struct Exposition {
  struct Family {
    var help: String?
    var type: String?
    var samples: [[String: String]: Double] = [:]
  }

  struct Fault: Error {
    let line: Substring
    let what: String
  }

  private(set) var families: [String: Family] = [:]
  private var current = ""

  init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Fault(line: "", what: "no line end at the end") }
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("#") { try comment(line) } else { try sample(line) }
    }
    for (name, family) in families where family.type == nil || family.samples.isEmpty {
      throw Fault(line: "", what: "\(name) has no type, or no samples")
    }
  }

  private mutating func comment(_ line: Substring) throws {
    let parts = line.split(separator: " ", maxSplits: 3)
    guard parts.count == 4, parts[0] == "#" else { throw Fault(line: line, what: "comment") }
    let name = String(parts[2])
    try check(name, line)
    switch parts[1] {
    case "HELP":
      guard families[name] == nil else { throw Fault(line: line, what: "twice") }
      families[name] = Family(help: String(parts[3]))
      current = name
    case "TYPE":
      guard name == current, families[name]?.type == nil,
        ["counter", "gauge"].contains(parts[3])
      else { throw Fault(line: line, what: "type") }
      families[name]?.type = String(parts[3])
    default: throw Fault(line: line, what: "keyword")
    }
  }

  private mutating func sample(_ line: Substring) throws {
    var rest = line
    let name = String(rest.prefix { $0 != "{" && $0 != " " })
    rest = rest.dropFirst(name.count)
    guard name == current, families[name]?.type != nil else {
      throw Fault(line: line, what: "not with its name")
    }
    let labels = rest.hasPrefix("{") ? try self.labels(&rest) : [:]
    guard rest.hasPrefix(" "), let value = Double(rest.dropFirst()) else {
      throw Fault(line: line, what: "value")
    }
    guard families[name]?.samples.updateValue(value, forKey: labels) == nil else {
      throw Fault(line: line, what: "sample twice")
    }
  }

  private func labels(_ rest: inout Substring) throws -> [String: String] {
    let line = rest
    var labels: [String: String] = [:]
    repeat {
      rest = rest.dropFirst()
      let name = String(rest.prefix { $0 != "=" })
      try check(name, line)
      rest = rest.dropFirst(name.count)
      guard rest.hasPrefix("=\"") else { throw Fault(line: line, what: "label") }
      rest = rest.dropFirst(2)
      guard labels.updateValue(try value(&rest), forKey: name) == nil else {
        throw Fault(line: line, what: "label twice")
      }
    } while rest.hasPrefix(",")
    guard rest.hasPrefix("}") else { throw Fault(line: line, what: "end of labels") }
    rest = rest.dropFirst()
    return labels
  }

  private func value(_ rest: inout Substring) throws -> String {
    let line = rest
    var value = ""
    while let character = rest.popFirst() {
      if character == "\"" { return value }
      if character != "\\" {
        value.append(character)
        continue
      }
      switch rest.popFirst() {
      case "\\": value += "\\"
      case "\"": value += "\""
      case "n": value += "\n"
      default: throw Fault(line: line, what: "escape")
      }
    }
    throw Fault(line: line, what: "value without an end")
  }

  private func check(_ name: String, _ line: Substring) throws {
    let isName = name.wholeMatch(of: /[a-zA-Z_][a-zA-Z0-9_]*/) != nil
    if !isName { throw Fault(line: line, what: "name \(name)") }
  }
}
