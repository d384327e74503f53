public import MMLogReader
import MMLogFormat
import MMLogSystem

/// Sends records to syslog, as RFC 5424 has them.
///
/// ```swift
/// import MMLog
/// import MMLogTaps
///
/// var configuration = LogStore.Configuration()
/// configuration.taps = [LogTap(Syslog(to: .udp(host: "logs.example.com")), from: .notice)]
/// ```
///
/// The application's name is the store's, the message's id is the label, and fields are structured
/// data. In the message, characters that could move a terminal's cursor or end the line are
/// escaped. In fields, control characters become spaces.
///
/// If a datagram is too large, its message is cut, to 8 KiB and then to 1 KiB. In a stream, a
/// message is cut to 60 KiB: for a larger one, receivers end the connection, or take its rest for
/// further messages. Structured data that has no room is left out. If a stream breaks, it is
/// connected anew, and a message that could not be sent whole is sent again. What the other end had
/// not read is lost: syslog's protocol does not let a sender see that.
public struct Syslog: LogTap.Output {
  /// Where messages go.
  public enum Address: Sendable {
    /// A Unix domain socket for datagrams. The receiver must read RFC 5424: rsyslog's `imuxsock`
    /// does so with `useSpecialParser="off" parseHostname="on"`, and syslog-ng's `unix-dgram` with
    /// `flags(syslog-protocol)`. Otherwise they take the header for a part of the message. So does
    /// systemd's journal: use ``Journal`` for that.
    case local(path: String = "/dev/log")
    /// A Unix domain socket for a stream, in which a line end ends each message. The receiver needs
    /// the same settings.
    case localStream(path: String)
    /// Datagrams: RFC 5426.
    case udp(host: String, port: Int = 514)
    /// A connection, with each message's length before it: RFC 6587, 3.4.1.
    case tcp(host: String, port: Int = 601)
  }

  /// Codes of facilities: RFC 5424, 6.2.1.
  public enum Facility: Int, Sendable {
    /// User-level messages.
    case user = 1
    /// System daemons.
    case daemon = 3
    /// Security and authorization messages that are private.
    case authorization = 10
    /// For local use.
    case local0 = 16
    /// For local use.
    case local1, local2, local3, local4, local5, local6, local7
  }

  private let framing: SyslogMessage.Framing
  private let facility: Facility
  private let enterprise: Int
  private let connection: Connection
  /// Who sends, once it is known.
  private var sender = (host: "-", application: "-", process: "-")

  /// Makes an output to a receiver.
  ///
  /// - Parameters:
  ///   - address: The receiver.
  ///   - facility: What kind of program sends.
  ///   - enterprise: The private enterprise number in the name of the structured data, which is
  ///     `fields@` and the number: yours, if you have one. Default: that of RFC 5612, for examples.
  public init(
    to address: Address = .local(), facility: Facility = .user, enterprise: Int = 32473
  ) {
    (self.facility, self.enterprise) = (facility, enterprise)
    switch address {
    case .local(let path):
      connection = Connection(.local(path: path, .datagrams))
      framing = .datagram
    case .localStream(let path):
      connection = Connection(.local(path: path, .stream))
      framing = .lineEnd
    case .udp(let host, let port):
      connection = Connection(.host(host, port: "\(port)", .datagrams))
      framing = .datagram
    case .tcp(let host, let port):
      connection = Connection(.host(host, port: "\(port)", .stream))
      framing = .length
    }
  }

  /// Sends the first record: send(2).
  ///
  /// - Throws: The system's error of connecting or sending. A part of the message may have gone
  ///   into a stream; the next try begins a new connection.
  public mutating func write(_ records: ArraySlice<LogReader.Record>) throws -> Int {
    guard let record = records.first else { return 0 }
    let identity = record.session.identity
    sender = (identity.hostName, identity.storeName, "\(identity.processID)")
    var text = TextBuffer()
    TextFormatter.appendMessage(record, to: &text)
    var message = message(record.level, record.time, id: record.label)
    message.body = text.withUnsafeBytes { Array($0) }
    message.data = SyslogMessage.structuredData(of: record, enterprise)
    try send(message)
    return 1
  }

  /// Sends a message that says how many records are missing.
  ///
  /// - Throws: As for records.
  public mutating func write(missing count: UInt64) throws {
    var message = message(.warning, .now, id: "")
    message.body = Array(LogTap.notice(ofMissing: count).utf8)
    try send(message)
  }

  private func message(_ level: Level, _ time: Timestamp, id: String) -> SyslogMessage {
    SyslogMessage(
      priority: facility.rawValue * 8 + level.syslogSeverity, time: time, sender: sender, id: id)
  }

  /// To how many bytes messages are cut. Of a datagram, the system says that it is too large. Of a
  /// stream nobody says so, and what comes behind a message that the other end does not take is
  /// lost: syslog-ng takes 64 KiB, and rsyslog 200,000 bytes.
  private var limits: [Int] { framing == .datagram ? [.max, 8 << 10, 1 << 10] : [60 << 10] }

  private func send(_ message: SyslogMessage) throws(SystemError) {
    try connection.send { (socket) throws(SystemError) in
      for limit in limits {
        do throws(SystemError) {
          return try message.bytes(framing, limit).span.bytes.withUnsafeBytes {
            (bytes) throws(SystemError) in try socket.send(bytes)
          }
        } catch let error where error.isMessageTooLong && limit > 1 << 10 {}
      }
    }
  }
}

/// A message as RFC 5424 has it.
struct SyslogMessage {
  /// How a message's end is found.
  enum Framing {
    case datagram, lineEnd, length
  }

  let priority: Int
  let time: Timestamp
  let sender: (host: String, application: String, process: String)
  /// MSGID.
  let id: String
  /// Structured data; empty: none.
  var data: [UInt8] = []
  var body: [UInt8] = []

  init(
    priority: Int, time: Timestamp,
    sender: (host: String, application: String, process: String), id: String
  ) {
    (self.priority, self.time, self.sender, self.id) = (priority, time, sender, id)
  }

  /// - Parameter limit: How many bytes the message and the structured data may have together.
  ///   Structured data that is longer is left out, and the message is cut.
  func bytes(_ framing: Framing, _ limit: Int) -> [UInt8] {
    let data = data.count > limit ? [] : data
    var bytes = Array("<\(priority)>1 ".utf8)
    bytes += timeText.utf8
    for (text, longest) in [
      (sender.host, 255), (sender.application, 48), (sender.process, 128), (id, 32),
    ] {
      bytes.append(UInt8(ascii: " "))
      bytes += Self.printable(text, longest)
    }
    bytes.append(UInt8(ascii: " "))
    bytes += data.isEmpty ? [UInt8(ascii: "-")] : data
    if !body.isEmpty { bytes.append(UInt8(ascii: " ")) }
    // Cut where a character ends.
    let room = limit - data.count
    bytes += body.prefix(body.withUnsafeBytes { $0.countOfWholeCharacters(within: room) })
    switch framing {
    case .datagram: return bytes
    case .lineEnd: return bytes + [UInt8(ascii: "\n")]
    case .length: return Array("\(bytes.count) ".utf8) + bytes
    }
  }

  /// The time with six digits of the second, as many as RFC 5424 allows, out of nine.
  private var timeText: String { UTCTime(time).description.dropLast(4) + "Z" }

  /// PRINTUSASCII: other bytes become `_`; `-` stands for an empty text.
  static func printable(
    _ text: String, _ longest: Int, except others: StaticString = ""
  ) -> [UInt8] {
    let excluded = Array("\(others)".utf8)
    let bytes = text.utf8.prefix(longest).map { byte in
      (33...126).contains(byte) && !excluded.contains(byte) ? byte : UInt8(ascii: "_")
    }
    return bytes.isEmpty ? [UInt8(ascii: "-")] : bytes
  }

  /// `[fields@32473 name="value"]`; empty without fields.
  static func structuredData(of record: LogReader.Record, _ enterprise: Int) -> [UInt8] {
    var data: [UInt8] = []
    record.forEachFieldText { name, value in
      if data.isEmpty { data += "[fields@\(enterprise)".utf8 }
      data.append(UInt8(ascii: " "))
      data += printable(name, 32, except: "=]\"")
      data += "=\"".utf8
      for scalar in String(decoding: value, as: UTF8.self).unicodeScalars {
        switch scalar {
        case "\"", "\\", "]": data += [UInt8(ascii: "\\"), UInt8(ascii: scalar)]
        // RFC 5424 allows control characters, but receivers may take one for the message's end.
        case _ where scalar.properties.generalCategory == .control: data.append(UInt8(ascii: " "))
        default: data += String(scalar).utf8
        }
      }
      data.append(UInt8(ascii: "\""))
    }
    if !data.isEmpty { data.append(UInt8(ascii: "]")) }
    return data
  }
}
