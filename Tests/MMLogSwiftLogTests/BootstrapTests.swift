#if SwiftLog
  // Without MMLog, as a file is that opens a store for swift-log and does no more with mmlog.
  import Logging
  import MMLogReader
  import MMLogSwiftLog
  import TestSupport
  import Testing

  @Suite("What bootstraps swift-log") struct BootstrapTests {
    @Test("a file needs no import but swift-log's and the backend's") func oneImport() throws {
      let folder = TemporaryDirectory()
      var configuration = LogStore.Configuration()
      configuration.level = .debug
      configuration.retention.totalSize = 100 << 20
      let store = try LogStore(directory: folder.path, name: "orders", configuration: configuration)
      store.setLevel(.trace, for: "db.*")
      let log = Logger(label: "db.pool") { label in
        var handler = MMLogHandler(label: label, store: store)
        handler.privacy = { _ in .private }
        return handler
      }
      log.trace("connected", metadata: ["count": "\(3)"])
      #expect(store.losses.isEmpty)
      try store.flush(.disk)
      do throws(LogError) { try store.close() } catch { Issue.record("\(error.message)") }
      #expect(LogReader.records(in: folder).map(\.message) == ["connected"])
    }
  }
#endif
