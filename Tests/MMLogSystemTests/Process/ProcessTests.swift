import CMMLogCore
import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("What is about no path")
struct ProcessTests {
  @Test("random bytes fill the buffer, and two fillings differ")
  func random() throws {
    func fill() throws -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: 1000)
      try bytes.withUnsafeMutableBytes { try Random.fill($0) }
      return bytes
    }
    let (first, second) = (try fill(), try fill())
    #expect(first != second)
    #expect(Set(first.suffix(500)).count > 50, "to the end")
  }

  @Test("a barrier in all threads works once it is registered")
  func barrier() async {
    // In a process of its own, since a fork's child can use only what no other thread was about to
    // set up.
    await #expect(processExitsWith: .success) {
      let registered = MemoryBarrier.register()
      #expect(MemoryBarrier.allThreads() == registered)
      let child = fork()
      if child == 0 { _exit(MemoryBarrier.allThreads() == registered ? 0 : 1) }
      #expect(exitStatus(of: child) == 0, "a child of fork inherits it")
    }
  }

  @Test("private memory is zero, keeps its contents when resized, and leaves errno alone")
  func privateMemory() throws {
    errno = 77
    let small = try #require(PrivateMemory.allocate(Host.pageSize))
    #expect(small.load(as: UInt64.self) == 0)
    small.storeBytes(of: 42, as: UInt64.self)
    let count = 1000 * Host.pageSize
    let large = try #require(PrivateMemory.resize(small, from: Host.pageSize, to: count))
    #expect(large.load(as: UInt64.self) == 42)
    #expect(large.load(fromByteOffset: count - 8, as: UInt64.self) == 0)
    PrivateMemory.free(large, count: count)
    #expect(PrivateMemory.allocate(Int.max) == nil)
    #expect(errno == 77)
  }

  @Test("a thread's value reaches the function at the thread's end")
  func threadExit() throws {
    let exit = try ThreadExit { word in
      guard let word else { return }
      _ = mmlog_fetch_add_u32(word.assumingMemoryBound(to: UInt32.self), 1)
    }
    let word = SharedWord()
    try Thread(name: "with a value") {
      #expect(exit.set(UnsafeMutableRawPointer(word.pointer)))
    }.join()
    try Thread(name: "without one") {}.join()
    #expect(mmlog_load_acquire_u32(word.pointer) == 1)
  }

  @Test("fork's handlers run where they should")
  func forkHandlers() async {
    await #expect(processExitsWith: .success) {
      try ForkHandlers.install(
        prepare: { forkCounts.count(0) }, parent: { forkCounts.count(1) },
        child: { forkCounts.count(2) })
      #expect(forkCounts.values == [0, 0, 0])
      let child = fork()
      if child == 0 { _exit(forkCounts.values == [1, 0, 1] ? 0 : 1) }
      #expect(exitStatus(of: child) == 0)
      #expect(forkCounts.values == [1, 1, 0])
    }
  }

  @Test("the clocks go on, and sleeping takes its time")
  func clocks() {
    let (wall, start) = (Clock.realtime(), Clock.monotonic())
    Sleep.nanoseconds(1_000_000)
    Sleep.nanoseconds(-1)
    #expect(Clock.monotonic() >= start + 1_000_000)
    #expect(wall > 1_700_000_000_000_000_000)
  }

  @Test("a deadline is over once its time is, however long or short that is")
  func deadlines() {
    for span in [Int64.min, -1, 0] {
      let deadline = Deadline(after: span)
      #expect(deadline.isOver && deadline.left == 0, "\(span)")
    }
    let (hour, endless) = (3_600_000_000_000 as Int64, Deadline(after: .max))
    let deadline = Deadline(after: hour)
    #expect(!deadline.isOver && 1...hour ~= deadline.left)
    #expect(!endless.isOver && endless.left > hour)
    let short = Deadline(after: 1_000_000)
    Sleep.nanoseconds(short.left)
    #expect(short.isOver && short.left == 0)
  }

  // A fault for calls about no path meets all threads: each of these tests has its own process.
  #if DEBUG
    @Test("a forced error reaches the calls that are about no path, once")
    func forced() async {
      await #expect(processExitsWith: .success) {
        let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        defer { byte.deallocate() }
        for call in [SystemCall.getrandom, .membarrier, .mmap, .pthreadKeyCreate, .pthreadAtFork] {
          ForcedFault.force(call, errno: EIO, under: "")
        }
        let expected = SystemError(call: .getrandom, errno: EIO)
        #expect(failure { try Random.fill(byte) } == expected)
        #expect(!MemoryBarrier.register())
        #expect(PrivateMemory.allocate(1) == nil)
        #expect(failure { _ = try ThreadExit { _ in } }?.call == .pthreadKeyCreate)
        #expect(failure { try ForkHandlers.install() }?.call == .pthreadAtFork)
        #expect(failure { try Random.fill(byte) } == nil)
        #expect(failure { try ForkHandlers.install() } == nil)
      }
    }

    @Test("a fault for calls about no path does not meet those about one")
    func emptyPrefix() async {
      await #expect(processExitsWith: .success) {
        ForcedFault.force(.dup, errno: EIO, under: "")
        #expect(failure { _ = try File.duplicate(0, path: "standard input") } == nil)
      }
    }

    @Test("random bytes that come in pieces fill the buffer")
    func shortRandom() async {
      await #expect(processExitsWith: .success) {
        ForcedFault.forceShort(.getrandom, count: 7, times: .max, under: "")
        var bytes = [UInt8](repeating: 0, count: 512)
        try bytes.withUnsafeMutableBytes { try Random.fill($0) }
        #expect(Set(bytes.suffix(256)).count > 50)
      }
    }

    @Test("memory that cannot grow stays as it was")
    func refusedResize() async {
      await #expect(processExitsWith: .success) {
        let base = try #require(PrivateMemory.allocate(Host.pageSize))
        base.storeBytes(of: 1, as: UInt8.self)
        ForcedFault.force(.mremap, errno: ENOMEM, under: "")
        #expect(PrivateMemory.resize(base, from: Host.pageSize, to: 2 * Host.pageSize) == nil)
        #expect(base.load(as: UInt8.self) == 1)
        PrivateMemory.free(base, count: Host.pageSize)
      }
    }
  #endif
}

/// How a child of fork ended, as waitpid(2) says it: 0 for success; nil if there is no such child.
private func exitStatus(of child: pid_t) -> CInt? {
  var status: CInt = -1
  return child > 0 && waitpid(child, &status, 0) == child ? status : nil
}

private let forkCounts = ForkCounts()

/// How often each handler ran. Proof of `@unchecked Sendable`: one thread forks, and looks after.
private final class ForkCounts: @unchecked Sendable {
  private(set) var values = [0, 0, 0]
  func count(_ index: Int) { values[index] += 1 }
}
