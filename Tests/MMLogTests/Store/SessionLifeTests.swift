import Foundation
import Glibc
import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// What sessions leave in the process, and what late threads find of them.
@Suite("The life of sessions")
struct SessionLifeTests {
  /// The process's address space, in KiB.
  private static func addressSpace() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    return (Int(text.split(separator: " ")[0]) ?? 0) * Host.pageSize >> 10
  }

  /// How many threads of stores the process has.
  private static func threads() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count {
      let name = try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
      return name?.hasPrefix("mmlog-") == true
    }
  }

  /// Requires that the process has no threads of stores, and no maps of files in a folder.
  private static func requireNothing(of folder: TemporaryDirectory) throws {
    // A thread that was joined is still listed for a moment.
    let isAlone = try eventually { try threads() == 0 }
    let maps = try maps(of: folder)
    require(isAlone && maps == 0, "threads are left, or maps: \(maps)")
  }

  /// Keeps malloc from reserving 64 MiB for whichever threads are at work at once.
  private static func useOneArena() {
    typealias Function = @convention(c) (CInt, CInt) -> CInt
    let maximum: CInt = -8  // M_ARENA_MAX
    let mallopt = dlsym(nil, "mallopt").map { unsafeBitCast($0, to: Function.self) }
    require(mallopt?(maximum, 1) == 1)
  }

  /// How many maps the process has of files in a folder.
  private static func maps(of folder: TemporaryDirectory) throws -> Int {
    try kernelText("/proc/self/maps").split(separator: "\n").count { $0.contains(folder.path) }
  }

  private static func store(
    _ folder: TemporaryDirectory, _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogStore {
    var configuration = LogStore.Configuration()
    configuration.makeTiny()
    change(&configuration)
    return try LogStore(directory: folder.path, name: "test", configuration: configuration)
  }

  @Test(
    "sessions that have ended leave no address space behind", .disabled(if: isSanitized),
    arguments: [false, true])
  func addressSpaceStays(servesSignalHandlers: Bool) async {
    await #expect(processExitsWith: .success) {
      [servesSignalHandlers = servesSignalHandlers as Bool] in
      Self.useOneArena()
      let folder = TemporaryDirectory()
      var before = 0
      for round in 0..<120 {
        if round == 20 { before = try Self.addressSpace() }
        let store = try Self.store(folder) { $0.servesSignalHandlers = servesSignalHandlers }
        let log = store.logger(label: "l")
        log.info("\(round)")
        if servesSignalHandlers { require(log.recordInSignalHandler(.info, "of a handler")) }
        try store.close()
      }
      let growth = try Self.addressSpace() - before
      // A session's object stays, with some KiB: less than any block of a thread.
      require(growth < 100 * 8, "100 sessions took \(growth) KiB")
      try? FileManager.default.removeItem(atPath: folder.path)
    }
  }

  @Test("a store that cannot be opened leaves neither threads nor maps nor files")
  func failedOpenings() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      for _ in 0..<20 {
        let error = logError {
          _ = try Self.store(folder) {
            $0.fields = ["text": "\(String(repeating: "x", count: 60_000))"]
          }
        }
        require(error?.code == .invalidConfiguration, "\(String(describing: error))")
      }
      try Self.requireNothing(of: folder)
      require(try folder.names(ending: "").isEmpty)
    }
  }

  #if DEBUG
    @Test("a store whose drainer's thread cannot be made leaves no other threads")
    func noDrainer() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        ForcedFault.force(.pthreadCreate, errno: EAGAIN, times: .max, under: "mmlog-drainer")
        for _ in 0..<20 {
          let error = logError { _ = try Self.store(folder) { $0.drainThreads = 2 } }
          require(error?.message.contains("drainer's thread") == true)
        }
        try Self.requireNothing(of: folder)
      }
    }

    @Test("a signal handler that logs within the first call after a reopening has its own block")
    func handlerInTheFirstCall() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        let first = try Self.store(folder)
        first.logger(label: "l").info("before")
        try first.blockingClose()
        let store = try Self.store(folder)
        let log = store.logger(label: "l")
        // Logs as a signal handler would, at the worst moment.
        let (thread, isNested) = (CurrentProcess.threadID(), SharedCount())
        TestPoint.handler = { point in
          guard point == .blockTaken, CurrentProcess.threadID() == thread, isNested.value == 0
          else { return }
          isNested.value = 1
          log.info("nested")
        }
        log.info("outer")
        // If the session's list of blocks has a cycle, these calls never end.
        try Thread(name: "other") { log.info("other") }.join()
        try store.blockingClose()
        let messages = Contents(folder.path).messages.filter { $0 != "before" }
        require(messages.sorted() == ["nested", "other", "outer"], "\(messages)")
      }
    }

    @Test("no two threads write with one block, also if one looks for it as its session ends")
    func blockOfAnEndedSession() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        let late = LateThread()
        try late.logs(to: try Self.store(folder), after: { try $0.close() })
        let store = try Self.store(folder)
        let log = store.logger(label: "l")
        let step = SharedCount()
        let other = try Thread(name: "other") {
          log.info("other")
          step.value = 1
          while step.value == 1 { usleep(1000) }
        }
        while step.value == 0 { usleep(1000) }
        late.run { log.info("late") }
        step.value = 2
        other.join()
        late.end()
        try store.close()
        let threads = Contents(folder.path).records.filter { $0.message != "early" }
          .map(\.thread.ordinal)
        require(threads.count == 2 && Set(threads).count == 2, "\(threads)")
      }
    }
  #endif
}

#if DEBUG
  /// A thread whose first log call comes to a block that a thread before it has left, and stops
  /// there until the store is closed.
  private final class LateThread: Sendable {
    private let step = SharedCount()
    private let work = LockedValue<(@Sendable () -> Void)?>(nil)
    private let thread = LockedValue<MMLogSystem.Thread?>(nil)

    func logs(to store: LogStore, after end: (LogStore) throws -> Void) throws {
      let log = store.logger(label: "l")
      try Thread(name: "early") { log.info("early") }.join()
      TestPoint.handler = { [step] point in
        guard point == .blockReusing, step.value == 0 else { return }
        step.value = 1
        while step.value == 1 { usleep(1000) }
      }
      let late = try Thread(name: "late") { [step, work] in
        log.info("lost")
        step.value = 3
        while step.value != 5 {
          if step.value == 4 {
            work.withLock(\.self)?()
            step.value = 3
          }
          usleep(1000)
        }
      }
      thread.withLock { $0 = late }
      while step.value == 0 { usleep(1000) }
      try end(store)
      step.value = 2
      while step.value != 3 { usleep(1000) }
    }

    /// Runs `body` on the thread.
    func run(_ body: @escaping @Sendable () -> Void) {
      work.withLock { $0 = body }
      step.value = 4
      while step.value == 4 { usleep(1000) }
    }

    func end() {
      step.value = 5
      thread.withLock(\.self)?.join()
    }
  }
#endif
