import CCalls
package import MMLog
import MMLogC

extension Lane {
  /// Logs a record: by statements of several kinds, whose messages read the same.
  package func log(_ sequence: Int, to log: Logger) {
    let text = text(of: sequence)
    switch sequence % 4 {
    case 0 where isInC(sequence):
      ccalls_log_lane(log.inC, number, sequence, text.baseAddress, CInt(text.count))
    case 0: log.info("\(number) \(sequence) \(text)")
    case 1:
      let string = String(decoding: text, as: UTF8.self)
      log.warning("\(number, name: "lane") \(UInt32(sequence)) \(string)")
    case 2:
      let string = String(decoding: text, as: UTF8.self)
      log.debug(
        "\(number) \(sequence) \(string)", metadata: ["text": .string(string), "odd": false])
    default:
      let message: LogMessage = "\(number) \(sequence) \(text)"
      log.error(message)
    }
  }

  /// Logs a record in its context.
  package func logInContext(_ sequence: Int, to log: Logger) {
    context(of: sequence).use(log) { self.log(sequence, to: $0) }
  }

  /// Whether the statement of a record is in C, where a text ends at its first zero byte.
  func isInC(_ sequence: Int) -> Bool { sequence % 8 == 4 && !text(of: sequence).contains(0) }

  /// Logs a record that begins or ends a span. Both are at the level `error`.
  package func log(_ edge: SpanEdge, _ sequence: Int, _ span: inout Logger.Span?, to log: Logger) {
    let text = text(of: sequence)
    switch edge {
    case .begins: span = log.begin("\(number) \(sequence) \(text)", level: .error)
    case .ends: span?.end("\(number) \(sequence) \(text)", failed: fails(sequence))
    }
  }
}
