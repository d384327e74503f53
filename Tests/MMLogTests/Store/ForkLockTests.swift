#if DEBUG
  import Glibc
  import MMLog
  import MMLogReader
  import MMLogStorage
  import MMLogSystem
  import TestSupport
  import Testing

  /// What a child of fork does with its parent's locks: nothing, and it does not hold them either.
  @Suite(
    "locks and fork",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  struct ForkLockTests {
    @Test("a child forked while the directory is locked holds that lock no longer than its parent")
    func directory() async {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        let lifeline = try Lifeline()
        let parent = forkProcess()
        if parent == 0 {
          let store = try LogStore(directory: path, name: "fork")
          store.logger(label: "l").info("x")
          let archive = try store.rotate(within: .seconds(60))
          TestPoint.handler = {
            guard $0 == .directoryLocked else { return }
            if forkProcess() > 0 { kill(getpid(), SIGKILL) }
            lifeline.holdOn()
          }
          if let archive { try store.pin(archive) }
        }
        require(waitFor(parent) == SIGKILL)
        let store = try LogStore(directory: path, name: "fork")
        for archive in try store.archives() where archive.isSealed { try store.pin(archive) }
        try store.close()
      }
    }

    @Test("a child holds no lock of an archive, neither when that is closed nor after a crash")
    func archive() async {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        let lifeline = try Lifeline()
        let parent = forkProcess()
        if parent == 0 {
          let store = try LogStore(directory: path, name: "fork")
          store.logger(label: "l").info("x")
          try store.flush(.archive)
          if forkProcess() == 0 { lifeline.holdOn() }
          lifeline.waitForChild()
          kill(getpid(), SIGKILL)
        }
        require(waitFor(parent) == SIGKILL)
        let archives = try Catalog(of: path, store: nil).scan()
        require(archives.count == 1 && !archives[0].isActive)
      }
    }

    @Test("a fork while a store with lanes for handlers is opened waits, and holds nothing up")
    func openingWithLanes() async {
      await #expect(processExitsWith: .success) {
        let (folder, id) = (TemporaryDirectory(), LockedValue<pid_t>(0))
        let forking = LockedValue<MMLogSystem.Thread?>(nil)
        TestPoint.handler = {
          guard $0 == .ringNamed, id.withLock({ $0 == 0 }) else { return }
          let thread = try? MMLogSystem.Thread(name: "forking") {
            id.withLock { $0 = CurrentProcess.threadID() }
            let child = forkProcess()
            if child == 0 { _exit(0) }
            require(waitFor(child) == 0)
          }
          forking.withLock { $0 = thread }
          // The thread then waits for the store's lock, and holds all locks that it takes before
          // that one.
          while !isAsleep(id.withLock { $0 }) { usleep(1000) }
        }
        var configuration = LogStore.Configuration()
        configuration.servesSignalHandlers = true
        let store = try LogStore(directory: folder.path, name: "f", configuration: configuration)
        forking.withLock { $0 }?.join()
        try store.close()
      }
    }

    @Test("a child forked before its parent's store is opened whole has nothing of its ring")
    func opening() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        let lifeline = try Lifeline()
        let parent = forkProcess()
        if parent == 0 {
          var configuration = LogStore.Configuration()
          // The drainer's thread calls the hook, too.
          let opening = CurrentProcess.threadID()
          configuration.maintenanceHook = {
            guard $0 == .didEnd, CurrentProcess.threadID() == opening else { return }
            if forkProcess() == 0 { lifeline.holdOn() }
            lifeline.waitForChild()
            kill(getpid(), SIGKILL)
          }
          _ = try LogStore(directory: folder.path, name: "fork", configuration: configuration)
        }
        require(waitFor(parent) == SIGKILL)
        let store = try LogStore(directory: folder.path, name: "fork")
        require(store.recoveredSessions.count == 1)
        try store.close()
      }
    }

    /// The parent has a closed store, or is a child that has not logged yet.
    @Test(
      "a child forked while its parent inspects archives can inspect them",
      arguments: [true, false])
    func catalog(isClosed: Bool) async {
      await #expect(processExitsWith: .success) { [isClosed = isClosed as Bool] in
        let folder = TemporaryDirectory()
        let store = try LogStore(directory: folder.path, name: "fork")
        store.logger(label: "l").info("x")
        let archive = try store.blockingRotate()
        require(archive != nil)
        func pinAndFork() throws {
          TestPoint.handler = { [store] in
            guard $0 == .stateNoted else { return }
            let child = forkProcess()
            if child == 0 { _exit((try? store.archives().count) == nil ? 1 : 0) }
            require(waitFor(child) == 0)
          }
          if let archive { try store.pin(archive) }
          TestPoint.handler = nil
        }
        if isClosed {
          try store.blockingClose()
          return try pinAndFork()
        }
        let silent = forkProcess()
        if silent == 0 {
          try pinAndFork()
          _exit(0)
        }
        require(waitFor(silent) == 0)
        try store.blockingClose()
      }
    }

    @Test(
      "a session goes on with the last archive whoever else has it open", arguments: [true, false])
    func resumption(hasHandlers: Bool) async {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .success) {
        [path = folder.path as String, hasHandlers = hasHandlers as Bool] in
        let lifeline = try Lifeline()
        var configuration = LogStore.Configuration()
        configuration.resumeLastArchive = true
        for message in ["first", "second"] {
          let store = try LogStore(directory: path, name: "fork", configuration: configuration)
          store.logger(label: "l").info("\(message)")
          try store.flush(.archive)
          // A fork without handlers is like a process that is being started: it has all files open
          // until its program is loaded.
          let child = hasHandlers ? forkProcess() : forkWithoutHandlers()
          if child == 0 { lifeline.holdOn() }
          try store.close()
        }
        require(try Catalog(of: path, store: nil).scan().count == 1)
      }
      #expect(Contents(folder.path).messages == ["first", "second"])
    }
  }

  /// Whether a thread of this process waits.
  private func isAsleep(_ thread: pid_t) -> Bool {
    let path = "/proc/self/task/\(thread)/stat"
    let bytes = (try? File.openFollowingLinks(path).bytes(at: 0, count: 4096)) ?? []
    guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return false }
    return bytes.dropFirst(end + 2).first == UInt8(ascii: "S")
  }
#endif
