import Glibc

/// The service manager that has started the process, if it listens: sd_notify(3).
package enum ServiceManager {
  /// Says what the process is doing, such as `READY=1`. Does nothing where nobody has asked for it,
  /// or the message cannot be sent.
  package static func notify(_ state: String) {
    guard let path = CurrentProcess.variable("NOTIFY_SOCKET"), !path.isEmpty else { return }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    guard bytes.count < MemoryLayout<sockaddr_un>.size - offset else { return }
    withUnsafeMutableBytes(of: &address) { $0[offset...].copyBytes(from: bytes) }
    // A name that is not in the file system begins with a zero byte.
    if bytes[0] == UInt8(ascii: "@") {
      withUnsafeMutableBytes(of: &address) { $0[offset] = 0 }
    }
    let descriptor = socket(
      AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { _ = close(descriptor) }
    let size = socklen_t(offset + bytes.count)
    withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = sendto(
          descriptor, state, state.utf8.count, CInt(MSG_NOSIGNAL), address, size)
      }
    }
  }
}
