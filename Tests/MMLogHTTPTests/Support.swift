import Foundation
import MMLog
import MMLogFormat
import MMLogHTTP
import MMLogReader
import TestSupport

/// A log of exchanges, with a store in a folder of its own.
struct HTTPTest {
  let folder = TemporaryDirectory()
  let store: LogStore
  let log: Logger
  let http: HTTPLog

  init(_ change: (inout HTTPLog.Options) -> Void = { _ in }) throws {
    var configuration = LogStore.Configuration()
    configuration.fullRing = .wait(upTo: .seconds(60))
    store = try LogStore(directory: folder.path, name: "test", configuration: configuration)
    log = store.logger(label: "http")
    log.level = .trace
    var options = HTTPLog.Options()
    change(&options)
    http = HTTPLog(log, options: options)
  }

  /// What files whose names end so have in them.
  func files(_ suffix: String) throws -> [Data] {
    try Folder.names(folder.path).filter { $0.hasSuffix(suffix) }
      .map { try Data(contentsOf: URL(filePath: "\(folder.path)/\($0)")) }
  }

  /// Closes the store and reads all records back.
  func closeAndRead() throws -> [LogReader.Record] {
    try store.close()
    return LogReader.records(in: folder)
  }
}

extension LogReader.Record {
  func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

  /// How its span ends, if it ends one.
  var hasFailed: Bool? {
    if case .end(_, _, let failed) = span?.event { failed } else { nil }
  }
}
