#if Tracing
  import MMLog
  import MMLogFormat
  import Synchronization
  public import Tracing

  /// A span of an ``MMLogTracer``. Any thread.
  public final class MMLogSpan: Tracing.Span {
    private struct State {
      let firstName: String
      var name: String
      var attributes: SpanAttributes = [:]
      var status: SpanStatus?
      var links: [(trace: TraceContext, attributes: SpanAttributes)] = []
      var hasEnded = false
    }

    private let span: Logger.Span
    private let kind: SpanKind
    private let trace: TraceContext
    /// The logger that has recorded the beginning.
    private let outerLogger: Logger
    private let place: Logger.SourceLocation
    private let state: Mutex<State>
    /// The context of everything within the span.
    public let context: ServiceContext

    /// - Parameter isApart: Whether the task's span is not among the span's parents.
    init(
      _ name: String, _ span: Logger.Span, _ kind: SpanKind, _ trace: TraceContext,
      _ outer: ServiceContext, isApart: Bool, _ place: Logger.SourceLocation, _ logger: Logger
    ) {
      (self.span, self.kind, self.place, outerLogger) = (span, kind, place, logger)
      self.trace = TraceContext(
        words: trace.words, spanID: span.isRecorded ? span.number : trace.spanID,
        flags: trace.flags)
      var context = outer
      // A span that is off hands on the span above it.
      let known = span.isRecorded ? span : outer[SpanPlace.Key.self]?.span
      let number = span.isRecorded || isApart ? known?.number ?? 0 : nil
      context[SpanPlace.Key.self] = SpanPlace(
        span: known, trace: self.trace, log: LogContext.within(number, self.trace))
      self.context = context
      state = Mutex(State(firstName: name, name: name))
    }

    /// Made only when it is needed, since it allocates.
    private var logger: Logger { outerLogger.with(span: span, trace: trace) }

    /// The span's name. The record of the beginning keeps the first name; a later name is in the
    /// record of the end, as `span.name`. After the end, a name is recorded nowhere.
    public var operationName: String {
      get { state.withLock(\.name) }
      set { state.withLock { $0.name = newValue } }
    }

    /// The attributes, which go with the record of the end. After the end, they are recorded
    /// nowhere.
    public var attributes: SpanAttributes {
      get { state.withLock(\.attributes) }
      set { state.withLock { $0.attributes = newValue } }
    }

    /// Whether the span's beginning was recorded, and its end is still to come.
    public var isRecording: Bool { span.isRecorded && !state.withLock(\.hasEnded) }

    /// Sets the outcome of the span: the record of the end says that the span has failed, if the
    /// status is an error. A status without a message keeps the message of an earlier status with
    /// the same code: when its closure throws, `withSpan` sets a status without a message.
    public func setStatus(_ status: SpanStatus) {
      state.withLock { state in
        if status.message == nil && status.code == state.status?.code { return }
        state.status = status
      }
    }

    /// Records an event at once, with its attributes.
    public func addEvent(_ event: SpanEvent) {
      guard isRecording else { return }
      logger.log(
        level: span.level, text: event.name, metadata: Logger.Metadata(event.attributes), at: place)
    }

    /// Records an error at once, at the level `error`, with its attributes. The span fails by
    /// ``setStatus(_:)`` only, as in OpenTelemetry; `withSpan` calls both when its closure throws.
    public func recordError<Instant: TracerInstant>(
      _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
      guard isRecording else { return }
      var metadata = Logger.Metadata(attributes)
      // As in OpenTelemetry, an attribute of the caller's counts more.
      if attributes.get("exception.type") == nil {
        metadata.append(.string(String(reflecting: type(of: error))), for: "exception.type")
      }
      logger.log(level: .error, text: "\(error)", metadata: metadata, at: place)
    }

    /// Adds a link to another span: the record of the end has that span's `traceparent` among
    /// `links`, with the link's attributes if it has any. A link to a span that was not recorded is
    /// ignored, and so is a link that is added after the end.
    public func addLink(_ link: SpanLink) {
      guard let place = link.context[SpanPlace.Key.self], place.trace.spanID != 0 else { return }
      state.withLock { $0.links.append((place.trace, link.attributes)) }
    }

    /// Records the end, once, in the trace in which it has begun.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
      let ended: State? = state.withLock { state in
        defer { state.hasEnded = true }
        return state.hasEnded ? nil : state
      }
      guard let ended else { return }
      var metadata = Logger.Metadata(ended.attributes, kind)
      if ended.name != ended.firstName { metadata.append(.string(ended.name), for: "span.name") }
      if !ended.links.isEmpty {
        metadata.append(.array(ended.links.map { Logger.MetadataValue($0, $1) }), for: "links")
      }
      span.end(
        text: ended.status?.message ?? "", failed: ended.status?.code == .error,
        metadata: metadata, at: place, by: outerLogger)
    }
  }

  extension TraceContext {
    /// A trace that begins here, sampled.
    static func random() -> TraceContext {
      TraceContext(
        words: (UInt64.random(in: 1...(.max)), UInt64.random(in: 1...(.max))), spanID: 0, flags: 1)
    }
  }

  extension Logger.Metadata {
    /// Makes metadata of a span's kind, unless it is the usual one, and of attributes, sorted by
    /// name.
    init(_ attributes: SpanAttributes, _ kind: SpanKind = .internal) {
      self.init()
      if kind != .internal { append(.string("\(kind)"), for: "span.kind") }
      var all: [(String, SpanAttribute)] = []
      attributes.forEach { all.append(($0, $1)) }
      for (name, value) in all.sorted(by: { $0.0 < $1.0 }) {
        append(Logger.MetadataValue(value), for: name)
      }
    }
  }

  extension Logger.MetadataValue {
    /// Makes the value of a link.
    init(_ trace: TraceContext, _ attributes: SpanAttributes) {
      let text = Self.string(trace.description)
      self =
        attributes.isEmpty
        ? text
        : .dictionary([
          "traceparent": text, "attributes": .dictionary(Logger.Metadata(attributes)),
        ])
    }

    init(_ attribute: SpanAttribute) {
      switch attribute {
      case .int32(let value): self = .int(Int64(value))
      case .int64(let value): self = .int(value)
      case .int32Array(let values): self = .array(values.map { .int(Int64($0)) })
      case .int64Array(let values): self = .array(values.map { .int($0) })
      case .double(let value): self = .double(value)
      case .doubleArray(let values): self = .array(values.map { .double($0) })
      case .bool(let value): self = .bool(value)
      case .boolArray(let values): self = .array(values.map { .bool($0) })
      case .string(let value): self = .string(value)
      case .stringArray(let values): self = .array(values.map { .string($0) })
      case .stringConvertible(let value): self = .string(value.description)
      case .stringConvertibleArray(let values):
        self = .array(values.map { .string($0.description) })
      default: self = .null
      }
    }
  }
#endif
