import Glibc
import MMLogCrash
import MMLogSystem
import Synchronization
import TestSupport
import Testing

// What a function has that C calls; each test's process has it for itself.
private let mayEnd = Atomic<Bool>(false)

/// In processes of their own, because a signal's handler is the whole process's.
@Suite("Places for reports of crashes")
struct CrashAreaTests {
  @Test(
    "without /proc, a handler that runs is not taken for one that was left, unless its thread ends",
    .enabled(if: geteuid() == 0, "chroot(2) is for root only"))
  func withoutProc() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      signal(SIGABRT) { _ in
        while !mayEnd.load(ordering: .acquiring) { usleep(1000) }
        pthread_exit(nil)
      }
      try CrashArea.start()
      let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
      page.initializeMemory(as: UInt8.self, repeating: 0, count: 4096)
      guard let area = CrashArea(at: page) else { exit(2) }
      require(chroot(path) == 0)
      _ = try Thread(name: "worker") { raise(SIGABRT) }
      while area.copy() == nil { usleep(1000) }
      require(area.isDying() && !area.hasReturned())
      mayEnd.store(true, ordering: .releasing)
      while !area.hasReturned() { usleep(1000) }
      require(area.take() != nil)
      exit(0)
    }
  }
}
