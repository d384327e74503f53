import CMicroHTTPD
import CommandLineTool
import Glibc
import MMLogReceiving
import MMLogStorage
import MMLogSystem

/// The HTTP side: libmicrohttpd, with a thread for each connection.
///
/// Proof of `@unchecked Sendable`: `daemon` is touched by the thread that starts and stops the
/// server only, and the rest never changes.
final class Server: @unchecked Sendable {
  let archives: ReceivedArchives
  /// In seconds.
  let timeout: Int
  fileprivate let connections: Connections
  private let tokens: String?
  private var daemon: OpaquePointer?

  /// What a server is bounded by, and who may use it.
  struct Settings {
    var connections: Int
    var connectionsPerAddress: Int
    var timeout: Int
    /// The file of tokens; nil: everybody who can connect may send.
    var tokens: String?
    /// Certificate and key in PEM; nil: no TLS.
    var identity: (certificate: String, key: String)?
  }

  /// Starts to take requests.
  init(
    _ archives: ReceivedArchives, _ socket: borrowing ListeningSocket, _ settings: Settings
  ) throws(LogError) {
    (self.archives, tokens, timeout) = (archives, settings.tokens, settings.timeout)
    connections = Connections(timeout: settings.timeout)
    var raw = mmlog_http_settings()
    raw.socket = socket.descriptor
    raw.connections = UInt32(settings.connections)
    raw.connections_per_ip = UInt32(settings.connectionsPerAddress)
    raw.timeout = UInt32(settings.timeout)
    (raw.handle, raw.completed, raw.connection) = (handle, requestCompleted, connectionChanged)
    raw.context = Unmanaged.passUnretained(self).toOpaque()
    daemon = Self.start(&raw, settings.identity)
    if daemon == nil {
      let cause = settings.identity == nil ? "" : "; check --tls-certificate and --tls-key"
      throw LogError(.system, "The HTTP server cannot be started\(cause)")
    }
  }

  private static func start(
    _ settings: inout mmlog_http_settings, _ identity: (certificate: String, key: String)?
  ) -> OpaquePointer? {
    guard let identity else { return mmlog_http_start(&settings) }
    return identity.certificate.withCString { certificate in
      identity.key.withCString { key in
        (settings.certificate, settings.key) = (certificate, key)
        return mmlog_http_start(&settings)
      }
    }
  }

  /// Ends all connections, and waits for what is being stored.
  func stop() {
    if let daemon { MHD_stop_daemon(daemon) }
    daemon = nil
  }

  /// Ends connections that are too slow. To be called each second.
  func endSlowConnections() { connections.endSlow() }

  // MARK: - Clients

  /// Returns the client that sends a request. The tokens are read anew each time, so that a removed
  /// token no longer counts.
  func client(_ authorization: String?, of path: String) throws(Refusal) -> String {
    guard let tokens, path != "/health" else { return "anyone" }
    let known: Tokens
    do throws(LogError) { known = try Tokens.read(tokens) } catch {
      command.report("\(error)")
      throw Refusal(
        .serviceUnavailable, "The receiver cannot read its tokens. Its log says why.",
        retryAfter: 60)
    }
    guard let client = known.client(authorization) else {
      throw Refusal(
        .unauthorized, "The request has no token that is known. Send 'Authorization: Bearer TOKEN'."
      )
    }
    return client
  }

  // MARK: - Log

  func report(_ receipt: Receipt, _ client: String) {
    if receipt.outcome == .incomplete { return }
    let records = receipt.recordCount.map { ", \($0) records" } ?? ""
    command.report(
      "\(receipt.outcome.rawValue) \(receipt.path), \(receipt.size) bytes\(records), from \(client)"
    )
  }

  func report(_ refusal: Refusal, _ client: String) {
    let name = client.isEmpty ? "an unknown client" : client
    let place = refusal.path.map { " (\($0))" } ?? ""
    command.report(
      "refused a request of \(name): \(refusal.status.rawValue) \(refusal.sentence)\(place)")
  }
}

// MARK: - Callbacks

/// Called with the header of a request, a part of its body, or its end.
private func handle(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
  _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?, _ exchange: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let url, let method, let size, let exchange else {
    return .NO
  }
  let server = Unmanaged<Server>.fromOpaque(context).takeUnretainedValue()
  guard let known = exchange.pointee else {
    let new = Exchange(server, connection)
    exchange.pointee = Unmanaged.passRetained(new).toOpaque()
    // The receiver may have to read what is stored before it is the client's turn.
    server.enter(.answer, connection)
    let result = new.begin(
      method: String(cString: method), path: String(validatingCString: url))
    if !new.isAnswered { server.enter(.body, connection) }
    return result
  }
  let current = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
  if size.pointee == 0 {
    server.enter(.answer, connection)
    return current.finish()
  }
  server.count(size.pointee, of: connection)
  let result = current.take(UnsafeRawBufferPointer(start: data, count: size.pointee))
  size.pointee = 0
  return result
}

private func requestCompleted(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ exchange: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
  guard let context, let connection, let exchange, let known = exchange.pointee else { return }
  exchange.pointee = nil
  Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue().end()
  // The next request may come.
  Unmanaged<Server>.fromOpaque(context).takeUnretainedValue().enter(.header, connection)
}

private func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ own: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ code: MHD_ConnectionNotificationCode
) {
  guard let context, let connection, let own else { return }
  let connections = Unmanaged<Server>.fromOpaque(context).takeUnretainedValue().connections
  if code == .CONNECTION_NOTIFY_STARTED {
    let new = connections.add(mmlog_http_descriptor(connection))
    own.pointee = Unmanaged.passRetained(new).toOpaque()
  } else if let known = own.pointee {
    own.pointee = nil
    connections.remove(Unmanaged<Connection>.fromOpaque(known).takeRetainedValue())
  }
}

extension Server {
  fileprivate func enter(_ phase: Connection.Phase, _ connection: OpaquePointer) {
    if let own = own(connection) { connections.enter(phase, own) }
  }

  fileprivate func count(_ bytes: Int, of connection: OpaquePointer) {
    if let own = own(connection) { connections.count(bytes, of: own) }
  }

  private func own(_ connection: OpaquePointer) -> Connection? {
    mmlog_http_socket_context(connection).map {
      Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue()
    }
  }
}
