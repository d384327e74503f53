/// The service manager that has started the process, if it listens: sd_notify(3).
package enum ServiceManager {
  /// Says what the process is doing, such as `READY=1`. Does nothing if nobody has asked for it, or
  /// if the message cannot be sent.
  package static func notify(_ state: String) {
    guard let path = CurrentProcess.variable("NOTIFY_SOCKET"), !path.isEmpty else { return }
    guard let socket = try? Socket.connect(to: .local(path: path, .datagrams)) else { return }
    try? Array(state.utf8).span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
      try socket.send(bytes)
    }
  }
}
