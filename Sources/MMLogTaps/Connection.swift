import MMLogSystem

/// A connection that is made when something is sent. It is made anew after an error, or if the
/// program has closed its descriptor.
final class Connection {
  private let address: Socket.Address
  private var socket: Socket?

  init(_ address: Socket.Address) { self.address = address }

  /// Sends with `body`. If an existing connection has broken, sends once more on a new one: the
  /// listener may have been started anew.
  func send(_ body: (borrowing Socket) throws(SystemError) -> Void) throws(SystemError) {
    if socket?.isStillOpen == false { socket = nil }
    if socket != nil {
      do throws(SystemError) {
        return try attempt(body)
      } catch let error where error.isConnectionBroken && !isUnanswered {}
    }
    try attempt(body)
  }

  /// Whether only the kernel of a host where nobody listens answers, and its answer is about the
  /// previous datagram: a new connection would not know of that.
  private var isUnanswered: Bool {
    if case .host(_, _, .datagrams) = address { true } else { false }
  }

  private func attempt(
    _ body: (borrowing Socket) throws(SystemError) -> Void
  ) throws(SystemError) {
    if socket == nil { socket = try Socket.connect(to: address) }
    guard let open = socket.take() else { return }
    do throws(SystemError) {
      try body(open)
      socket = consume open
    } catch {
      if error.isMessageTooLong { socket = consume open }
      throw error
    }
  }
}
