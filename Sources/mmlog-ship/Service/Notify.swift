import Glibc
import MMLogSystem

/// Messages to systemd: sd_notify(3), a datagram to the socket that `NOTIFY_SOCKET` names.
enum Notify {
  /// Sends states, such as `READY=1`. Does nothing where nobody wants to know.
  static func send(_ states: String) {
    guard let path = CurrentProcess.variable("NOTIFY_SOCKET"), path.utf8.count > 1 else { return }
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    // A name of Linux's own, not of a file.
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    _ = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        Array(states.utf8).withUnsafeBytes { text in
          sendto(
            descriptor, text.baseAddress, text.count, CInt(MSG_NOSIGNAL), address, size)
        }
      }
    }
  }
}
