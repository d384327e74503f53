import Foundation
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Testing
import TestSupport

/// What others put into a store's directory under names of the store's own files.
@Suite("foreign files") struct ForeignFileTests {
  private static let session = "00000000000000050000000000000005"
  private let name = "test.\(session).ring"

  /// Makes something with the name of a ring that is none.
  private func plant(_ kind: String, _ path: String) throws {
    switch kind {
    case "fifo": try #require(mkfifo(path, 0o666) == 0)
    case "directory": try #require(mkdir(path, 0o777) == 0)
    case "socket": try bindSocket(path)
    default:
      #expect(FileManager.default.createFile(atPath: path, contents: Data(count: 8192)))
    }
    if geteuid() == 0 { try #require(lchown(path, 65534, 65534) == 0) }
  }

  private func bindSocket(_ path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let status = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    close(descriptor)
    try #require(status == 0)
  }

  private static let kinds = ["fifo", "directory", "socket"] + (geteuid() == 0 ? ["file"] : [])

  @Test("limits hold whatever has a ring's name, and it is reported once", arguments: kinds)
  func retention(kind: String) async throws {
    let test = try TestStore { $0.retention.count = 1 }
    chmod(test.folder.path, 0o1777)
    let events = test.store.events
    try plant(kind, test.folder(name))
    for index in 0..<3 {
      test.log.info("\(index)")
      _ = try test.store.blockingRotate()
      try test.store.blockingApplyRetention()
    }
    #expect(try test.store.archives().map(\.number) == [3])
    try test.store.blockingClose()
    #expect(await failures(events).filter { $0.path == test.folder(name) }.count == 1)
    #expect(access(test.folder(name), F_OK) == 0)
  }

  @Test("a store opens whatever has a ring's name, and reports it", arguments: kinds)
  func opening(kind: String) throws {
    let folder = TemporaryDirectory()
    chmod(folder.path, 0o1777)
    try plant(kind, folder(name))
    let store = try LogStore(directory: folder.path, name: "test")
    #expect(store.recoveryFailures.map(\.path) == [folder(name)])
    try store.close()
    #expect(access(folder(name), F_OK) == 0)
  }

  /// All failures that a closed store has reported.
  private func failures(_ events: AsyncStream<LogStore.Event>) async -> [LogError] {
    var failures: [LogError] = []
    for await event in events { if case .failed(let error) = event { failures.append(error) } }
    return failures
  }

  #if DEBUG
    @Test(
      "a process that dies while it makes its ring leaves nothing",
      arguments: [TestPoint.ringCreated, .ringLocked, .ringMapped, .ringHeaderWritten])
    func deathWhileOpening(point: TestPoint) async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = folder.path as String, point = point.rawValue as UInt8] in
        TestPoint.handler = { if $0.rawValue == point { kill(getpid(), SIGKILL) } }
        _ = try LogStore(directory: path, name: "test")
      }
      // Without such files, the ring has a name from the beginning.
      #expect(try folder.names() == [] || !hasUnnamedFiles)
    }
  #endif

  @Test("rings that were never finished go when limits are applied, by lock and age")
  func leftOver() throws {
    let test = try TestStore()
    let old = test.folder("test.\(Self.session).ring.new")
    let locked = test.folder("test.\(SessionID(words: (6, 6))).ring.new")
    let young = test.folder("test.\(SessionID(words: (7, 7))).ring.new")
    for path in [old, locked, young] {
      #expect(FileManager.default.createFile(atPath: path, contents: Data(count: 8192)))
    }
    let holder = try File.open(locked, [.read, .write])
    #expect(try holder.tryLock())
    // From here on, the store's own maintenance may remove files that no process has locked.
    var times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 0)]
    times.append(times[0])
    for path in [old, locked] { #expect(utimensat(AT_FDCWD, path, times, 0) == 0) }
    try test.store.applyRetention()
    #expect(try test.folder.names(ending: ".ring.new").map { test.folder($0) } == [locked, young])
    try test.store.close()
  }
}
