import Foundation
import Glibc
@testable import MMLog
import MMLogCrypto
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// The logger of a signal handler, which cannot capture anything.
private let loggerOfHandler = LockedValue<Logger?>(nil)

@Suite("fork", .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
struct ForkTests {
  /// Whether this process has a thread of that name now.
  private static func hasThread(named name: String) -> Bool {
    let tasks = "/proc/self/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
    return threads.contains {
      (try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)) == "\(name)\n"
    }
  }

  /// The messages of each session, by their first word.
  private func sessions(_ contents: Contents) -> [[String]] {
    Dictionary(grouping: contents.records, by: \.session.id).values.map { $0.map(\.message) }
  }

  @Test(
    "a child logs into a ring of its own, and the parent's records stay whole", arguments: [1, 2])
  func childLogs(drainThreads: Int) async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) {
      [path = folder.path as String, drainThreads = drainThreads as Int] in
      var configuration = LogStore.Configuration()
      configuration.drainThreads = drainThreads
      let store = try LogStore(directory: path, name: "fork", configuration: configuration)
      let log = store.logger(label: "l")
      log.info("parent 0")
      let child = forkProcess()
      if child == 0 {
        try store.flush(.disk)
        for index in 0..<100 { log.info("child \(index)") }
        store.logger(label: "new").info("child 100")
        try store.flush(.archive)
        try store.close()
        _exit(store.losses.isEmpty ? 0 : 3)
      }
      require(waitFor(child) == 0)
      for index in 1..<100 { log.info("parent \(index)") }
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    let found = Set(sessions(contents))
    #expect(found == [(0..<100).map { "parent \($0)" }, (0...100).map { "child \($0)" }])
    #expect(contents.records.last { $0.message == "child 100" }?.label == "new")
  }

  @Test(
    "labels keep their names in a child, if they need more than its first dictionary",
    arguments: [true, false])
  func labels(closes: Bool) async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) {
      [path = folder.path as String, closes = closes as Bool] in
      var configuration = LogStore.Configuration()
      configuration.makeTiny()
      let store = try LogStore(directory: path, name: "fork", configuration: configuration)
      let loggers = (0..<500).map { store.logger(label: "label \($0)") }
      let child = forkProcess()
      if child == 0 {
        for (index, logger) in loggers.enumerated() { logger.info("\(index)") }
        if closes { try store.close() }
        _exit(store.losses.isEmpty ? 0 : 3)
      }
      require(waitFor(child) == 0)
      try store.close()
    }
    _ = try LogRecovery.recover(folder.path) { Issue.record($0) }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    let labels = contents.records.map(\.label)
    let expected = (0..<500).map { "label \($0)" }
    #expect(contents.messages == (0..<500).map { "\($0)" })
    // Without closing, the drainer may not have entered all, but only those with room at once.
    let areRight = zip(labels, expected).allSatisfy { $0 == $1 || !closes && $0 == "" }
    #expect(areRight && labels.prefix(20).elementsEqual(expected.prefix(20)), "\(labels)")
  }

  @Test("a child that has never logged closes its store as others do, and so do its children")
  func silentChild() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "fork")
      store.logger(label: "l").info("of the parent")
      let child = forkProcess()
      if child == 0 {
        try store.blockingApplyRetention()
        require(!store.core.events.sizeSignals.isFinished)
        try store.blockingClose()
        require(store.core.events.sizeSignals.isFinished)
        let grandchild = forkProcess()
        if grandchild == 0 { _exit(store.core.events.sizeSignals.isFinished ? 0 : 1) }
        _exit(waitFor(grandchild))
      }
      require(waitFor(child) == 0)
      try store.blockingClose()
      require(Contents(folder.path).messages == ["of the parent"])
    }
  }

  @Test("a signal that comes while the process forks is logged into the child's own ring")
  func signalWhileForking() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      // The child's handler that is installed first runs first: before a store's.
      try ForkHandlers.install(child: { raise(SIGUSR1) })
      var configuration = LogStore.Configuration()
      configuration.servesSignalHandlers = true
      let store = try LogStore(directory: path, name: "fork", configuration: configuration)
      let log = store.logger(label: "l")
      loggerOfHandler.withLock { $0 = log }
      signal(SIGUSR1) { _ in loggerOfHandler.withLock { $0?.info("in the handler") } }
      // A thread of libdispatch blocks the signal.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGUSR1)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      log.info("parent 0")
      let child = forkProcess()
      if child == 0 {
        try store.close()
        _exit(store.losses.isEmpty ? 0 : 3)
      }
      require(waitFor(child) == 0)
      log.info("parent 1")
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    #expect(Set(sessions(contents)) == [["parent 0", "parent 1"], ["in the handler"]])
  }

  @Test("a child that never closes is recovered like any other process")
  func childDies() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "fork")
      // Otherwise, the store's recovery may come so late that it finds the child's ring.
      require(store.recoveredSessions.isEmpty)
      let log = store.logger(label: "l")
      log.info("parent")
      let child = forkProcess()
      if child == 0 {
        for index in 0..<100 { log.info("child \(index)") }
        kill(getpid(), SIGKILL)
      }
      require(waitFor(child) == SIGKILL)
      try store.close()
    }
    let store = try LogStore(directory: folder.path, name: "fork")
    #expect(store.recoveredSessions.count == 1, "\(store.recoveryFailures)")
    try store.blockingClose()
    #expect(Set(sessions(Contents(folder.path))) == [["parent"], (0..<100).map { "child \($0)" }])
  }

  @Test("the rings of children that end are recovered while the parent lives")
  func parentRecovers() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      var configuration = LogStore.Configuration()
      configuration.maintenanceInterval = .milliseconds(5)
      let store = try LogStore(directory: path, name: "fork", configuration: configuration)
      let (log, events) = (store.logger(label: "l"), store.events)
      // In debug builds, types are looked up under a lock when they are used first. A child that is
      // forked meanwhile would wait for a thread that it does not have.
      log.info("before \(0)")
      try await store.flush(.archive)
      for number in 0..<4 {
        let child = forkProcess()
        if child == 0 {
          log.info("child \(number)")
          _exit(0)
        }
        require(waitFor(child) == 0)
      }
      var recovered = 0
      for await event in events {
        if case .recovered = event { recovered += 1 }
        if recovered == 4 { break }
      }
      log.info("parent")
      try await store.close()
    }
    #expect(try folder.names(ending: ".ring") == [])
    #expect(Set(sessions(Contents(folder.path))).count == 5)
  }

  #if DEBUG
    @Test("a child that has no thread to maintain archives at first opens no second ring")
    func childWithoutMaintenance() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        let store = try LogStore(directory: path, name: "fork")
        let log = store.logger(label: "l")
        let child = forkProcess()
        if child == 0 {
          ForcedFault.force(.pthreadCreate, errno: EAGAIN, under: "mmlog-maintain")
          log.info("child")
          try store.flush(.archive)
          require(!Contents(path).records.isEmpty)
          // A second later, a thread that has not logged before makes the store try again.
          while !Self.hasThread(named: "mmlog-maintain") {
            try MMLogSystem.Thread(name: "new") { log.info("try") }.join()
          }
          try store.close()
          _exit(0)
        }
        require(waitFor(child) == 0)
        try store.close()
      }
      #expect(try folder.names(ending: ".ring").isEmpty)
      #expect(sessions(Contents(folder.path)).count == 1)
    }
  #endif

  @Test(
    "a child that logs nothing keeps nothing of the parent's open", arguments: ["waits", "execs"])
  func idleChild(kind: String) async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.path as String, kind = kind as String] in
      let store = try LogStore(directory: path, name: "fork")
      let log = store.logger(label: "l")
      log.info("parent")
      try store.flush(.archive)
      let child = forkProcess()
      if child == 0 {
        // Closes all descriptors but the store's, since the test waits for the end of some. Tests
        // beside this one may have opened hundreds.
        for descriptor in 0..<4096 as Range<CInt> where !isBelow(path, descriptor) {
          close(descriptor)
        }
        // Lives until the test has removed its folder.
        if kind == "execs" {
          let script = "while [ -e \(path) ]; do sleep 0.02; done"
          var arguments: [UnsafeMutablePointer<CChar>?] =
            (["sh", "-c", script] as [String]).map { strdup($0) }
          arguments.append(nil)
          execv("/bin/sh", arguments)
          _exit(9)
        }
        while access(path, F_OK) == 0 { usleep(20_000) }
        _exit(0)
      }
      kill(getpid(), SIGKILL)
    }
    let store = try LogStore(directory: folder.path, name: "fork")
    #expect(store.recoveredSessions.count == 1)
    try store.blockingClose()
    #expect(Contents(folder.path).messages == ["parent"])
  }

  #if DEBUG
    @Test("a first log call makes nothing that a fork or a signal may find half made for ever")
    func firstCall() async {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        let store = try LogStore(directory: path, name: "fork")
        let log = store.logger(label: "l")
        let made = SharedCount()
        CallObserver.observe { call, _, _ in
          if call == .pthreadKeyCreate || call == .getrandom { made.value += 1 }
        }
        log.info("\(1, privacy: .hash)")
        CallObserver.observe(nil)
        require(made.value == 0)
        try store.close()
      }
    }
  #endif

  @Test("children forked while other threads log and wait come up whole")
  func underLoad() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      var configuration = LogStore.Configuration()
      configuration.makeTiny()
      configuration.fullRing = .wait(upTo: .seconds(60))
      let store = try LogStore(directory: path, name: "fork", configuration: configuration)
      let log = store.logger(label: "l")
      // In debug builds, types are looked up under a lock when they are used first. A child that is
      // forked meanwhile would wait for a thread that it does not have.
      try Thread(name: "load") { log.info("before \(0) \(0)", line: UInt32(1)) }.join()
      try store.flush(.archive)
      let isOver = SharedCount()
      let threads = try (0..<4).map { thread in
        try Thread(name: "load") {
          var index = 0
          while isOver.value == 0 || index < 100 {
            log.info("load \(thread) \(index)", line: UInt32(index % 300))
            index += 1
          }
        }
      }
      for number in 0..<20 {
        let child = forkProcess()
        if child == 0 {
          endWhenHanging()
          for index in 0..<50 { log.info("child \(number) \(index)") }
          try store.close()
          _exit(store.losses.isEmpty ? 0 : 3)
        }
        let status = waitFor(child)
        require(status == 0, "child \(number): \(status)")
      }
      isOver.value = 1
      for thread in threads { thread.join() }
      try store.close()
      require(store.losses.isEmpty)
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    let bySession = sessions(contents)
    #expect(bySession.count == 21)
    for messages in bySession where messages[0].hasPrefix("child") {
      let number = messages[0].split(separator: " ")[1]
      #expect(messages == (0..<50).map { "child \(number) \($0)" })
    }
    let parent = bySession.first { $0[0].hasPrefix("before") } ?? []
    for thread in 0..<4 {
      let own = parent.filter { $0.hasPrefix("load \(thread) ") }
      #expect(own == (0..<own.count).map { "load \(thread) \($0)" })
    }
  }

  @Test("children forked while other threads seal values seal some, too")
  func underSealing() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore()
      let seal: @Sendable () -> Void = {
        _ = ValueSealer.seal(UnsafeRawBufferPointer(start: nil, count: 0))
      }
      seal()
      let isOver = SharedCount()
      let threads = try (0..<8).map { _ in
        try Thread(name: "load") { while isOver.value == 0 { seal() } }
      }
      for number in 0..<100 {
        let child = forkProcess()
        if child == 0 {
          endWhenHanging()
          seal()
          _exit(0)
        }
        let status = waitFor(child)
        require(status == 0, "child \(number): \(status)")
      }
      isOver.value = 1
      for thread in threads { thread.join() }
      try test.store.close()
    }
  }

  @Test("threads that a child starts all log from its first moment")
  func childThreads() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "fork")
      let log = store.logger(label: "l")
      let child = forkProcess()
      if child == 0 {
        endWhenHanging()
        let barrier = Barrier(8)
        let start = ContinuousClock.now
        try onThreads(8) { thread in
          barrier.wait()
          for index in 0..<50 { log.info("\(thread) \(index)") }
        }
        // A log call waits at most a second for the thread that opens the ring. On a busy machine,
        // that can be too short.
        let wasLong = start.duration(to: .now) >= .seconds(1)
        try store.close()
        _exit(store.losses.isEmpty || wasLong ? 0 : 3)
      }
      require(waitFor(child) == 0)
      try store.close()
    }
    let contents = Contents(folder.path)
    let lost = contents.losses.reduce(0) { $0 + Int($1.total(.noRing)) }
    #expect(contents.isWhole)
    #expect(contents.records.count + lost == 400)
  }

  @Test("a fork inside a message leaves the record to the parent", arguments: [false, true])
  func insideMessage(isKnown: Bool) async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) {
      [path = folder.path as String, isKnown = isKnown as Bool] in
      let store = try LogStore(directory: path, name: "fork")
      let log = store.logger(label: "l")
      func message(_ forks: Bool) -> pid_t {
        guard forks else { return 1 }
        let child = forkProcess()
        if child == 0 { log.info("child inside") }
        if child > 0 { require(waitFor(child) == 0) }
        return child
      }
      let text = String(repeating: "t", count: 100_000)
      for round in isKnown ? 0..<2 : 1..<2 {
        let id = message(false)
        log.info("round \(round) \(id) \(round == 1 ? message(true) : 1) \(round == 1 ? text : "")")
        if id == 0 { break }
      }
      if getppid() == 0 { _exit(1) }
      if isChild {
        log.info("child after")
        try store.close()
        _exit(0)
      }
      log.info("parent after")
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    let found = sessions(contents).map { $0.map { String($0.prefix(12)) } }.sorted { $0[0] < $1[0] }
    #expect(found.count == 2)
    #expect(found.first == ["child inside", "child after"])
    #expect(found.last?.last == "parent after" && found.last?.count == (isKnown ? 3 : 2))
  }

  @Test("a fork of a fork is like a fork, and a store that is closed stays closed in a child")
  func generations() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "fork")
      let closed = try LogStore(directory: path, name: "closed")
      let (log, dead) = (store.logger(label: "l"), closed.logger(label: "l"))
      dead.info("in time")
      try closed.close()
      log.info("0")
      let child = forkProcess()
      if child == 0 {
        let grandchild = forkProcess()
        if grandchild == 0 {
          log.info("2")
          dead.info("too late")
          require(closed.losses.total(.noRing) == 1)
          try store.close()
          _exit(0)
        }
        require(waitFor(grandchild) == 0)
        log.info("1")
        try store.close()
        _exit(0)
      }
      require(waitFor(child) == 0)
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    #expect(contents.messages.sorted() == ["0", "1", "2", "in time"])
  }

  #if DEBUG
    @Test("what a child loses because it has no ring is no loss of its own child")
    func lossesWithoutRing() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        let child = forkProcess()
        if child == 0 {
          ForcedFault.force(.fallocate, errno: ENOSPC, times: .max, under: test.folder.path)
          for _ in 0..<3 { test.log.error("lost") }
          require(test.store.losses.total(.noRing) == 3)
          let grandchild = forkProcess()
          if grandchild == 0 {
            ForcedFault.clear(under: test.folder.path)
            test.log.error("kept")
            require(test.store.losses.isEmpty, "\(test.store.losses)")
            try test.store.close()
            _exit(0)
          }
          require(waitFor(grandchild) == 0)
          _exit(0)
        }
        require(waitFor(child) == 0)
        require(try test.closeAndRead().messages == ["kept"])
      }
    }

    @Test("a child forked while its parent closes keeps nobody from recovering what that leaves")
    func whileClosing() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        let lifeline = try Lifeline()
        let parent = forkProcess()
        if parent == 0 {
          let store = try LogStore(directory: path, name: "fork")
          store.logger(label: "l").info("in time")
          TestPoint.handler = {
            guard $0 == .closeSealed else { return }
            if forkProcess() > 0 { kill(getpid(), SIGKILL) }
            lifeline.holdOn()
          }
          try store.close()
        }
        require(waitFor(parent) == SIGKILL)
        let store = try LogStore(directory: path, name: "fork")
        require(store.recoveredSessions.count == 1)
        try store.close()
      }
      #expect(Contents(folder.path).messages == ["in time"])
    }
  #endif

  @Test("a span that a child ends is none of the child's own")
  func span() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "fork")
      let log = store.logger(label: "l")
      let span = log.begin("parent's")
      let child = forkProcess()
      if child == 0 {
        let own = log.begin("child's", in: span)
        span.end("by the child")
        own.end("its own")
        try store.close()
        _exit(0)
      }
      require(waitFor(child) == 0)
      span.end("by the parent")
      try store.close()
    }
    let contents = Contents(folder.path)
    let spans = Dictionary(uniqueKeysWithValues: contents.records.map { ($0.message, $0.span) })
    #expect(spans["by the child"]??.number == nil)
    #expect(spans["child's"]??.event == .begin(parent: nil))
    #expect(spans["its own"]??.number == spans["child's"]??.number)
    #expect(spans["by the parent"]??.number == spans["parent's"]??.number)
    guard case .end(_, let duration, _) = spans["by the child"]??.event else {
      Issue.record("the child's end is none")
      return
    }
    #expect(duration > .zero)
  }

  @Test("a child's numbers begin anew, and the parent's go on")
  func statistics() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore()
      test.log.info("parent")
      try test.store.flush(.archive)
      let child = forkProcess()
      if child == 0 {
        require(test.store.statistics.archived.count == 0)
        require(test.store.statistics.segments == 0)
        test.log.info("child 0")
        test.log.info("child 1")
        try test.store.flush(.archive)
        require(test.store.statistics.archived.count == 2)
        try test.store.close()
        _exit(0)
      }
      require(waitFor(child) == 0)
      require(test.store.statistics.archived.count == 1)
      try test.store.close()
    }
  }
}

private var isChild: Bool { getpid() != originalProcess }

/// Forks as if to start another program: without the functions that are called around fork(2).
func forkWithoutHandlers() -> pid_t {
  typealias Fork = @convention(c) () -> pid_t
  let child = unsafeBitCast(dlsym(nil, "_Fork"), to: Fork?.self)?() ?? -1
  require(child >= 0)
  return child
}

/// Whether a descriptor is of a file in a folder.
private func isBelow(_ folder: String, _ descriptor: CInt) -> Bool {
  var buffer = [CChar](repeating: 0, count: 4096)
  let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count - 1)
  guard count > 0 else { return false }
  return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    .hasPrefix(folder)
}
