import MMLogFormat
import MMLogSystem

extension LogReader {
  /// That a span begins or ends with a record.
  public struct Span: Equatable, Sendable {
    /// Whether it begins or ends.
    @nonexhaustive
    public enum Event: Equatable, Sendable {
      /// It begins, as a part of the span of that number, if it has one.
      case begin(parent: UInt64?)
      /// It ends. `start` is when it began, `duration` how long it took, and `failed` whether what
      /// it stands for failed.
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

    /// Its number, unlike all others; nil for one that began in another session of its process.
    public let number: UInt64?
    /// Whether it begins or ends.
    public let event: Event
    /// The message of its beginning with `{}` or `{name}` in place of arguments, such as
    /// `order {id}`, or the function where it begins if that message has no text of its own. The
    /// same for all spans of one statement. Nil where that is not known: where the span ends in
    /// another session, or the statement found no room in the dictionary.
    public let name: String?

    /// The number in 16 hexadecimal digits, as OpenTelemetry has it.
    public static func text(of number: UInt64) -> String { number.allHexDigits }
  }
}

extension LogReader.Record {
  /// The span that begins or ends here; nil for any other record.
  public var span: LogReader.Span? {
    guard let words = content.spanWords else { return nil }
    switch words.event {
    case .begin(let parent):
      // Where no parent is given, it is the span in whose context it begins.
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
  /// the one in whose context it was logged. Nil: it belongs to none.
  public var spanNumber: UInt64? { content.spanNumber }

  /// The trace in whose context it was logged; nil: in none.
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

  /// The name of the span that begins or ends here; nil if none does, or it is not known.
  var spanName: String? {
    switch spanWords?.event {
    case .begin: site.spanName
    case .end(_, let callSite, _, _): spanName(ofCallSite: callSite)
    case nil: nil
    }
  }

  /// How long the span took that ends here; nil if none does.
  func spanDuration(_ clock: TickClock) -> Duration? {
    guard case .end(let start, _, _, _)? = spanWords?.event else { return nil }
    return duration(since: clock.wall(at: start))
  }

  /// Bytes from a file: the beginning may be after the end.
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
    /// The session that it is of.
    public let session: SessionID
    /// Its number.
    public let number: UInt64
    /// What it is a part of, if it says so.
    public let parent: UInt64?
    /// When it began.
    public let time: Timestamp
    /// What it began with: the first 200 characters of the message.
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

  /// So many are kept; of others it is only known how many they are.
  var maximum = 100_000
  private var spans: [Key: Open] = [:]
  /// How many have begun.
  public private(set) var begun = 0
  /// How many have ended that were seen to begin.
  public private(set) var ended = 0

  /// None.
  public init() {}

  /// How many have begun and not ended that are not in ``list``.
  package var countNotKept: Int { max(0, count - spans.count) }

  /// How many have begun and not ended. Where more than 100,000 were open at once, an end whose
  /// beginning is not known counts as that of one of the others.
  public var count: Int { begun - ended }

  /// Those that have begun and not ended, the oldest first: the first 100,000 of them.
  public var list: [Open] {
    spans.values.sorted { ($0.time, $0.number) < ($1.time, $1.number) }
  }

  /// Takes in the next record of a session.
  ///
  /// - Returns: The span that ends with it, if it was seen to begin.
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
  /// The first 200 characters of Unicode: 800 bytes at most. What people see as one character may
  /// have any number of them.
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

  /// The same, of what was read as long as somebody wants it.
  ///
  /// - Parameter goesOn: Asked before each chunk, also of records that are no spans.
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
  /// Appends a time in the largest unit of which it has one, such as `1.234 ms`: cut, not rounded,
  /// to three digits behind the point.
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
