import CMMLogC
import Foundation
import MMLogReader
import TestSupport

/// A store in a folder of its own, opened as C does it, with a logger.
struct CStore {
  let folder = TemporaryDirectory()
  let store: OpaquePointer
  let log: UnsafeMutablePointer<mmlog_logger>

  init(_ change: (inout mmlog_options) -> Void = { _ in }) throws {
    store = try openStore(folder.path, change)
    log = mmlog_get_logger(store, "c")
  }

  /// Closes the store and reads everything back.
  func closeAndRead() throws -> CContents {
    var failure = mmlog_failure()
    guard mmlog_close(store, &failure) == 0 else { throw CFailure(failure) }
    return CContents(folder.path)
  }
}

/// A failure that C was notified of.
struct CFailure: Error, CustomStringConvertible {
  let code: mmlog_failure_code
  let description: String

  init(_ failure: mmlog_failure) {
    code = failure.code
    description = withUnsafeBytes(of: failure.message) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}

func openStore(
  _ path: String, name: String = "test", _ change: (inout mmlog_options) -> Void = { _ in }
) throws -> OpaquePointer {
  try path.withCString { directory in
    try name.withCString { name in
      var options = mmlog_options()
      options.size = MemoryLayout<mmlog_options>.size
      options.directory = directory
      options.name = name
      // On a machine with much else to do, the drainer may not get to run for seconds.
      options.full_ring_wait_ms = 60_000
      change(&options)
      var failure = mmlog_failure()
      guard let store = mmlog_open(&options, &failure) else { throw CFailure(failure) }
      return store
    }
  }
}

extension mmlog_options {
  /// The smallest ring that there is: 59 segments of 4 KiB.
  mutating func makeTiny() {
    ring_size = 256 << 10
    segment_size = 4 << 10
    dictionary_size = 4 << 10
  }
}

/// What reading a folder gives.
struct CContents {
  var records: [LogReader.Record] = []
  var problems: [String] = []
  var lost: UInt64 = 0

  init(_ path: String) {
    let reader = LogReader(paths: [path])
    problems = reader.unreadable.map { "\($0)" }
    for item in reader {
      switch item {
      case .record(let record): records.append(record)
      case .corruption(let corruption): problems.append("\(corruption)")
      case .unfinished(let record): problems.append("\(record)")
      case .gap(let gap): problems.append("\(gap)")
      case .losses(_, let ledger): lost += ledger.lostCount
      case .crashed, .sessionStarted, .sessionEnded: break
      }
    }
  }

  var messages: [String] { records.map(\.message) }
}
