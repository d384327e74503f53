import Glibc
import MMLogSystem
import Synchronization
import TestSupport
import Testing

/// A receiver at a Unix domain socket, or a port of this machine. It receives on a thread of its
/// own until it is stopped.
final class TestReceiver: @unchecked Sendable {
  /// A datagram, and the file that came with it.
  struct Message {
    let bytes: [UInt8]
    var file: [UInt8]?
  }

  private let descriptor: CInt
  private let received = LockedValue<[Message]>([])
  // Set before any other thread sees this object.
  private var thread: MMLogSystem.Thread?
  private let isStopping = Atomic<Bool>(false)

  /// Listens at a path, for datagrams or for a stream.
  init(path: String, isStream: Bool = false) throws {
    descriptor = Self.socket(AF_UNIX, isStream)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    unlink(path)
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isBound = withUnsafePointer(to: &address) {
      bind(descriptor, UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self), size)
    }
    guard isBound == 0 else { throw Failure("bind \(path): errno \(errno)") }
    try start(isStream)
  }

  /// Listens at a port of this machine, which the system chooses.
  init(isStream: Bool) throws {
    descriptor = Self.socket(AF_INET, isStream)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafePointer(to: &address) {
      bind(descriptor, UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self), size)
    }
    guard isBound == 0 else { throw Failure("bind: errno \(errno)") }
    try start(isStream)
  }

  /// Closed on exec, so that programs that other tests start do not have it: a bound socket takes
  /// datagrams as long as any process has it.
  private static func socket(_ domain: CInt, _ isStream: Bool) -> CInt {
    let type = isStream ? SOCK_STREAM : SOCK_DGRAM
    return Glibc.socket(domain, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  var port: Int {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      getsockname(
        descriptor, UnsafeMutableRawPointer($0).assumingMemoryBound(to: sockaddr.self), &size)
    }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  private func start(_ isStream: Bool) throws {
    guard !isStream || listen(descriptor, 8) == 0 else { throw Failure("listen: errno \(errno)") }
    thread = try Thread(name: "receiver") { [unowned self] in
      if isStream { acceptAll() } else { receive(from: descriptor) }
    }
  }

  private func acceptAll() {
    while wait(for: descriptor) {
      let connection = accept(descriptor, nil, nil)
      if connection < 0 { continue }
      receive(from: connection)
      end(connection)
    }
  }

  /// Waits until there is something to take. Returns false when the receiver is to end and
  /// everything that came before is taken.
  private func wait(for descriptor: CInt) -> Bool {
    while true {
      let isLast = isStopping.load(ordering: .acquiring)
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if Glibc.poll(&poll, 1, isLast ? 0 : 20) > 0 { return true }
      if isLast { return false }
    }
  }

  private func receive(from descriptor: CInt) {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while wait(for: descriptor), let message = receiveOne(descriptor, &buffer) {
      received.withLock { $0.append(message) }
    }
  }

  private func receiveOne(_ descriptor: CInt, _ buffer: inout [UInt8]) -> Message? {
    var control = [UInt64](repeating: 0, count: 8)
    return buffer.withUnsafeMutableBytes { buffer in
      control.withUnsafeMutableBytes { control in
        var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
        return withUnsafeMutablePointer(to: &vector) { vector in
          var head = msghdr()
          (head.msg_iov, head.msg_iovlen) = (vector, 1)
          (head.msg_control, head.msg_controllen) = (control.baseAddress, control.count)
          let count = recvmsg(descriptor, &head, 0)
          if count < 0 || count == 0 && head.msg_controllen == 0 { return nil }
          var message = Message(bytes: Array(buffer.prefix(count)))
          if head.msg_controllen >= 20 {
            // A struct cmsghdr, and behind it the descriptor.
            message.file = contents(control.load(fromByteOffset: 16, as: CInt.self))
          }
          return message
        }
      }
    }
  }

  /// The contents of a file in memory that nobody can change any more. If it can be changed, or
  /// cannot be read, records an issue and returns nil.
  private func contents(_ descriptor: CInt) -> [UInt8]? {
    defer { close(descriptor) }
    // F_GET_SEALS, which is a macro: seal, shrink, grow, write.
    let seals = fcntl(descriptor, 1034, 0)
    var status = stat()
    guard seals == 0b1111, fstat(descriptor, &status) == 0 else {
      Issue.record("the file has the seals \(seals), errno \(errno)")
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count else {
      Issue.record("the file cannot be read: errno \(errno)")
      return nil
    }
    return bytes
  }

  /// Ends the receiver.
  ///
  /// - Returns: What it got.
  func stop() -> [Message] {
    isStopping.store(true, ordering: .releasing)
    thread?.join()
    thread = nil
    end(descriptor)
    return received.withLock { $0 }
  }

  /// Shuts a socket down for every process that has it: children of `fork()` in other tests may.
  private func end(_ descriptor: CInt) {
    shutdown(descriptor, CInt(SHUT_RDWR))
    close(descriptor)
  }

  var count: Int { received.withLock { $0.count } }
}
