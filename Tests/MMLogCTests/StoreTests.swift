import CCalls
import CMMLogC
import Foundation
import MMLog
import MMLogAnalysis
import MMLogReader
import MMLogStorage
import TestSupport
import Testing

@testable import MMLogC

@Suite("Stores in C")
struct StoreTests {
  @Test("options that are wrong are refused with a reason, and nothing is made")
  func wrongOptions() throws {
    let folder = TemporaryDirectory()
    func failure(_ change: (inout mmlog_options) -> Void) -> CFailure? {
      do {
        _ = try openStore(folder("new"), change)
        return nil
      } catch { return error as? CFailure }
    }
    let wrong: [(inout mmlog_options) -> Void] = [
      { $0.size = 0 }, { $0.directory = nil }, { $0.name = nil }, { $0.ring_size = 1 },
      { $0.ring_size = .max }, { $0.segment_size = 5000 }, { $0.drain_interval_ms = 1 },
      { $0.drain_threads = 3 },
      { $0.rotation_size = 1 }, { $0.file_mode = 0o666 },
      { $0.full_ring = mmlog_full_ring(rawValue: 9) },
    ]
    for (index, change) in wrong.enumerated() {
      let failure = failure(change)
      #expect(failure?.code == MMLOG_FAILURE_ARGUMENT, "\(index)")
      #expect(failure?.description.isEmpty == false)
    }
    #expect(!FileManager.default.fileExists(atPath: folder("new")))
  }

  @Test("what is wrong is said with the names and units that C has")
  func namesOfOptions() throws {
    let folder = TemporaryDirectory()
    func check(_ expected: String, _ change: (inout mmlog_options) -> Void) {
      let error = #expect(throws: CFailure.self) { try openStore(folder("new"), change) }
      #expect(error?.description == expected)
    }
    let start = "The configuration is not valid: "
    check(start + "ring_size is 1: it must be from 256 KiB to 4 GiB.") { $0.ring_size = 1 }
    check(start + "drain_interval_ms is 0.001 seconds: it must be from 10 ms to 1 h.") {
      $0.drain_interval_ms = 1
    }
    check(start + "capture_time_ms is 86401.0 seconds: it must be from 1 ms to a day.") {
      $0.capture_time_ms = 86_401_000
    }
    check(start + "sync_interval_ms is shorter than 10 ms.") { $0.sync_interval_ms = 9 }
    check(start + "segment_size and dictionary_size must be multiples of 4096.") {
      $0.segment_size = 5000
    }
    check(start + "rotation_size is 1: it must be at least 4 KiB, or -1.") { $0.rotation_size = 1 }
    check(start + "archive_level is off: no record would ever reach an archive.") {
      $0.archive_level = MMLOG_OFF
    }
    check(start + "file_mode is 0400: the owner must be able to read and write, as with 0640.") {
      $0.file_mode = 0o400
    }
    "".withCString { empty in
      check(
        "An option is not valid: ring_directory is empty: give a path, or NULL for the archives' "
          + "directory."
      ) { $0.ring_directory = empty }
    }
    for error in [LogError(.closed, "drainInterval, nil"), LogError(.invalidConfiguration, "")] {
      #expect(error.messageInC == error.message)
    }
    let error = LogError(
      .invalidConfiguration, "compression is zstd, which needs mmlog's trait Zstd: add traits: x.")
    #expect(
      error.messageInC == "compression is zstd, which needs mmlog's trait Zstd: "
        + "this library was built without it.")
  }

  @Test("a directory that others may write to is refused with the option that allows it")
  func untrustedDirectory() throws {
    let folder = TemporaryDirectory()
    mkdir(folder("log"), 0o700)
    chmod(folder("log"), 0o777)
    let error = #expect(throws: CFailure.self) { try openStore(folder("log")) }
    #expect(error?.code == MMLOG_FAILURE_DIRECTORY)
    let advice = "(chmod +t); or allow it with the setting allows_untrusted_directory."
    #expect(error?.description.hasSuffix(advice) == true, "\(error?.description ?? "")")
    let store = try openStore(folder("log")) { $0.allows_untrusted_directory = true }
    #expect(mmlog_close(store, nil) == 0)
  }

  @Test("no text is an empty one") func noText() throws {
    let test = try CStore()
    mmlog_set_levels(test.store, nil, MMLOG_INFO)
    mmlog_set_rate_limit(test.store, nil, 1, 1000, 0)
    let slot = mmlog_get_slot(test.store, nil, MMLOG_SLOT_TEXT)
    mmlog_slot_set_text(slot, nil)
    ccalls_log_many(mmlog_get_logger(test.store, nil), 1)
    let contents = try test.closeAndRead()
    #expect(contents.messages == ["0 of "] && contents.records[0].label == "")
  }

  @Test("a program that knows fewer options gets defaults for the rest")
  func olderProgram() throws {
    let test = try CStore {
      $0.size = MemoryLayout<Int>.size * 3
      // Of no effect: it does not belong to the options that this program knows.
      $0.ring_size = 1
    }
    ccalls_log_many(test.log, 1)
    #expect(try test.closeAndRead().messages == ["0 of "])
  }

  @Test("a message that is too long for a failure is cut")
  func longFailure() throws {
    let name = String(repeating: "n", count: 3000)
    let error = #expect(throws: CFailure.self) { try openStore("/dev/null/\(name)") }
    #expect(error?.description.utf8.count == 1007)
    #expect(error?.code == MMLOG_FAILURE_SYSTEM)
  }

  @Test("spans have their parts, how long they took, and whether they failed")
  func spans() throws {
    let test = try CStore()
    var open = mmlog_span()
    ccalls_log_spans(test.log, &open)
    let records = CContents(test.folder.path).records
    let spans = records.compactMap(\.span)
    #expect(
      records.map(\.message) == [
        "request 7", "load book", "open   5", "timed out after 3 s", "status 200",
      ])
    let numbers = spans.compactMap(\.number)
    #expect(numbers == [numbers[0], numbers[1], open.number, numbers[1], numbers[0]])
    #expect(Set(numbers).count == 3)
    let events = spans.map { span in
      switch span.event {
      case .begin(let parent): "begins in \(parent ?? 0)"
      case .end(_, let duration, let failed): "\(duration >= .zero) \(failed)"
      }
    }
    #expect(
      events == [
        "begins in 0", "begins in \(numbers[0])", "begins in \(numbers[1])", "true true",
        "true false",
      ])
    #expect(try test.closeAndRead().records.count == 5)
  }

  /// What each record belongs to, by its message; its fields.
  private func check(_ contents: CContents, _ request: UInt64, _ part: UInt64, none: UInt64?) {
    #expect(contents.problems == [])
    let records = contents.records.filter { $0.span == nil }
    #expect(records.count == 12)
    for record in records {
      let fields = record.fields.map(\.name)
      switch record.message.prefix(4) {
      case "requ": #expect(record.spanNumber == request, "\(record.message)")
      case "part":
        #expect(record.spanNumber == part && fields.starts(with: ["attempt", "venue"]))
      default: #expect(record.spanNumber == none, "\(record.message)")
      }
    }
  }

  @Test("a record belongs to the span that its statement names, and to no other")
  func recordsOfSpans() throws {
    let test = try CStore()
    var (request, part) = (mmlog_span(), mmlog_span())
    ccalls_log_within_spans(test.log, &request, &part)
    #expect(request.number != 0 && part.number != 0 && request.number != part.number)
    check(CContents(test.folder.path), request.number, part.number, none: nil)
    check(try test.closeAndRead(), request.number, part.number, none: nil)
    // A span of a store that is gone is none of another's.
    let other = try CStore()
    request.logger = other.log
    part.logger = other.log
    var (outer, inner) = (request, part)
    ccalls_log_within_spans(other.log, &outer, &inner)
    let contents = try other.closeAndRead()
    check(contents, outer.number, inner.number, none: nil)
  }

  @Test("in a task of Swift, a named span is in the place of the task's, whose fields stay")
  func recordsOfSpansInTasks() throws {
    let test = try CStore()
    var (request, part) = (mmlog_span(), mmlog_span())
    let log = MMLog.Logger(inC: test.log)
    let long = String(repeating: "long ", count: 1000)
    let cases: [(names: [String], MMLog.Logger.Metadata)] = [
      ([], [:]), (["tenant"], ["tenant": "acme"]), (["tenant"], ["tenant": .string(long)]),
    ]
    for (names, fields) in cases {
      let before = CContents(test.folder.path).records.count
      let outer = log.begin("task")
      withLogFields(fields, span: outer) {
        withLogFields(["inner": 1]) { ccalls_log_within_spans(test.log, &request, &part) }
      }
      outer.end()
      var contents = CContents(test.folder.path)
      contents.records.removeFirst(before)
      check(contents, request.number, part.number, none: outer.number)
      for record in contents.records where record.message.hasPrefix("request ") {
        #expect(record.fields.map(\.name) == names + ["inner"])
      }
    }
    #expect(try test.closeAndRead().problems == [])
  }

  @Test("flight records of a span that ended well are erased, and a capture archives others")
  func capturedSpans() throws {
    let test = try CStore {
      $0.level = MMLOG_DEBUG
      $0.archive_level = MMLOG_INFO
      $0.captures_spans = true
    }
    var open = mmlog_span()
    ccalls_log_spans(test.log, &open)
    #expect(mmlog_flush(test.store, MMLOG_FLUSH_ARCHIVE, 0, nil) == 0)
    #expect(mmlog_capture(test.store, "a test", 0, nil) == 0)
    let messages = try test.closeAndRead().messages
    #expect(messages.contains("captured: a test"))
    #expect(messages.contains("request 7"))
    #expect(!messages.contains("below the level 1"))
    #expect(!messages.contains("never seen"))
  }

  @Test("state slots have what was stored last; before, numbers are 0 and texts are not there")
  func stateSlots() throws {
    let test = try CStore()
    func slot(_ name: String, _ type: mmlog_slot_type) -> UnsafeMutablePointer<mmlog_slot> {
      mmlog_get_slot(test.store, name, type)
    }
    mmlog_slot_set_int(slot("int", MMLOG_SLOT_INT), -5)
    mmlog_slot_set_uint(slot("uint", MMLOG_SLOT_UINT), .max)
    mmlog_slot_set_double(slot("double", MMLOG_SLOT_DOUBLE), 0.5)
    mmlog_slot_set_bool(slot("bool", MMLOG_SLOT_BOOL), true)
    _ = slot("no number", MMLOG_SLOT_BOOL)
    _ = slot("no text", MMLOG_SLOT_TEXT)
    for text in ["first", "", String(repeating: "é", count: 40)] {
      mmlog_slot_set_text(slot("text", MMLOG_SLOT_TEXT), text)
    }
    mmlog_slot_set_text(slot("int", MMLOG_SLOT_TEXT), "of another type")
    // It would overwrite the slots behind this one.
    mmlog_slot_set_text(slot("int", MMLOG_SLOT_INT), String(repeating: "x", count: 56))
    #expect(slot("int", MMLOG_SLOT_INT) == slot("int", MMLOG_SLOT_INT))
    let overview = try #require(LogFiles([.path(test.folder.path)]).overview().first)
    #expect(overview.state.map(\.name) == ["int", "uint", "double", "bool", "no number", "text"])
    #expect(
      overview.state.map(\.value) == [
        .int(-5), .uint(.max), .double(0.5), .bool(true), .bool(false),
        .string(Array(String(repeating: "é", count: 28).utf8)),
      ])
    #expect(try test.closeAndRead().messages.isEmpty)
  }

  @Test("a record that is only cut is not lost")
  func cut() throws {
    let test = try CStore()
    var site = mmlog_site()
    let text = String(repeating: "t", count: 17 << 20)
    text.withCString { text in
      withVaList([text]) { mmlog_vrecord(test.log, MMLOG_INFO, &site, nil, 0, "%s", $0) }
    }
    #expect(mmlog_lost_records(test.store) == 0)
    let contents = try test.closeAndRead()
    #expect(contents.lost == 0 && contents.messages.count == 1)
    #expect(contents.messages.allSatisfy { $0.utf8.count < text.utf8.count })
  }

  @Test("what is flushed is in an archive, and a closed store's loggers drop what they get")
  func flushing() throws {
    let test = try CStore()
    ccalls_log_many(test.log, 10)
    var failure = mmlog_failure()
    #expect(mmlog_flush(test.store, MMLOG_FLUSH_DISK, 0, &failure) == 0)
    let archives = try FileManager.default.contentsOfDirectory(atPath: test.folder.path)
      .filter { $0.hasSuffix(".mmlog") }
    #expect(archives.count == 1)
    #expect(CContents(test.folder(archives[0])).records.count == 10)
    #expect(mmlog_lost_records(test.store) == 0)
    #expect(mmlog_get_logger(test.store, "c") == test.log)
    #expect(try test.closeAndRead().records.count == 10)
    ccalls_log_many(test.log, 1)
    #expect(CContents(test.folder.path).records.count == 10)
    #expect(mmlog_close(nil, nil) == 0)
  }

  @Test("every level, policy and interval reaches the store")
  func settings() throws {
    let rings = TemporaryDirectory()
    let test = try rings.path.withCString { ringDirectory in
      try CStore {
        $0.ring_directory = ringDirectory
        ($0.level, $0.archive_level, $0.capture_level) = (MMLOG_TRACE, MMLOG_INFO, MMLOG_CRITICAL)
        ($0.sync_level, $0.full_ring) = (MMLOG_ERROR, MMLOG_FULL_OVERWRITE)
        ($0.drain_interval_ms, $0.sync_interval_ms, $0.drain_threads) = (50, 100, 2)
        ($0.rotation_size, $0.rotation_age_s) = (1 << 20, 60)
        ($0.retention_total_size, $0.retention_age_s) = (1 << 30, 3600)
      }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: rings.path)
    #expect(names.count { $0.hasSuffix(".ring") } == 1)
    // Below the archive level: it stays in the ring, and goes with it.
    #expect(ccalls_log_below_level(test.log) == 1)
    ccalls_log_many(test.log, 1)
    #expect(try test.closeAndRead().messages == ["0 of "])
  }
}
