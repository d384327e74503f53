import Glibc
import TestSupport
import Testing

/// Entries of a directory that have names of logs.
@Suite struct DirectoryInputTests {
  @Test("a symbolic link to a file is followed, and one to a directory is not")
  func links() {
    let log = TestLog.closed("a")
    let archive = log.save()[0]
    let folder = TemporaryDirectory()
    #expect(symlink(archive, folder("a.mmlog")) == 0)
    #expect(symlink(log.folder.path, folder("b.mmlog")) == 0)
    let reading = Reading([folder.path])
    #expect(reading.trace == ["<", "a", ">"] && reading.unreadable.isEmpty)
  }

  @Test("pipes, sockets and devices are passed over")
  func otherFiles() {
    let log = TestLog.closed("a")
    log.save()
    #expect(mkfifo(log.folder("pipe.mmlog"), 0o600) == 0)
    #expect(symlink("/dev/zero", log.folder("device.mmlog")) == 0)
    let path = log.folder("s.mmlog")
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let isBound = withUnsafeBytes(of: &address) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        bind(socket, $0.baseAddress, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(isBound == 0)
    let reading = Reading([log.folder.path])
    #expect(reading.trace == ["<", "a", ">"] && reading.unreadable.isEmpty)
  }
}
