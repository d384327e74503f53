import Foundation
import Glibc
import MMLogCrash
import MMLogSystem
import TestSupport
import Testing

/// In processes of their own, because a signal's handler is the whole process's.
@Suite("Contained faults")
struct FaultContainmentTests {
  /// A mapping, never undone, of a file that was cut to `kept` pages after it was mapped.
  private static func cutMapping(_ count: Int, kept: Int) throws -> UnsafeMutableRawPointer {
    let folder = TemporaryDirectory()
    let file = try File.open(folder("file"), [.read, .write, .create, .exclusive])
    try file.truncate(to: count * Host.pageSize)
    let mapping = UnsafeMutablePointer<Mapping>.allocate(capacity: 1)
    try mapping.initialize(to: Mapping(file, count: count * Host.pageSize))
    let base = mapping.pointee.base
    base.storeBytes(of: 7, as: UInt8.self)
    try file.truncate(to: kept * Host.pageSize)
    return base
  }

  @Test("a page that the file has lost becomes memory; the others stay the file's")
  func lostPages() async {
    await #expect(processExitsWith: .exitCode(0)) {
      try FaultContainment.start()
      let (base, page) = (try Self.cutMapping(4, kept: 1), Host.pageSize)
      let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
      word.initialize(to: 0)
      guard let containment = FaultContainment(base, count: 4 * page, waking: word) else { exit(2) }
      for index in 0..<4 {
        let start = base + index * page
        let found = start.load(as: UInt8.self)
        if found != (index == 0 ? 7 : 0) { exit(3) }
        start.storeBytes(of: 9, as: UInt8.self)
        if start.load(as: UInt8.self) != 9 { exit(4) }
      }
      exit(containment.lostPages == 3 && word.pointee == 3 ? 0 : 5)
    }
  }

  @Test("threads that meet the same lost page keep what each has stored in it")
  func samePage() async {
    await #expect(processExitsWith: .exitCode(0)) {
      try FaultContainment.start()
      let count = 500
      let base = try Self.cutMapping(count, kept: 0)
      guard let containment = FaultContainment(base, count: count * Host.pageSize) else { exit(2) }
      nonisolated(unsafe) let address = base
      let threads = try (0..<4).map { thread in
        try Thread(name: "storing") {
          for page in 0..<count {
            (address + page * Host.pageSize + 8 * thread).storeBytes(of: 1, as: UInt64.self)
          }
        }
      }
      for thread in threads { thread.join() }
      for page in 0..<count {
        for thread in 0..<4
        where (base + page * Host.pageSize + 8 * thread).load(as: UInt64.self) != 1 {
          exit(3)
        }
      }
      exit(containment.lostPages == count ? 0 : 4)
    }
  }

  /// The number of maps that this process has.
  private static func mapCount() throws -> Int {
    try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).count { $0 == "\n" }
  }

  @Test("however many pages are lost that are no neighbors, the process has enough maps left")
  func scatteredPages() async {
    await #expect(processExitsWith: .exitCode(0)) {
      try FaultContainment.start()
      // As the headers of segments of two pages. Of each, only the first page is touched.
      let (count, page) = (70_000, Host.pageSize)
      let base = try Self.cutMapping(count, kept: 3)
      guard let containment = FaultContainment(base, count: count * page) else { exit(2) }
      (base + 2 * page).storeBytes(of: 8, as: UInt8.self)
      for index in stride(from: 4, to: count, by: 2) {
        let start = base + index * page
        if start.load(as: UInt8.self) != 0 { exit(3) }
        start.storeBytes(of: 9, as: UInt8.self)
        if start.load(as: UInt8.self) != 9 { exit(4) }
      }
      // What the file has is left alone.
      if base.load(as: UInt8.self) != 7 || (base + 2 * page).load(as: UInt8.self) != 8 { exit(5) }
      if containment.lostPages < (count - 4) / 2 { exit(6) }
      exit(try Self.mapCount() < 20_000 ? 0 : 7)
    }
  }

  @Test("the last page may be a part, as a ring's is on a machine with large pages")
  func lastPartOfAPage() async {
    await #expect(processExitsWith: .exitCode(0)) {
      try FaultContainment.start()
      let (count, page) = (12_001, Host.pageSize)
      let base = try Self.cutMapping(count, kept: 0)
      guard let containment = FaultContainment(base, count: count * page - 1) else { exit(2) }
      // So many pages are replaced one by one.
      for index in 0..<4096 { (base + 2 * index * page).storeBytes(of: 9, as: UInt8.self) }
      if containment.lostPages != 4096 { exit(3) }
      let last = base + (count - 1) * page
      last.storeBytes(of: 9, as: UInt8.self)
      if containment.lostPages != 4097 || last.load(as: UInt8.self) != 9 { exit(4) }
      // With this page, all behind it are replaced, the last one again.
      (base + 9000 * page).storeBytes(of: 9, as: UInt8.self)
      exit(containment.lostPages == 4097 + 3000 ? 0 : 5)
    }
  }

  @Test("any other fault goes on to the handler that was there before")
  func otherFault() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in _exit(7) }
      sigaction(SIGBUS, &action, nil)
      try FaultContainment.start()
      let contained = try Self.cutMapping(1, kept: 0)
      let other = try Self.cutMapping(1, kept: 0)
      let containment = FaultContainment(contained, count: Host.pageSize)
      contained.storeBytes(of: 1, as: UInt8.self)
      if containment?.lostPages != 1 { exit(2) }
      other.storeBytes(of: 1, as: UInt8.self)
    }
  }

  @Test(
    "without a handler before, any other fault, or one sent by hand, ends the process as always")
  func noHandler() async {
    await #expect(processExitsWith: .signal(SIGBUS)) {
      signal(SIGBUS, SIG_DFL)
      try FaultContainment.start()
      try Self.cutMapping(1, kept: 0).storeBytes(of: 1, as: UInt8.self)
    }
    await #expect(processExitsWith: .signal(SIGBUS)) {
      signal(SIGBUS, SIG_DFL)
      try FaultContainment.start()
      kill(getpid(), SIGBUS)
      while true { usleep(1000) }
    }
  }

  @Test("a range is contained no longer than asked for, and its place is used again")
  func ended() async {
    await #expect(processExitsWith: .signal(SIGBUS)) {
      signal(SIGBUS, SIG_DFL)
      try FaultContainment.start()
      let first = try Self.cutMapping(1, kept: 0)
      let second = try Self.cutMapping(1, kept: 0)
      do {
        let containment = FaultContainment(first, count: Host.pageSize)
        first.storeBytes(of: 1, toByteOffset: 1, as: UInt8.self)
        if containment?.lostPages != 1 { exit(2) }
      }
      let again = FaultContainment(second, count: Host.pageSize)
      second.storeBytes(of: 1, as: UInt8.self)
      if again?.lostPages != 1 { exit(3) }
      // Still private memory: mapped anew it is the file's.
      try Self.cutMapping(1, kept: 0).storeBytes(of: 1, as: UInt8.self)
    }
  }
}
