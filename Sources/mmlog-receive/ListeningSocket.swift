import Glibc
import MMLogStorage
import MMLogSystem

/// Where the receiver listens: `127.0.0.1:7514`, `[::1]:7514` or `unix:/run/mmlog-receive.sock`.
enum ListeningAddress: Equatable {
  case unix(String)
  case internet(host: String, port: UInt16)

  init?(_ text: String) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst("unix:".count))
      if path.isEmpty || path.utf8.count > 100 || path.utf8.contains(0) { return nil }
      self = .unix(path)
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    if host.isEmpty { return nil }
    self = .internet(host: String(host), port: port)
  }
}

/// A socket that takes connections.
struct ListeningSocket: ~Copyable {
  /// Open until the server that it is given to is stopped.
  let descriptor: CInt
  /// The host and the port as a URL has them, or `unix:` and a path.
  let name: String
  /// Whether only processes of this machine can connect.
  let isLocal: Bool
  private let path: String?

  init(_ address: ListeningAddress) throws(LogError) {
    switch address {
    case .unix(let path): try self.init(unix: path)
    case .internet(let host, let port): try self.init(host: host, port: port)
    }
  }

  /// Removes the name of a Unix socket, so that no client waits there.
  func remove() {
    if let path { unlink(path) }
  }

  private static let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
  private static let backlog: CInt = 128

  private init(unix path: String) throws(LogError) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let descriptor = try check(socket(AF_UNIX, Self.type, 0), path)
    // An earlier process may have left the name of a socket where nobody takes connections. A file
    // that is no socket gives the same error: such a file stays.
    let isLeft =
      address.with { connect(descriptor, $0, size) } != 0 && errno == ECONNREFUSED
    if isLeft, Self.isSocket(path) { unlink(path) }
    let listening = try check(socket(AF_UNIX, Self.type, 0), path)
    _ = close(descriptor)
    try check(address.with { bind(listening, $0, size) }, path)
    // The mode is set before the socket takes connections: until then, nobody can use it.
    try check(chmod(path, 0o660), path)
    try check(listen(listening, Self.backlog), path)
    (self.descriptor, self.path, name, isLocal) = (listening, path, "unix:\(path)", true)
  }

  private static func isSocket(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }

  private init(host: String, port: UInt16) throws(LogError) {
    let place = "\(host):\(port)"
    var hints = addrinfo()
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_PASSIVE
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, "\(port)", &hints, &list)
    guard code == 0, let found = list?.pointee, let address = found.ai_addr else {
      let why =
        code == EAI_SYSTEM ? SystemError.text(of: errno) : String(cString: gai_strerror(code))
      throw LogError(
        .system, "Listening failed: no address is known for '\(host)': \(why); check --listen")
    }
    defer { freeaddrinfo(list) }
    let listening = try check(socket(found.ai_family, Self.type, 0), place)
    var yes: CInt = 1
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    try check(bind(listening, address, found.ai_addrlen), place)
    try check(listen(listening, Self.backlog), place)
    let shown = host.contains(":") ? "[\(host)]" : host
    (descriptor, path, name, isLocal) = (
      listening, nil, "\(shown):\(Self.port(of: listening) ?? port)", Self.isLoopback(address)
    )
  }

  private static func isLoopback(_ address: UnsafeMutablePointer<sockaddr>) -> Bool {
    let family = CInt(address.pointee.sa_family)
    let raw = UnsafeRawPointer(address)
    if family == AF_INET {
      let host = raw.load(as: sockaddr_in.self).sin_addr.s_addr
      return UInt32(bigEndian: host) >> 24 == 127
    }
    guard family == AF_INET6 else { return false }
    let address = raw.load(as: sockaddr_in6.self).sin6_addr
    return withUnsafeBytes(of: address) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
  }

  /// The port that the system has chosen, or that was asked for.
  private static func port(of descriptor: CInt) -> UInt16? {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let status = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &size)
      }
    }
    // The port is at the same place in both families.
    return status == 0 ? UInt16(bigEndian: address.sin6_port) : nil
  }
}

@discardableResult
private func check(_ result: CInt, _ place: String) throws(LogError) -> CInt {
  let code = errno
  if result >= 0 { return result }
  let advice =
    switch code {
    case EADDRINUSE: "; another program listens there: end it, or choose another --listen"
    case EADDRNOTAVAIL: "; this machine does not have the address: choose another --listen"
    case EACCES: "; this user may not listen there: choose another --listen"
    default: ""
    }
  throw LogError(
    .system, "Listening failed: \(place): \(SystemError.text(of: code))\(advice)")
}

extension sockaddr_un {
  /// Runs `body` with the address as system calls take it.
  fileprivate func with<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
    withUnsafePointer(to: self) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
  }
}
