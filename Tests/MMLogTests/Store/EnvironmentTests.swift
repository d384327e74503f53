import Foundation
import Glibc
@testable import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import Synchronization
import Testing
import TestSupport

@Suite("Bad environments")
struct EnvironmentTests {
  let folder = TemporaryDirectory()

  /// The error that opening a store throws; the store may leave no files.
  private func openingError(
    _ path: String, _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogError? {
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    var configuration = LogStore.Configuration()
    change(&configuration)
    let error = logError {
      _ = try LogStore(directory: path, name: "bad", configuration: configuration)
    }
    let after = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    #expect(before == after)
    return error
  }

  @Test("without a directory, a store is where the service manager or the user has such files")
  func usualDirectory() {
    func place(
      of name: String = "orders", isRoot: Bool = false, _ variables: [String: String]
    ) -> String {
      StoreLocation.usualDirectory(of: name, isRoot: isRoot) { variables[$0] }
    }
    let all = [
      "LOGS_DIRECTORY": "/var/log/a:/var/log/b", "STATE_DIRECTORY": "/var/lib/a",
      "XDG_STATE_HOME": "/state", "HOME": "/home/ann",
    ]
    #expect(place(all) == "/var/log/a")
    #expect(place(all.filter { $0.key != "LOGS_DIRECTORY" }) == "/var/lib/a")
    let ofUser = all.filter { $0.key == "XDG_STATE_HOME" || $0.key == "HOME" }
    #expect(place(ofUser) == "/state/orders")
    #expect(place(isRoot: true, ofUser) == "/var/log/orders")
    let relative = ["XDG_STATE_HOME": "state", "HOME": "/home/ann"]
    #expect(place(relative) == "/home/ann/.local/state/orders")
    #expect(place(["LOGS_DIRECTORY": ""]) == "/var/log/orders")
    #expect(place(of: "..", isRoot: true, [:]) == "/var/log/%2E.")
  }

  @Test(
    "what a process prints whose standard streams are closed is not written into its log",
    arguments: [[STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO], [STDERR_FILENO]])
  func closedStreams(closed: [CInt]) async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.path as String, closed = closed as [CInt]] in
      for stream in closed { close(stream) }
      let store = try LogStore(directory: path, name: "test")
      store.logger(label: "l").info("archived")
      try store.blockingFlush(.archive)
      store.logger(label: "l").info("in the ring")
      let text = [UInt8](repeating: UInt8(ascii: "x"), count: 600)
      for stream in closed { _ = write(stream, text, text.count) }
      kill(getpid(), SIGKILL)
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    #expect(contents.messages == ["archived", "in the ring"])
  }

  @Test(
    "a store whose name is one character with what is before it or behind it has its files",
    arguments: ["\u{301}x", "\u{200D}x", "x\u{600}"])
  func joinedName(name: String) async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.path as String, name = name as String] in
      let store = try LogStore(directory: path, name: name)
      store.logger(label: "l").info("archived")
      try store.blockingFlush(.archive)
      store.logger(label: "l").info("recovered")
      kill(getpid(), SIGKILL)
    }
    let store = try LogStore(directory: folder.path, name: name)
    store.logger(label: "l").info("next")
    try store.blockingClose()
    #expect(try folder.names(ending: ".ring").isEmpty)
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    #expect(contents.messages == ["archived", "recovered", "next"])
  }

  @Test("a store that is given only a name is opened at its usual place, and says where")
  func onlyAName() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      setenv("LOGS_DIRECTORY", folder("logs"), 1)
      let store = try LogStore(name: "orders")
      require(store.directory == folder("logs"))
      store.logger(label: "l").info("record")
      try store.blockingClose()
      require(try folder.names("logs").contains { $0.hasPrefix("orders-") })
    }
  }

  @Test("a store in relative directories stays there, wherever the process goes")
  func relativeDirectories() async {
    await #expect(processExitsWith: .success) {
      let (folder, other) = (TemporaryDirectory(), TemporaryDirectory())
      require(chdir(folder.path) == 0)
      var configuration = LogStore.Configuration()
      configuration.ringDirectory = "rings"
      let store = try LogStore(directory: "logs", name: "orders", configuration: configuration)
      require(store.directory == folder("logs"))
      require(chdir(other.path) == 0)
      store.logger(label: "l").info("record")
      let archive = try store.blockingRotate()
      require(archive?.directory == folder("logs"))
      require(try store.archives().map(\.path) == [archive?.path])
      try store.blockingClose()
      require(try folder.names("rings").isEmpty)
      require(try other.names().isEmpty)
      require(Contents(folder("logs")).messages == ["record"])
    }
  }

  @Test("a relative directory in a directory that is gone is an error")
  func relativeDirectoryInNone() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      require(mkdir(folder("gone"), 0o700) == 0 && chdir(folder("gone")) == 0)
      require(rmdir(folder("gone")) == 0)
      let error = logError { _ = try LogStore(directory: "logs", name: "orders") }
      require(error?.systemErrorNumber == ENOENT, "\(error?.message ?? "none")")
      require(error?.message.contains("absolute") == true, "\(error?.message ?? "none")")
    }
  }

  private final class Observer: LogStore.Observer {
    func handle(_ event: LogStore.Event) {}
  }

  @Test("an opening that fails leaves no thread for its observer")
  func failedOpeningWithObserver() async {
    await #expect(processExitsWith: .success) {
      // Ends the process if the observer is never released.
      endWhenHanging()
      // An event before the opening fails.
      setenv("MMLOG_LEVEL", "web=loud", 1)
      weak var observer: Observer?
      do {
        let folder = TemporaryDirectory()
        var configuration = LogStore.Configuration()
        let new = Observer()
        (observer, configuration.observer) = (new, new)
        configuration.dictionarySize = 4 << 10
        configuration.fields = ["large": .string(String(repeating: "x", count: 4 << 10))]
        let error = logError {
          _ = try LogStore(directory: folder.path, name: "bad", configuration: configuration)
        }
        require(error?.code == .invalidConfiguration)
      }
      // The events' thread still has the observer.
      while observer != nil { usleep(1000) }
    }
  }

  @Test("trouble is said on standard error where nobody listens for it, once of each kind")
  func troubleOnStandardError() async throws {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      setenv("MMLOG_LEVEL", "web=loud,db=quiet", 1)
      let folder = TemporaryDirectory()
      try LogStore(directory: folder.path, name: "orders").blockingClose()
    }
    let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      .split(separator: "\n").filter { $0.contains("mmlog: ") }
    #expect(lines.count == 1 && lines[0].hasPrefix("mmlog: the store orders: MMLOG_LEVEL has"))
  }

  @Test("who listens for events finds nothing on standard error")
  func noTroubleForListeners() async throws {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      setenv("MMLOG_LEVEL", "web=loud", 1)
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "orders")
      var events = store.events.makeAsyncIterator()
      guard case .failed = await events.next() else { return require(false) }
      try store.blockingClose()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(!text.contains("mmlog: "))
  }

  @Test("trouble is said on standard error again when who has listened for events has ended")
  func troubleBehindListeners() async throws {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let hub = EventHub(of: "orders", startup: [], observer: nil)
      func listenOnce() async {
        var events = hub.stream().makeAsyncIterator()
        hub.send(.lowSpace(available: 4 << 20))
        _ = await events.next()
      }
      hub.send(.lowSpace(available: 3 << 20))
      await listenOnce()
      hub.send(.lowSpace(available: 5 << 20))
      hub.finish()
    }
    let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      .split(separator: "\n").filter { $0.contains("mmlog: ") }
    #expect(lines.count == 1 && lines[0].contains("Only 5 MiB"), "\(lines)")
  }

  @Test("of trouble that comes again and again, one line a minute says how often")
  func manyTroubles() {
    let second: UInt64 = 1_000_000_000
    var reports = TroubleReports(of: "orders")
    let event = LogStore.Event.lowSpace(available: 5 << 20)
    for time in 0..<10 { reports.add(event, at: UInt64(time) * second) }
    #expect(reports.takeLines(at: second / 2, isOver: false).isEmpty)
    let text =
      "mmlog: the store orders: Only 5 MiB are left on the file system of the archives. Free some, "
      + "or lower the limits of what is kept."
    #expect(reports.takeLines(at: second, isOver: false) == [text + "\n"])
    reports.add(.resumed, at: 60 * second)
    reports.add(event, at: 60 * second)
    #expect(
      reports.takeLines(at: 60 * second, isOver: true)
        == [text + " (9 more like it were not said.)\n"])
  }

  @Test("of a limit that does not hold, the text says what keeps archives")
  func limitThatDoesNotHold() {
    let event = LogStore.Event.limitExceeded(
      rule: .totalSize, kept: [.aroundCrash: 2, .pinned: 1])
    let kept =
      "Archives that stay: 1 pinned, 2 around one of the newest crashes (retention.crashes)."
    #expect(event.text.contains(kept), "\(event.text)")
  }

  @Test("of calls that were nested too deep, the text says what to use, in Swift and in C")
  func nestedTooDeep() {
    var losses = LossLedger()
    losses[.tooDeep, .info] = 1
    // On standard error, too, since nobody there knows which of the two languages the program is
    // in.
    let text = LogStore.Event.dropped(losses: losses).text
    #expect(text.contains("use recordInSignalHandler, in C mmlog_signal_write."), "\(text)")
  }

  @Test("missing directories are made, for the service's user only")
  func missing() throws {
    let store = try LogStore(directory: folder("a/b/c"), name: "n")
    store.logger(label: "l").info("one")
    try store.close()
    for path in ["a", "a/b", "a/b/c"] {
      var status = stat()
      try #require(stat(folder(path), &status) == 0)
      #expect(status.st_mode & 0o777 == 0o700)
    }
    #expect(try folder.names("a/b/c").count { $0.hasSuffix(".mmlog") } == 1)
  }

  #if DEBUG
    @Test("directories that were made for a store that cannot open go away again")
    func madeInVain() throws {
      for call in [SystemCall.fallocate, .mmap, .linkat, .openat] {
        ForcedFault.force(call, errno: ENOSPC, times: .max, under: folder("new"))
        ForcedFault.force(call, errno: ENOSPC, times: .max, under: folder("rings"))
        defer { for name in ["new", "rings"] { ForcedFault.clear(under: folder(name)) } }
        for path in [folder("new"), folder("new/a//b/")] {
          let error = try openingError(path) { $0.ringDirectory = folder("rings/r") }
          #expect(error != nil, "\(call)")
        }
      }
    }
  #endif

  @Test("rings and archives are the user's alone")
  func modes() throws {
    let store = try LogStore(directory: folder.path, name: "n")
    store.logger(label: "l").info("x")
    try store.flush(.archive)
    // Until then, the maintenance thread may rename files of its own.
    try store.applyRetention()
    for name in try folder.names() {
      var status = stat()
      try #require(stat(folder(name), &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600, "\(name)")
    }
    try store.close()
  }

  @Test(
    "a file in the way is named, with what to do", arguments: ["file", "file/below", "file/a/b"])
  func fileInTheWay(path: String) throws {
    folder.put("file", [1])
    let error = try openingError(folder(path))
    #expect(error?.code == .system && error?.systemErrorNumber == ENOTDIR)
    #expect((error?.cause as? SystemError)?.errno == ENOTDIR)
    #expect(error?.message.contains(folder("file")) == true, "\(String(describing: error))")
    #expect(error?.message.contains("choose another directory") == true)
  }

  @Test("links on the way to the directory are followed, ones under our names are not")
  func links() throws {
    mkdir(folder("real"), 0o700)
    symlink("real", folder("link"))
    let store = try LogStore(directory: folder("link"), name: "n")
    store.logger(label: "l").info("one")
    try store.close()
    #expect(try folder.names("real").count { $0.hasSuffix(".mmlog") } == 1)
    symlink(folder("target"), folder("real/planted.ring"))
    let directory = try Directory.open(folder("real"))
    for options: File.OpenOptions in [
      [.read], [.read, .write, .create, .exclusive], [.write, .create],
    ] {
      do throws(SystemError) {
        _ = try directory.openFile("planted.ring", options)
        Issue.record("opened through a link")
      } catch {
        #expect(error.errno == ELOOP || error.errno == EEXIST)
      }
    }
    #expect(access(folder("target"), F_OK) != 0)
    symlink("nowhere", folder("dangling"))
    #expect(try openingError(folder("dangling"))?.path.contains("dangling") == true)
  }

  @Test("a full disk is no reason to make the ring smaller where it has no room for an archive")
  func fixOfFullDisk() {
    func fix(_ path: String) -> String { SystemError(call: .pwrite, errno: ENOSPC, path: path).fix }
    let inodes = "; df -i shows whether it is inodes that are used up."
    #expect(fix("/log/orders-1.mmlog.new") == "Free some space\(inodes)")
    #expect(fix("/log/orders.ring") == "Free some space, or make the ring smaller\(inodes)")
    #expect(fix("/log/orders.ring.new") == "Free some space, or make the ring smaller\(inodes)")
  }

  @Test(
    "what is said of an error names what may be behind it",
    arguments: [
      (SystemCall.fallocate, EPERM, "seccomp"), (.pthreadCreate, EAGAIN, "TasksMax"),
      (.fstat, EBADF, "closed a descriptor"),
    ])
  func fix(call: SystemCall, code: CInt, word: String) {
    #expect(SystemError(call: call, errno: code).fix.contains(word))
  }

  @Test("what is said of lost records fits what they were lost for")
  func adviceFitsTheCause() {
    func text(_ cause: LossLedger.Cause) -> String {
      var losses = LossLedger()
      losses[cause, .info] = 1
      return LogStore.Event.dropped(losses: losses).text
    }
    let place = "mmlog-decode shows where records are missing."
    #expect(
      text(.noRing)
        == "lost 1 record: no ring (info 1). There was no ring, or no memory for a thread to use "
        + "it: open the store before the first log call, close it after the last, and give the "
        + "process more memory. \(place)")
    #expect(
      text(.cut)
        == "cut 1 record (info 1). Values were too long, or memory was short: log less of them.")
    for cause in LossLedger.Cause.allCases {
      let isOfRing = cause == .ringFull || cause == .overwritten
      #expect(text(cause).contains("The ring was full: make it larger") == isOfRing, "\(cause)")
      #expect(text(cause).contains(place) == (cause != .cut), "\(cause)")
    }
  }

  @Test(
    "a real full file system is one error that says so, and leaves nothing",
    .enabled(if: mountsCanBeMade, "no file system can be mounted"))
  func fullFileSystem() throws {
    mkdir(folder("small"), 0o700)
    try #require(mount("tmpfs", folder("small"), "tmpfs", 0, "size=1m") == 0)
    defer { umount2(folder("small"), CInt(MNT_DETACH)) }
    let error = try openingError(folder("small"))
    #expect(error?.code == .outOfSpace)
    #expect(error?.message.contains(folder("small")) == true)
    #expect(error?.message.contains("Free some space, or make the ring smaller") == true)

    // A ring that fits on a disk that is then full of archives: nothing is lost that the ring can
    // hold.
    var configuration = LogStore.Configuration()
    configuration.makeTiny()
    configuration.compressionLevel = 0
    configuration.fullRing = .dropNewest
    let store = try LogStore(
      directory: folder("small"), name: "full", configuration: configuration)
    let log = store.logger(label: "l")
    let filler = String(repeating: "f", count: 1000)
    var count = 0
    func logMore(_ records: Int) {
      for _ in 0..<records {
        log.info("\(count) \(filler)")
        count += 1
      }
    }
    while logError({ try store.flush(.archive) }) == nil { logMore(50) }
    #expect(store.losses.isEmpty)
    logMore(500)
    #expect(logError { try store.flush(.archive) }?.code == .outOfSpace)
    let losses = store.losses
    #expect(logError { try store.close() }?.code == .outOfSpace)
    let contents = Contents(folder("small"))
    #expect(contents.corruption.isEmpty)
    #expect(contents.records.count + Int(losses.total(.ringFull)) == count)
    #expect(losses.total(.ringFull) > 200)
  }

  #if DEBUG
    @Test("a directory without permission is named, with what to do")
    func noPermission() throws {
      mkdir(folder("closed"), 0o700)
      ForcedFault.force(.openat, errno: EACCES, times: .max, under: folder("closed"))
      defer { ForcedFault.clear(under: folder("closed")) }
      let error = try openingError(folder("closed"))
      #expect(error?.code == .system && error?.systemErrorNumber == EACCES)
      #expect(error?.message.contains(folder("closed")) == true)
      #expect(error?.message.contains("permission") == true)
    }

    @Test("a process that cannot notice the end of threads gets no store, and no file")
    func endsOfThreads() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        ForcedFault.force(.pthreadKeyCreate, errno: EAGAIN, under: "")
        let error = thrown(LogError.self) {
          try LogStore(directory: folder("logs"), name: "n").close()
        }
        require(error?.systemErrorNumber == EAGAIN, "\(String(describing: error))")
        require(try folder.names().isEmpty)
        try LogStore(directory: folder("logs"), name: "n").close()
      }
    }

    @Test("whatever call fails while a store opens, it works or is one error, and nothing is left")
    func everyCall() async {
      await #expect(processExitsWith: .success) {
        let outer = TemporaryDirectory()
        // The process's own hooks are made once. They are not tested here.
        try LogStore(directory: outer("first"), name: "n").close()
        // A ring to be recovered.
        var configuration = LogStore.Configuration()
        configuration.makeTiny()
        let dead = try LogStore(directory: outer("dead"), name: "n", configuration: configuration)
        dead.logger(label: "l").info("dead")
        let ring = try require(value: try outer.names("dead").first)
        let bytes = try outer.bytes("dead/\(ring)")
        let calls = SystemCall.allCases.filter { $0 != .pthreadAtFork && $0 != .pthreadKeyCreate }
        let callsWithoutPath: [SystemCall] = [.getrandom, .pthreadCreate, .mmap, .sigaction]
        var failures = 0
        for call in calls {
          for code in [EIO, ENOSPC, EMFILE] {
            for onCall in 1...3 {
              let what = "\(call) \(code) \(onCall)"
              let folder = TemporaryDirectory()
              mkdir(folder("d"), 0o700)
              folder.put("d/\(ring)", bytes)
              let prefixes = [folder.path, "", "mmlog-drainer"]
              for prefix in prefixes {
                ForcedFault.force(call, errno: code, onCall: onCall, times: 2, under: prefix)
              }
              do {
                let store = try LogStore(
                  directory: folder("d"), name: "n", configuration: configuration)
                for prefix in prefixes { ForcedFault.clear(under: prefix) }
                store.logger(label: "l").info("alive")
                try store.close()
                let next = try LogStore(directory: folder("d"), name: "n")
                try next.close()
                let contents = Contents(folder("d"))
                require(
                  contents.messages.sorted() == ["alive", "dead"], "\(what): \(contents.messages)")
                require(contents.corruption.isEmpty, what)
              } catch {
                for prefix in prefixes { ForcedFault.clear(under: prefix) }
                failures += 1
                require(error is LogError, "\(what): \(error)")
                let text = "\(error)"
                require(
                  text.contains(folder.path) || callsWithoutPath.contains(call), "\(what): \(text)")
                let left = try folder.names("d").filter { $0 != ring && !$0.hasSuffix(".mmlog") }
                // A name that cannot be removed stays, for the next start to sweep.
                require(left.isEmpty || call == .unlinkat, "\(what): \(left)")
                let next = try LogStore(directory: folder("d"), name: "n")
                try next.close()
                require(Contents(folder("d")).messages == ["dead"], what)
              }
            }
          }
        }
        require(failures > 20, "\(failures)")
        try dead.close()
      }
    }

    @Test(
      "without getrandom and membarrier a store works, and keeps no file open when it is closed")
    func oldKernel() async {
      await #expect(processExitsWith: .success) {
        ForcedFault.force(.getrandom, errno: ENOSYS, times: .max, under: "")
        ForcedFault.force(.membarrier, errno: ENOSYS, times: .max, under: "")
        let test = try TestStore()
        test.log.info("works")
        require(try test.closeAndRead().messages == ["works"])
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
          let target = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/fd/\(name)")
          require(target?.contains(test.folder.path) != true, target ?? "")
        }
      }
    }

    @Test("a process that could not prepare for fork can once it has memory")
    func forkPreparedLater() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        ForcedFault.force(.pthreadAtFork, errno: ENOMEM, under: "")
        let error = logError { _ = try LogStore(directory: folder.path, name: "n") }
        require(error?.systemErrorNumber == ENOMEM)
        try LogStore(directory: folder.path, name: "n").close()
      }
    }

    @Test("a directory of which not even the root is there is an error, and no endless search")
    func noRoot() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        ForcedFault.force(.open, errno: ENOENT, times: .max, under: nil)
        let error = logError { _ = try LogStore(directory: folder("a"), name: "n") }
        require(error?.systemErrorNumber == ENOENT)
      }
    }

    @Test("a record that outgrew its memory keeps what it has when there is memory again")
    func memoryComesBack() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.makeTiny() }
        let text = String(repeating: "t", count: 6000)
        test.log.info("warm")
        ForcedFault.force(.mmap, errno: ENOMEM, under: "")
        test.log.info("\(17) \(text) \(18) \(text)")
        let contents = try test.closeAndRead()
        let record = try require(value: contents.records.last)
        require(record.isCut && contents.corruption.isEmpty)
        require(record.message.hasPrefix("17 t"), record.message)
        require(record.message.hasSuffix(" 18 " + text), record.message)
        require(contents.losses.map { $0.total(.cut) } == [1])
      }
    }

    @Test("what a thread loses that has no memory to log with is reported by the files too")
    func noMemoryForAThread() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        test.loseWithoutMemory()
        try test.store.flush(.archive)
        require(Contents(test.folder.path).losses.map { $0.total(.noRing) } == [1])
        test.log.info("kept")
        let contents = try test.closeAndRead()
        require(contents.losses.map { $0.total(.noRing) } == [1])
        require(contents.messages == ["kept"])
        require(test.store.losses.total(.noRing) == 1)
      }
    }

    @Test("what a thread loses that has no memory to log with is reported, too, if closing fails")
    func noMemoryForAThreadAtTheEnd() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.drainInterval = .seconds(3600) }
        let events = test.store.events
        // The drainer takes over losses once a second; after this flush, not in this moment.
        try test.store.blockingFlush(.archive)
        test.loseWithoutMemory()
        test.log.info("left")
        ForcedFault.force(.pwrite, errno: EIO, times: .max, under: test.folder.path)
        require(logError { try test.store.blockingClose() } != nil)
        ForcedFault.clear(under: test.folder.path)
        var reported: [UInt64] = []
        for await case .dropped(let losses) in events { reported.append(losses.total(.noRing)) }
        require(reported == [1], "\(reported)")
        _ = try LogRecovery.recover(test.folder.path) { _ in }
        let contents = Contents(test.folder.path)
        require(contents.losses.map { $0.total(.noRing) } == [1], "\(contents.losses)")
        require(contents.messages == ["left"], "\(contents.messages)")
      }
    }

    /// A store that has left its first archive, because that cannot be synced, and the archive. The
    /// fault lasts until the caller clears it.
    private func storeWithUnsyncedArchive() throws -> (TestStore, String) {
      let test = try TestStore { $0.drainInterval = .seconds(3600) }
      test.log.info("first")
      try test.store.flush(.archive)
      let first = test.folder(try test.folder.names(ending: ".mmlog")[0])
      ForcedFault.force(.fdatasync, errno: EIO, times: .max, under: first)
      #expect(logError { _ = try test.store.blockingRotate() }?.path == first)
      return (test, first)
    }

    @Test("an archive that cannot be synced stops no other, and fails only who asks for the disk")
    func unsyncableArchive() throws {
      let (test, first) = try storeWithUnsyncedArchive()
      defer { ForcedFault.clear(under: first) }
      test.log.info("second")

      let archiving = logError { try test.store.flush(.archive) }
      let failed = test.store.statistics.failedPasses
      let syncing = logError { try test.store.flush(.disk) }
      let failedLater = test.store.statistics.failedPasses
      let closing = logError { try test.store.close() }

      #expect(archiving == nil && failedLater == failed)
      #expect(syncing?.path == first && closing?.path == first)
      #expect(try test.folder.names(ending: ".mmlog").count == 2)
      ForcedFault.clear(under: first)
      _ = try LogRecovery.recover(test.folder.path) { _ in }
      #expect(try test.folder.names(ending: ".ring").isEmpty)
      let contents = Contents(test.folder.path)
      #expect(contents.isClean && contents.messages == ["first", "second"])
      #expect(contents.endings.map(\.how) == [.closed])
    }

    @Test("an archive that cannot be synced fails nobody whom one pass serves with others")
    func unsyncableArchiveInOnePass() throws {
      let (test, first) = try storeWithUnsyncedArchive()
      defer { ForcedFault.clear(under: first) }
      let requests = try #require(test.store.core.openSession).ring.eventCounts.urgentRequests
      let before = requests.current
      let failures = LockedValue<[LogStore.Durability: LogError]>([:])
      func flush(_ durability: LogStore.Durability) throws -> MMLogSystem.Thread {
        try MMLogSystem.Thread(name: "flushing") {
          let failure = logError { try test.store.blockingFlush(durability) }
          failures.withLock { $0[durability] = failure }
        }
      }

      // The first holds the drainer in its pass until two others have asked, whom one pass serves.
      let (gate, archives) = (ForkSafeMutex(), test.folder("test-"))
      gate.lock()
      ForcedFault.block(.renameat, on: gate, under: archives)
      test.log.info("second")
      let holding = try flush(.archive)
      let deadline = Deadline(after: 60_000_000_000)
      func isHeld() -> Bool {
        ForcedFault.struckPaths.contains { $0 != first && $0.hasPrefix(archives) }
      }
      while !isHeld(), !deadline.isOver { usleep(1000) }
      let asking = [try flush(.archive), try flush(.disk)]
      while requests.current &- before < 3, !deadline.isOver { usleep(1000) }
      ForcedFault.clear(under: archives)
      gate.unlock()
      for thread in [holding] + asking { thread.join() }

      #expect(failures.withLock { $0.mapValues(\.path) } == [.disk: first])
      ForcedFault.clear(under: first)
      #expect(try test.closeAndRead().messages == ["first", "second"])
    }

    @Test("no flush to the disk succeeds while an archive is not safe, however many come at once")
    func unsyncableArchiveOfManyFlushes() throws {
      let (test, first) = try storeWithUnsyncedArchive()
      defer { ForcedFault.clear(under: first) }

      let successes = Atomic<Int>(0)
      let flush = { @Sendable in logError { try test.store.blockingFlush(.disk) } }
      try onThreads(3) { _ in
        // The archive is given up after a minute, and then flushes succeed.
        let deadline = Deadline(after: 20_000_000_000)
        for _ in 0..<3000 where !deadline.isOver && flush() == nil {
          successes.add(1, ordering: .relaxed)
        }
      }

      #expect(successes.load(ordering: .relaxed) == 0)
      ForcedFault.clear(under: first)
      try test.store.flush(.disk)
      #expect(try test.closeAndRead().messages == ["first"])
    }

    @Test("a sync that failed is tried again without another flush")
    func syncIsTriedAgain() throws {
      let test = try TestStore { $0.drainInterval = .seconds(3600) }
      test.log.info("record")
      try test.store.flush(.archive)
      let path = test.folder(try test.folder.names(ending: ".mmlog")[0])
      ForcedFault.force(.fdatasync, errno: EIO, times: 2, under: path)
      defer { ForcedFault.clear(under: path) }
      #expect(logError { try test.store.flush(.disk) }?.systemErrorNumber == EIO)
      let deadline = Deadline(after: 20_000_000_000)
      while test.store.statistics.failedPasses < 2, !deadline.isOver { usleep(1000) }
      #expect(test.store.statistics.failedPasses == 2, "the first try, and the drainer's own")
      try test.store.flush(.disk)
      try test.store.close()
    }

    @Test("where no archive can be synced, one waits for its sync, and one is gone on with")
    func unsyncableDisk() throws {
      let test = try TestStore { $0.drainInterval = .seconds(3600) }
      ForcedFault.force(.fdatasync, errno: EIO, times: .max, under: test.folder.path)
      for number in 1...60 {
        test.log.info("record \(number)")
        #expect(logError { try test.store.flush(.disk) }?.systemErrorNumber == EIO)
      }
      // The first is given up after a minute. Then the second is closed, too.
      #expect((2...3).contains(try test.folder.names(ending: ".mmlog").count))
      ForcedFault.clear(under: test.folder.path)
      let contents = try test.closeAndRead()
      #expect(contents.isClean && contents.messages == (1...60).map { "record \($0)" })
    }

    @Test("whatever call fails while a store works, records are kept or counted, and it goes on")
    func everyCallAtWork() async {
      await #expect(processExitsWith: .success) {
        let calls: [SystemCall] = [
          .openat, .pwrite, .fdatasync, .fsync, .fstat, .unlinkat, .close, .renameat, .membarrier,
          .mmap,
          .mremap, .madvise, .getrandom, .fcntlLock,
        ]
        for call in calls {
          for code in [EIO, ENOSPC, EACCES, ENOMEM] {
            let test = try TestStore {
              $0.makeTiny()
              $0.rotation.size = 4096
              $0.compressionLevel = 0
              $0.fullRing = .wait(upTo: .seconds(60))
            }
            for prefix in [test.folder.path, ""] {
              ForcedFault.force(call, errno: code, onCall: 2, times: 3, under: prefix)
            }
            for index in 0..<1000 {
              test.log.info("\(index) \("some text")")
              if index % 100 == 0 { _ = logError { try test.store.flush(.disk) } }
            }
            for prefix in [test.folder.path, ""] { ForcedFault.clear(under: prefix) }
            let contents = try test.closeAndRead()
            require(contents.isClean, "\(call) \(code)")
            require(contents.messages == (0..<1000).map { "\($0) some text" }, "\(call) \(code)")
          }
        }
      }
    }
  #endif

  @Test(
    "the limit of file sizes is an error while a store opens and works, and nothing is lost of it")
  func limitOfFileSizes() async {
    await #expect(processExitsWith: .success) {
      func limit(_ size: rlim_t) {
        var limit = rlimit(rlim_cur: size, rlim_max: rlim_t.max)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      }
      let folder = TemporaryDirectory()
      var configuration = LogStore.Configuration()
      configuration.makeTiny()
      configuration.compressionLevel = 0
      limit(100_000)
      let error = logError {
        _ = try LogStore(directory: folder("d"), name: "n", configuration: configuration)
      }
      require(error?.systemErrorNumber == EFBIG && error?.message.contains("RLIMIT_FSIZE") == true)
      limit(rlim_t.max)
      let store = try LogStore(directory: folder("d"), name: "n", configuration: configuration)
      let log = store.logger(label: "l")
      limit(8192)
      for index in 0..<200 { log.info("\(index) \(String(repeating: "x", count: 100))") }
      require(logError { try store.flush(.archive) }?.systemErrorNumber == EFBIG)
      // The error occurs on this thread, not the drainer's.
      require(logError { try store.close() }?.systemErrorNumber == EFBIG)
      limit(rlim_t.max)
      try LogStore(directory: folder("d"), name: "n").close()
      let contents = Contents(folder("d"))
      require(contents.isClean && contents.records.count == 200, "\(contents.records.count)")
    }
  }

  @Test("files that others delete or cut while a store works are no harm to the process")
  func deletedFiles() throws {
    let store = try LogStore(directory: folder.path, name: "n")
    let log = store.logger(label: "l")
    log.info("one")
    try store.flush(.disk)
    for name in try folder.names() { unlink(folder(name)) }
    for index in 0..<100 { log.info("\(index)") }
    try store.flush(.disk)
    try store.close()
    let next = try LogStore(directory: folder.path, name: "n")
    try next.close()
  }

  @Test(
    "a directory that is removed while a store works costs what was in archives, and nothing else")
  func removedDirectory() throws {
    let store = try LogStore(directory: folder("gone"), name: "n")
    let log = store.logger(label: "l")
    log.info("one")
    try FileManager.default.removeItem(atPath: folder("gone"))
    for index in 0..<100 { log.info("\(index)") }
    try store.flush(.archive)
    try store.close()
    #expect(Contents(folder("gone")).messages.suffix(100) == (0..<100).map { "\($0)" })
  }
}

/// Returns the value, or ends an exit test's process if there is none.
private func require<T>(value: T?, line: UInt = #line) throws -> T {
  require(value != nil, line: line)
  guard let value else { _exit(1) }
  return value
}
