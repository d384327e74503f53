import Foundation
import MMLog
import MMLogReader
import MMLogShipping
import TestSupport

/// A batch of records that a store has recorded.
struct TestBatch {
  let folder = TemporaryDirectory()
  let batch: LogBatch
  let records: [LogReader.Record]

  /// - Parameter log: Logs the records of the batch.
  init(
    id: String = "0123456789abcdef0123456789abcdef", gaps: [LogBatch.Gap] = [],
    _ log: (Logger, LogStore) throws -> Void = { log, _ in log.info("hello") }
  ) throws {
    var configuration = LogStore.Configuration()
    configuration.fullRing = .wait(upTo: .seconds(3600))
    configuration.level = .trace
    configuration.fields = ["service.version": "1.2"]
    let store = try LogStore(directory: folder.path, name: "orders", configuration: configuration)
    try log(store.logger(label: "orders.matching"), store)
    try store.close()
    records = LogReader(paths: [folder.path], after: LogReader.Cursor()).compactMap {
      if case .record(let record) = $0 { record } else { nil }
    }
    guard let first = records.first else { throw Failure("no record was read") }
    batch = LogBatch(
      id: id, session: first.session, records: records.map { LogReader.Records($0) }, gaps: gaps)
  }

  var ids: [String] { records.map { $0.id.map { "\($0)" } ?? "" } }
}

extension TestBatch {
  /// A gap of another session.
  static var gap: LogBatch.Gap {
    LogBatch.Gap(
      "archive 3 is not here; retention may have deleted it",
      session: SessionID("0123456789abcdef0123456789abcdef") ?? SessionID(random: (1, 2)),
      count: 12, levels: [.info: 10, .error: 2], archives: 3...3)
  }
}
