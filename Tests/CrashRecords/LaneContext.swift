package import MMLog

/// What a record has from its logger and its task, beside what its statement says.
package struct LaneContext: Sendable {
  /// A number, or the beginning of the record's text.
  package enum FieldValue: Equatable, Sendable {
    case number(Int)
    case text([UInt8])
  }

  /// The session fields of all stores of campaigns.
  package static let sessionFields: Logger.Metadata = ["campaign": ["lanes", 7]]

  package init() {}

  package typealias Field = (name: String, value: FieldValue)

  /// The fields of a bound logger, and of a task; nil: there is none.
  package var logger: [Field]?
  package var task: [Field]?
  /// If there are two traces, the logger's counts.
  fileprivate var loggersTrace: TraceContext?
  fileprivate var tasksTrace: TraceContext?
  /// Whether the record belongs to the span that its lane has begun last.
  package var hasSpan: Bool { logger != nil }

  package var trace: TraceContext? { loggersTrace ?? tasksTrace }

  /// All fields, in the order in which readers give them.
  package var fields: [Field] { (logger ?? []) + (task ?? []) }

  /// What is left of the context for others that log in the task.
  package var ofTask: LaneContext {
    var context = self
    (context.logger, context.loggersTrace) = (nil, nil)
    return context
  }

  /// Whether a field's name is one that only contexts have, and no statement.
  package static func isName(_ name: String) -> Bool {
    name == "sequence" || name.hasPrefix("task.") || Int(name.dropFirst()) != nil
  }

  /// Calls `body` in this context, with its logger, to log a record.
  package func use(_ log: Logger, span: Logger.Span? = nil, _ body: (Logger) -> Void) {
    let log = logger.map { log.with(Self.metadata($0), span: span, trace: loggersTrace) } ?? log
    guard let task else { return body(log) }
    withLogFields(Self.metadata(task), trace: tasksTrace) { body(log) }
  }

  private static func metadata(_ fields: [Field]) -> Logger.Metadata {
    var metadata = Logger.Metadata()
    for field in fields {
      switch field.value {
      case .number(let number): metadata.append(.int(Int64(number)), for: field.name)
      case .text(let text):
        metadata.append(.string(String(decoding: text, as: UTF8.self)), for: field.name)
      }
    }
    return metadata
  }
}

extension Lane {
  /// The context of a record, where threads use contexts: three in seven records have one.
  ///
  /// - Parameters:
  ///   - isOuter: Whether others are logged in the record: they would have its task's fields, too.
  ///   - edge: Whether the record begins or ends a span: the end has nothing of the logger that
  ///     began the span.
  package func context(
    of sequence: Int, isOuter: Bool = false, _ edge: SpanEdge? = nil
  ) -> LaneContext {
    var context = LaneContext()
    let (isOfLogger, isOfTask) = ([1, 5].contains(sequence % 7), [3, 5].contains(sequence % 7))
    // C has no bound loggers.
    let isBound = edge == .begins || isOuter || edge == nil && !isInC(sequence)
    if isOfLogger, isBound {
      context.logger = [
        // New names come now and then.
        ("k\(sequence / 100 % 50)", .number(number)), ("sequence", .number(sequence)),
      ]
      if isOfTask { context.loggersTrace = trace(sequence, 1) }
    }
    if isOfTask, !isOuter {
      context.task = [
        ("task.lane", .number(number)), ("task.sequence", .number(sequence)),
        ("task.text", .text(Array(text(of: sequence).prefix(100)))),
      ]
      context.tasksTrace = trace(sequence, 0)
    }
    return context
  }

  private func trace(_ sequence: Int, _ flags: UInt8) -> TraceContext? {
    let number = UInt64(number) << 40 | UInt64(sequence)
    let words = [number, mix(number), mix(number &+ UInt64(flags))].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return TraceContext(traceID: words[0] + words[1], spanID: words[2], flags: flags)
  }
}
