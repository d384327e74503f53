import Glibc
import MMLogSystem

/// A client's connection, and what is needed to end it if the client is too slow.
///
/// Proof of `@unchecked Sendable`: all that changes is touched under the lock of ``Connections``
/// only.
final class Connection: @unchecked Sendable {
  enum Phase {
    /// The client has to send the header of a request.
    case header
    /// The client has to send the body of a request.
    case body
    /// The receiver works, or answers.
    case answer
  }

  fileprivate let descriptor: CInt
  fileprivate var phase = Phase.header
  /// When the phase began, or when the time began in which a part of the body has to come.
  fileprivate var since = Clock.monotonic()
  /// How many bytes of the body have come since then.
  fileprivate var received = 0

  fileprivate init(_ descriptor: CInt) { self.descriptor = descriptor }
}

/// All connections. Ends connections of clients that are too slow: with one byte now and then, a
/// client prevents libmicrohttpd's own timeout.
final class Connections: Sendable {
  private let open = LockedValue<[CInt: Connection]>([:])
  /// In nanoseconds.
  private let timeout: UInt64
  /// How many bytes of a body have to come within the timeout.
  private let minimum: Int

  /// - Parameter timeout: The time for the header of a request, in seconds. Within each such time,
  ///   a KiB of a body has to come for each of these seconds.
  init(timeout: Int) {
    (self.timeout, minimum) = (UInt64(timeout) * 1_000_000_000, timeout << 10)
  }

  func add(_ descriptor: CInt) -> Connection {
    open.withLock { open in
      let connection = Connection(descriptor)
      open[descriptor] = connection
      return connection
    }
  }

  /// To be called before the descriptor is closed.
  func remove(_ connection: Connection) {
    open.withLock { $0[connection.descriptor] = nil }
  }

  func enter(_ phase: Connection.Phase, _ connection: Connection) {
    open.withLock { _ in
      (connection.phase, connection.since, connection.received) = (phase, Clock.monotonic(), 0)
    }
  }

  func count(_ bytes: Int, of connection: Connection) {
    open.withLock { _ in connection.received += bytes }
  }

  /// Ends connections of clients that are too slow. To be called each second.
  func endSlow() {
    open.withLock { open in
      // This reads the time under the lock: connections may have begun while this waited for it.
      let now = Clock.monotonic()
      for connection in open.values where now &- connection.since > timeout {
        switch connection.phase {
        case .answer: continue
        case .body where connection.received >= minimum:
          (connection.since, connection.received) = (now, 0)
        case .header, .body: shutdown(connection.descriptor, CInt(SHUT_RDWR))
        }
      }
    }
  }
}
