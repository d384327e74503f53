import CMMLogCore
import Glibc

/// A connected socket for writing. It is closed at the end of its life.
///
/// No call waits for longer than ``timeout``, and none raises SIGPIPE.
package struct Socket: ~Copyable, Sendable {
  /// Who is at the other end.
  package enum Address: Equatable, Sendable {
    /// A Unix domain socket, by path; `@name` is in the abstract namespace: unix(7).
    case local(path: String, Kind)
    /// A host by name or number, and a port by number or name.
    case host(String, port: String, Kind)
  }

  /// What is sent.
  package enum Kind: Equatable, Sendable {
    /// Messages, each of which arrives as a whole.
    case datagrams
    /// Bytes in their order.
    case stream
  }

  private let file: File
  /// The kind of what the socket sends.
  package let kind: Kind

  /// See ``File/isStillOpen``.
  package var isStillOpen: Bool { file.isStillOpen }

  /// How long a call waits at most, in seconds: socket(7) SO_SNDTIMEO.
  private static let timeout = 1

  /// Connects: socket(2), connect(2); for a host, getaddrinfo(3) first, which may take as long as
  /// the system's resolver does.
  package static func connect(to address: Address) throws(SystemError) -> Socket {
    switch address {
    case .local(let path, let kind):
      return try withLocalAddress(path) { (address, size) throws(SystemError) in
        try connect(AF_UNIX, kind, address, size, path)
      }
    case .host(let host, let port, let kind): return try connect(host, port, kind)
    }
  }

  /// Sends one datagram, or all of the bytes: send(2).
  ///
  /// - Throws: EMSGSIZE for a datagram that is too large, EAGAIN where the other end takes nothing.
  ///   A part of a stream may have been sent before: close the socket then.
  package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var done = 0
    repeat {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      done += try retrying(.send, file.path, count: rest.count) { count in
        Glibc.send(file.descriptor, rest.baseAddress, count, CInt(MSG_NOSIGNAL))
      }
    } while kind == .stream && done < bytes.count
  }

  /// Sends bytes as a file in memory that nobody can change: memfd_create(2), sendmsg(2)
  /// SCM_RIGHTS. For a Unix domain socket.
  package func sendAsFile(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    let descriptor = try retrying(.memfdCreate, file.path) { mmlog_memory_file("mmlog") }
    let memory = File(adopting: descriptor, path: "a file in memory")
    try memory.writeFully(bytes, at: 0)
    _ = try retrying(.fcntl, file.path) { mmlog_seal(memory.descriptor) }
    _ = try retrying(.send, file.path) { mmlog_send_descriptor(file.descriptor, descriptor) }
  }

  private static func connect(
    _ family: CInt, _ kind: Kind, _ address: UnsafePointer<sockaddr>, _ size: socklen_t,
    _ name: String
  ) throws(SystemError) -> Socket {
    let type = kind == .stream ? SOCK_STREAM : SOCK_DGRAM
    let descriptor = try retrying(.socket, name) {
      mmlog_above_standard(socket(family, CInt(type.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0))
    }
    var file = File(adopting: descriptor, path: name)
    try file.noteIdentity()
    var time = timeval(tv_sec: timeout, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    _ = try once(.connect, name) { Glibc.connect(descriptor, address, size) }
    return Socket(file: file, kind: kind)
  }

  private static func connect(
    _ host: String, _ port: String, _ kind: Kind
  ) throws(SystemError) -> Socket {
    let name = "\(host):\(port)"
    var hints = addrinfo()
    hints.ai_socktype = CInt((kind == .stream ? SOCK_STREAM : SOCK_DGRAM).rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    _ = try once(.getaddrinfo, name) { () -> CInt in
      let code = getaddrinfo(host, port, &hints, &found)
      if code == 0 { return 0 }
      if code != EAI_SYSTEM { errno = EHOSTUNREACH }
      return -1
    }
    defer { freeaddrinfo(found) }
    var failure = SystemError(call: .getaddrinfo, errno: EHOSTUNREACH, path: name)
    var next = found
    while let entry = next?.pointee {
      next = entry.ai_next
      guard let address = entry.ai_addr else { continue }
      do throws(SystemError) {
        return try connect(entry.ai_family, kind, address, entry.ai_addrlen, name)
      } catch {
        failure = error
      }
    }
    throw failure
  }

  /// Gives the address of a Unix domain socket to `body`: unix(7).
  ///
  /// - Throws: ENAMETOOLONG for a path of more than 107 bytes.
  static func withLocalAddress<Result: ~Copyable>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try checkPath(path, .connect)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    guard bytes.count < MemoryLayout<sockaddr_un>.size - offset else {
      throw SystemError(call: .connect, errno: ENAMETOOLONG, path: path)
    }
    withUnsafeMutableBytes(of: &address) { $0[offset...].copyBytes(from: bytes) }
    // A name that is not in the file system begins with a zero byte.
    if bytes.first == UInt8(ascii: "@") {
      withUnsafeMutableBytes(of: &address) { $0[offset] = 0 }
    }
    let size = socklen_t(offset + bytes.count)
    return try withUnsafePointer(to: &address) { (pointer) throws(SystemError) in
      try body(UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), size)
    }
  }
}
