#if DEBUG
  import Glibc
  import MMLogSystem
  import TestSupport
  import Testing

  @Suite("System calls that are watched", .serialized) struct CallObserverTests {
    /// What was reported of the calls about one path.
    private final class Reported: Sendable {
      private let list = LockedValue<[String]>([])

      init(about path: String) {
        CallObserver.observe { [self] call, about, phase in
          if about == path { list.withLock { $0.append("\(call) \(phase)") } }
        }
      }

      func end() -> [String] {
        CallObserver.observe(nil)
        return list.withLock { $0 }
      }
    }

    @Test("a call is reported when it begins and when it has ended")
    func beginAndEnd() throws {
      let folder = TemporaryDirectory()
      let path = folder.path + "/file"
      let reported = Reported(about: path)
      let file = try File.open(path, [.write, .create])
      try file.syncData()
      #expect(throws: SystemError.self) { _ = try File.open(path, [.create, .exclusive]) }
      let calls = ["open begins", "open succeeded", "fdatasync begins", "fdatasync succeeded"]
      #expect(reported.end() == calls + ["open begins", "open failed"])
    }

    @Test("a call in whose place a fault was forced is not reported, and none after the end")
    func notReported() throws {
      let folder = TemporaryDirectory()
      let path = folder.path + "/file"
      let file = try File.open(path, [.write, .create])
      ForcedFault.force(.fdatasync, errno: EIO, under: path)
      let reported = Reported(about: path)
      #expect(throws: SystemError.self) { try file.syncData() }
      #expect(reported.end().isEmpty)
      try file.syncData()
      #expect(reported.end().isEmpty)
    }

    @Test("an observer leaves the error number of a failed call alone")
    func errorNumber() {
      let folder = TemporaryDirectory()
      let path = folder.path + "/missing"
      CallObserver.observe { _, _, _ in errno = EBUSY }
      defer { CallObserver.observe(nil) }
      let error = #expect(throws: SystemError.self) { _ = try File.open(path, .read) }
      #expect(error?.errno == ENOENT)
    }
  }
#endif
