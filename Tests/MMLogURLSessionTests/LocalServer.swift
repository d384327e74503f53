import Glibc
import MMLogSystem
import TestSupport

/// An HTTP server on this machine, which answers by the path of a request, and then closes the
/// connection.
final class LocalServer: Sendable {
  let port: UInt16
  private let socket: CInt
  private let answer: @Sendable (_ path: String, _ body: String) -> String?

  /// - Parameter answer: What is sent, header and body; nil: nothing is.
  init(_ answer: @escaping @Sendable (_ path: String, _ body: String) -> String?) throws {
    self.answer = answer
    socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let socket = socket
    let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && listen(socket, 16) == 0
          && getsockname(socket, $0, &size) == 0
      }
    }
    guard isOpen else { throw Failure("no server: errno \(errno)") }
    port = UInt16(bigEndian: address.sin_port)
    try startThread()
  }

  deinit { close(socket) }

  private func startThread() throws {
    let (socket, answer) = (socket, answer)
    _ = try Thread(name: "server") {
      while true {
        let connection = accept(socket, nil, nil)
        if connection < 0 { return }
        Self.serve(connection, answer)
        close(connection)
      }
    }
  }

  /// Has the thread end.
  func stop() { shutdown(socket, CInt(SHUT_RDWR)) }

  private static func serve(
    _ connection: CInt, _ answer: @Sendable (String, String) -> String?
  ) {
    guard let (head, body) = read(connection) else { return }
    let path = head.split(separator: " ").dropFirst().first ?? ""
    guard let text = answer(String(path), body) else { return }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  private static func read(_ connection: CInt) -> (String, String)? {
    var bytes: [UInt8] = []
    while true {
      let text = String(decoding: bytes, as: UTF8.self)
      let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, parts[1].utf8.count >= length(String(parts[0])) {
        return (String(parts[0]), String(parts[1]))
      }
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = recv(connection, &buffer, buffer.count, 0)
      if count <= 0 { return nil }
      bytes += buffer[..<count]
    }
  }

  private static func length(_ head: String) -> Int {
    let lines = head.split(separator: "\r\n").map { $0.lowercased() }
    let line = lines.first { $0.hasPrefix("content-length:") }
    return line.flatMap { Int($0.dropFirst(15).filter { $0 != " " }) } ?? 0
  }
}
