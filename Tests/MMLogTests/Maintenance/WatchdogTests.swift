#if DEBUG
  import Foundation
  import Glibc
  import MMLog
  import MMLogStorage
  import MMLogSystem
  import TestSupport
  import Testing

  /// A drainer that stands still, because the disk does.
  @Suite("a disk that stands still") struct WatchdogTests {
    @Test("events and numbers say that the drainer stands still, and that it goes on")
    func blockedCall() async {
      await #expect(processExitsWith: .success) {
        let gate = ForkSafeMutex()
        gate.lock()
        let test = try TestStore { $0.stallTime = .milliseconds(50) }
        let events = test.store.events
        ForcedFault.block(.pwrite, on: gate, under: test.folder.path)
        test.log.info("one")
        await waitForStall(of: test.store, events, atLeast: .milliseconds(50))
        test.log.info("two")
        gate.unlock()
        for await event in events { if case .resumed = event { break } }
        ForcedFault.clear(under: test.folder.path)
        require(try test.closeAndRead().messages == ["one", "two"])
        require(test.store.statistics.drainerSilence == nil)
      }
    }

    /// With the ring on another file system, as is recommended where snapshots freeze one.
    @Test(
      "on a frozen file system, log calls, numbers and events go on if the ring is on a tmpfs",
      .enabled(if: FrozenDisk().isThere, "needs root, loop devices, mkfs.ext4 and fsfreeze"))
    func frozen() async {
      // In a process of its own: tests that run beside it would hold its task back for minutes.
      await #expect(processExitsWith: .success) {
        let mount = FrozenDisk()
        let rings = "/dev/shm/mmlog-frozen.\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: rings) }
        var configuration = LogStore.Configuration()
        configuration.ringDirectory = rings
        configuration.stallTime = .milliseconds(100)
        let store = try LogStore(
          directory: mount.path, name: "test", configuration: configuration)
        let (log, events) = (store.logger(label: "l"), store.events)
        log.info("before")
        try store.blockingFlush(.archive)
        require(mount.freeze())
        for index in 0..<1000 { log.info("\(index)") }
        await waitForStall(of: store, events, atLeast: .milliseconds(100))
        require(store.statistics.losses.isEmpty)
        require(mount.thaw())
        for await event in events { if case .resumed = event { break } }
        try store.blockingClose()
        require(Contents(mount.path).messages == ["before"] + (0..<1000).map { "\($0)" })
      }
    }
  }

  /// Waits until an event says that the drainer stands still, and it does. On a busy machine it may
  /// have stood still before, too.
  private func waitForStall(
    of store: LogStore, _ events: AsyncStream<LogStore.Event>, atLeast time: Duration
  ) async {
    for await event in events {
      let silence = store.statistics.drainerSilence ?? .zero
      if case .stalled = event, silence >= time { return }
    }
  }

  /// A small file system that can be frozen. The file system is thawed, whatever becomes of the
  /// test.
  private final class FrozenDisk {
    private let folder = TemporaryDirectory()
    var path: String { folder("mount") }
    private(set) var isThere = false

    init() {
      guard geteuid() == 0, access("/dev/shm", W_OK) == 0 else { return }
      mkdir(path, 0o700)
      let image = folder("image")
      isThere =
        run("truncate -s 32M \(image) && mkfs.ext4 -qF \(image) && mount -o loop \(image) \(path)")
    }

    deinit {
      _ = thaw()
      if isThere { _ = run("umount -l \(path)") }
    }

    func freeze() -> Bool {
      // In case this process is killed while the file system is frozen: then the drainer's thread
      // stays behind, and the process's first thread is a zombie.
      run(
        "(while grep -q '^State:.[^ZX]' /proc/\(getpid())/status; do sleep 0.1; done;"
          + " fsfreeze -u \(path); umount -l \(path)) > /dev/null 2>&1 &"
          + " fsfreeze -f \(path)")
    }

    func thaw() -> Bool { run("fsfreeze -u \(path)") }

    private func run(_ line: String) -> Bool {
      // Not Foundation's Process: it waits for what runs in the background, too.
      system("PATH=$PATH:/usr/sbin:/sbin; { \(line); } > /dev/null 2>&1") == 0
    }
  }
#endif
