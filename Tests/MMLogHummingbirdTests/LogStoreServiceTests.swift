#if ServiceLifecycle && SwiftLog
  import Logging
  import MMLog
  import MMLogReader
  import MMLogServiceLifecycle
  import ServiceLifecycle
  import TestSupport
  import Testing

  @Suite("A store as a service") struct LogStoreServiceTests {
    private struct Broken: Error {}

    private struct Failing: Service {
      func run() async throws { throw Broken() }
    }

    @Test("a store whose group is canceled is open for the last words of the others")
    func canceled() async throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "canceled")
      let group = ServiceGroup(
        services: [LogStoreService(store), Failing()],
        logger: Logging.Logger(label: "group") { _ in SwiftLogNoOpLogHandler() })
      let log = store.logger(label: "l")
      log.info("kept")
      await #expect(throws: Broken.self) { try await group.run() }
      log.info("last words")
      let records = LogReader.records(in: folder)
      #expect(records.map(\.message) == ["kept", "last words"])
      try await store.close()
    }
  }
#endif
