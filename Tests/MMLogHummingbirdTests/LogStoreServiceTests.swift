#if ServiceLifecycle && SwiftLog
  import Logging
  import MMLog
  import MMLogReader
  import MMLogServiceLifecycle
  import MMLogSystem
  import ServiceLifecycle
  import TestSupport
  import Testing

  @Suite("A store as a service") struct LogStoreServiceTests {
    private struct Broken: Error {}

    private struct Failing: Service {
      func run() async throws { throw Broken() }
    }

    /// Logs when its group shuts down.
    private struct Last: Service {
      let log: MMLog.Logger

      func run() async throws {
        try await gracefulShutdown()
        log.info("last words")
      }
    }

    private struct Brief: Service {
      func run() async throws {}
    }

    private let folder = TemporaryDirectory()
    private let logger = Logging.Logger(label: "group") { _ in SwiftLogNoOpLogHandler() }

    /// A group that shuts down as soon as it runs.
    private func endingGroup(_ services: [any Service]) -> ServiceGroup {
      let brief = ServiceGroupConfiguration.ServiceConfiguration(
        service: Brief(), successTerminationBehavior: .gracefullyShutdownGroup)
      return ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: services.map { .init(service: $0) } + [brief], logger: logger))
    }

    /// What is in archives, without the ring.
    private func archived() throws -> [String] {
      let paths = try folder.names(ending: ".mmlog").map { folder($0) }
      return LogReader(paths: paths).compactMap {
        if case .record(let record) = $0 { record.message } else { nil }
      }
    }

    @Test("a store whose group shuts down is closed, and has the last words of the others")
    func shutDown() async throws {
      let store = try LogStore(directory: folder.path, name: "shut-down")
      let log = store.logger(label: "l")
      log.info("kept")
      try await endingGroup([LogStoreService(store), Last(log: log)]).run()
      #expect(try archived() == ["kept", "last words"])
      #expect(try folder.names(ending: ".ring").isEmpty)
    }

    @Test("a store whose group is canceled is safe, and open for the last words of the others")
    func canceled() async throws {
      let store = try LogStore(directory: folder.path, name: "canceled")
      let group = ServiceGroup(services: [LogStoreService(store), Failing()], logger: logger)
      let log = store.logger(label: "l")
      log.info("kept")
      await #expect(throws: Broken.self) { try await group.run() }
      #expect(try archived() == ["kept"])
      log.info("last words")
      let records = LogReader.records(in: folder)
      #expect(records.map(\.message) == ["kept", "last words"])
      try await store.close()
    }

    #if DEBUG
      /// A disk that stands still until `gate` is unlocked.
      private func frozenStore(_ gate: ForkSafeMutex) throws -> LogStore {
        let store = try LogStore(directory: folder.path, name: "frozen")
        gate.lock()
        ForcedFault.block(.fdatasync, on: gate, under: folder.path)
        store.logger(label: "l").info("kept")
        return store
      }

      private func unfreeze(_ gate: ForkSafeMutex) {
        ForcedFault.clear(under: folder.path)
        gate.unlock()
      }

      @Test("on a disk that stands still, a service that is canceled ends all the same")
      func canceledOnFrozenDisk() async throws {
        let gate = ForkSafeMutex()
        let store = try frozenStore(gate)
        let running = Task { try await LogStoreService(store).run() }
        running.cancel()
        try await running.value
        unfreeze(gate)
        try await store.close()
        #expect(try archived() == ["kept"])
      }

      @Test("on a disk that stands still, a group that is canceled while it closes its store ends")
      func canceledWhileClosing() async throws {
        let gate = ForkSafeMutex()
        let store = try frozenStore(gate)
        let group = endingGroup([LogStoreService(store)])
        let running = Task { try await group.run() }
        var isClosing = false
        while !isClosing {
          do { try await store.flush(.archive, within: .milliseconds(1)) } catch {
            isClosing = error.code == .closed
          }
        }
        running.cancel()
        _ = await running.result
        #expect(try folder.names(ending: ".ring").count == 1)
        unfreeze(gate)
        // The closing goes on.
        while try !folder.names(ending: ".ring").isEmpty { await Task.yield() }
        #expect(try archived() == ["kept"])
      }
    #endif
  }
#endif
