import MMLogFormat
import MMLogSystem

extension LogReader {
  /// The span that begins or ends with a record.
  public struct Span: Equatable, Sendable {
    /// Whether the span begins or ends.
    @nonexhaustive
    public enum Event: Equatable, Sendable {
      /// The span begins. `parent` is the number of the span that it is a part of, if there is one.
      case begin(parent: UInt64?)
      /// The span ends. `start` is when it began, `duration` how long it took, and `failed` whether
      /// the operation failed.
      case end(start: Timestamp, duration: Duration, failed: Bool)

      /// `begin` or `end`.
      var name: StaticString {
        switch self {
        case .begin: "begin"
        case .end: "end"
        }
      }

      var parent: UInt64? { if case .begin(let parent) = self { parent } else { nil } }
      var start: Timestamp? { if case .end(let start, _, _) = self { start } else { nil } }
      var duration: Duration? { if case .end(_, let duration, _) = self { duration } else { nil } }
      var failed: Bool? { if case .end(_, _, let failed) = self { failed } else { nil } }
    }

    /// The span's number, which no other span has; nil if the span began in another session of its
    /// process.
    public let number: UInt64?
    /// Whether the span begins or ends.
    public let event: Event
    /// The message of the span's beginning with `{}` or `{name}` in place of arguments, such as
    /// `order {id}`. If that message has no text of its own, the function where the span begins.
    /// All spans of one statement have the same name, unless the end has another one as the text
    /// field `span.name`, as that of a tracer's renamed span has. Nil if the name is not known: the
    /// span ends in another session, or the statement found no room in the dictionary.
    public let name: String?

    /// The number in 16 hexadecimal digits, as in OpenTelemetry.
    public static func text(of number: UInt64) -> String { number.allHexDigits }
  }
}

extension LogReader.Record {
  /// The span that begins or ends here; nil for any other record.
  public var span: LogReader.Span? {
    guard let words = content.spanWords else { return nil }
    switch words.event {
    case .begin(let parent):
      // If no parent is given, it is the span in whose context this span begins.
      let parent = parent.nonzero ?? content.context?.span.nonzero
      return LogReader.Span(
        number: words.number.nonzero, event: .begin(parent: parent), name: content.spanName)
    case .end(let start, _, let failed, _):
      return LogReader.Span(
        number: words.number.nonzero, event: end(since: start, failed: failed),
        name: content.spanName)
    }
  }

  /// The number of the span that the record belongs to: the one that begins or ends here, or else
  /// the one in whose context the record was logged. Nil if there is none.
  public var spanNumber: UInt64? { content.spanNumber }

  /// The trace in whose context the record was logged; nil if there is none.
  public var trace: TraceContext? { content.context?.trace }

  private func end(since ticks: UInt64, failed: Bool) -> LogReader.Span.Event {
    let start = owner.clock.wall(at: ticks)
    return .end(start: start, duration: content.duration(since: start), failed: failed)
  }
}

extension RecordContent {
  /// The number of the span that begins or ends here, or else of the context.
  var spanNumber: UInt64? {
    guard let words = spanWords else { return context?.span.nonzero }
    return words.number.nonzero
  }

  /// The name of the span that begins or ends here; nil if there is none, or its name is not known.
  var spanName: String? {
    switch spanWords?.event {
    case .begin: site.spanName
    case .end(_, let callSite, _, _): newSpanName ?? spanName(ofCallSite: callSite)
    case nil: nil
    }
  }

  /// The name that a span's end gives it: a tracer's span may be renamed while it is open.
  package var newSpanName: String? {
    guard hasFields, case .end? = spanWords?.event else { return nil }
    var name: String?
    forEachField(.raw) { (field, value, reader) throws(FormatError) in
      if case .string(let bytes) = value, field.string == Self.newSpanNameField {
        name = String(decoding: bytes, as: UTF8.self)
      }
      try reader.skipElements(of: value)
    }
    return name
  }

  static let newSpanNameField = "span.name"

  /// The duration of the span that ends here; nil if there is none.
  func spanDuration(_ clock: TickClock) -> Duration? {
    guard case .end(let start, _, _, _)? = spanWords?.event else { return nil }
    return duration(since: clock.wall(at: start))
  }

  /// The bytes are from a file: the beginning may be after the end.
  fileprivate func duration(since start: Timestamp) -> Duration { max(.zero, time - start) }
}

extension UInt64 {
  /// Nil for 0, which stands for none.
  fileprivate var nonzero: UInt64? { self == 0 ? nil : self }
}

/// Spans that have begun and not ended.
public struct OpenSpans: Sendable {
  /// A span that has begun.
  public struct Open: Sendable {
    /// The session of the span.
    public let session: SessionID
    /// The span's number.
    public let number: UInt64
    /// The number of the span that it is a part of, if it says so.
    public let parent: UInt64?
    /// When the span began.
    public let time: Timestamp
    /// The first 200 characters of the message that the span began with.
    public let message: String
    /// The logger's label: its first 200 characters.
    public let label: String
    /// The thread that began it, by its name or number.
    public let thread: String
  }

  private struct Key: Hashable {
    let session: SessionID
    let number: UInt64
  }

  /// The maximum number of spans that are kept. Other spans are only counted.
  var maximum = 100_000
  private var spans: [Key: Open] = [:]
  /// How many spans have begun.
  public private(set) var begun = 0
  /// How many spans have ended whose beginning was seen.
  public private(set) var ended = 0

  /// Makes a list without spans.
  public init() {}

  /// How many open spans are not in ``list``.
  package var countNotKept: Int { max(0, count - spans.count) }

  /// How many spans have begun and not ended. If more than 100,000 spans were open at once, an end
  /// whose beginning is not known counts as the end of one that is not kept.
  public var count: Int { begun - ended }

  /// The spans that have begun and not ended, the oldest first: 100,000 of them at most.
  public var list: [Open] {
    spans.values.sorted { ($0.time, $0.number) < ($1.time, $1.number) }
  }

  /// Adds the next record of a session.
  ///
  /// - Returns: The span that ends with the record, if its beginning was seen.
  @discardableResult
  public mutating func add(_ record: LogReader.Record) -> Open? {
    guard let span = record.span, let number = span.number else { return nil }
    let key = Key(session: record.session.id, number: number)
    switch span.event {
    case .end:
      let open = spans.removeValue(forKey: key)
      if open != nil || spans.count < count { ended += 1 }
      return open
    case .begin(let parent):
      begun += 1
      guard spans.count < maximum else { return nil }
      let thread = record.thread
      let new = Open(
        session: key.session, number: number, parent: parent, time: record.time,
        message: record.message.first200, label: record.label.first200,
        thread: thread.name.isEmpty ? "\(thread.id)" : thread.name)
      spans[key] = new
      return nil
    }
  }
}

extension String {
  /// The first 200 Unicode scalars: 800 bytes at most. What people see as one character may have
  /// any number of scalars.
  package var first200: String {
    utf8.count <= 200 ? self : String(unicodeScalars.prefix(200))
  }
}

extension LogFiles {
  /// The spans of a session that have begun and not ended.
  ///
  /// - Complexity: As reading all records of the session.
  public func openSpans(of session: SessionID) -> OpenSpans {
    openSpans(of: session, while: { true })
  }

  /// As ``openSpans(of:)``, for the records that are read until `goesOn` returns false.
  ///
  /// - Parameter goesOn: Is called before each chunk, even if its records are no spans.
  package func openSpans(of session: SessionID, while goesOn: () -> Bool) -> OpenSpans {
    var filter = LogReader.Filter()
    filter.spansOnly = true
    var spans = OpenSpans()
    // A reader of all sessions would open each of them anew.
    let own = sessions.filter { $0.identity.session == session }
    let reader = LogReader(LogFiles(sessions: own, identities), filter: filter)
    while goesOn(), let chunk = reader.nextChunk() {
      chunk.records?.forEach { spans.add($0) }
    }
    return spans
  }
}

extension TextBuffer {
  /// Appends a duration in the largest unit of which it has at least one, such as `1.234 ms`. It is
  /// cut, not rounded, to three digits behind the point.
  ///
  /// - Parameter duration: Not negative.
  package mutating func append(duration: Duration) {
    let units: [(size: UInt64, name: StaticString)] = [
      (1_000_000_000, " s"), (1_000_000, " ms"), (1000, " µs"),
    ]
    let nanoseconds = duration.nanoseconds.magnitude
    guard let unit = units.first(where: { nanoseconds >= $0.size }) else {
      append(decimal: nanoseconds)
      return append(" ns")
    }
    append(decimal: nanoseconds / unit.size)
    append(UInt8(ascii: "."))
    append(decimal: nanoseconds % unit.size / (unit.size / 1000), minimum: 3)
    append(unit.name)
  }
}
