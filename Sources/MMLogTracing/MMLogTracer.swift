#if Tracing
  public import MMLog
  import MMLogFormat
  public import Tracing

  /// A tracer for swift-distributed-tracing whose spans are recorded into a ``/MMLog/LogStore``.
  ///
  /// ```swift
  /// import MMLog
  /// import MMLogTracing
  /// import Tracing
  ///
  /// let store = try LogStore(directory: "logs", name: "orders")
  /// InstrumentationSystem.bootstrap(MMLogTracer(store: store))
  /// ```
  ///
  /// From then on, `withSpan("match") { span in … }` records the beginning and the end of a span,
  /// with its attributes, its status and its duration. All that is logged in it, by any logger and
  /// by the handler for swift-log, belongs to the span and to its W3C trace, also in tasks that the
  /// closure makes. Clients and servers that know swift-distributed-tracing hand the trace on in
  /// the header `traceparent`. `mmlog-decode sessions` lists the spans that were in flight when the
  /// process died.
  ///
  /// - A span's name should be one of a few, such as `GET /orders/{id}`: each name is entered into
  ///   the ring's dictionary once.
  /// - A span begins and ends at the times of its records, whatever instants are given.
  /// - Attributes, links and status of a span are in memory until its end is recorded, and are lost
  ///   if the process dies before. Events and errors given to `addEvent` and `recordError` are
  ///   recorded at once, and survive.
  /// - A span that is given a context (`context:`) is a part of that context's span, and never of
  ///   the span that a tracer has begun in the task. It may be a part of the task's own
  ///   ``/MMLog/Logger/Span``.
  /// - While a context from elsewhere is bound (`ServiceContext.withValue`), records have its span
  ///   and its trace, and the fields of the task (`withLogFields`).
  /// - A span whose level is not recorded hands on the span above it, or its caller's span. Without
  ///   such a span, its trace goes on in the process, and no header is sent.
  /// - `activeSpan(identifiedBy:)` finds no span: no table of open ones is kept.
  /// - From the first tracer on in a process, each log call looks for the context of its task.
  public struct MMLogTracer: Tracer {
    private let logger: Logger
    private let level: Logger.Level

    /// Makes a tracer.
    ///
    /// - Parameters:
    ///   - store: Where spans are recorded.
    ///   - label: The label of their records. Default: `tracing`.
    ///   - level: The level of the spans' beginnings and ends. Default: `info`.
    public init(store: LogStore, label: String = "tracing", level: Logger.Level = .info) {
      logger = store.logger(label: label)
      self.level = level
      LogContext.add(LogContext.Keeper { ServiceContext.current?[SpanPlace.Key.self]?.log })
    }

    /// Begins a span; see swift-distributed-tracing. Without a parent, the span begins a trace.
    public func startSpan<Instant: TracerInstant>(
      _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
      at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> MMLogSpan {
      let context = context()
      let outer = context[SpanPlace.Key.self]
      let trace = outer?.trace ?? TraceContext.random()
      // If another context was given, the task's span is not among the parents.
      let current = ServiceContext.current?[SpanPlace.Key.self]
      let isApart = outer?.span?.number != current?.span?.number
      let place = Logger.SourceLocation(
        file: fileID, function: function, line: UInt32(clamping: line))
      let logger = isApart ? logger.withoutSpan(in: trace) : logger.with(trace: trace)
      // Within the task's context, that says of which span the new one is a part: mmlog's own spans
      // are there, too.
      let span = logger.begin(
        name: operationName, in: isApart ? outer?.span : nil, level: level,
        metadata: Logger.Metadata([:], kind), at: place)
      return MMLogSpan(operationName, span, kind, trace, context, isApart: isApart, place, logger)
    }

    /// Does nothing: what is recorded is in the ring already.
    @available(*, deprecated)
    public func forceFlush() {}

    /// Takes the trace of a request's header `traceparent` (W3C Trace Context), if it is valid. The
    /// header `tracestate` is dropped, as the standard allows.
    public func extract<Carrier, Extract: Extractor>(
      _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
      guard let header = extractor.extract(key: "traceparent", from: carrier),
        let trace = TraceContext(header)
      else { return }
      context[SpanPlace.Key.self] = SpanPlace(
        span: nil, trace: trace, log: LogContext.outside(trace))
    }

    /// Hands the trace on in the header `traceparent`, if a span of the trace is known: a header
    /// without a span is not valid.
    public func inject<Carrier, Inject: Injector>(
      _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
      guard let place = context[SpanPlace.Key.self], place.trace.spanID != 0 else { return }
      let trace = place.trace
      // Flags of later versions of the standard are not handed on.
      let known = TraceContext(words: trace.words, spanID: trace.spanID, flags: trace.flags & 3)
      injector.inject(known.description, forKey: "traceparent", into: &carrier)
    }
  }

  /// Where in a trace a task is.
  struct SpanPlace: Sendable {
    enum Key: ServiceContextKey {
      typealias Value = SpanPlace
      static var nameOverride: String? { "mmlog-span" }
    }

    /// A span that was recorded. Nil if only the trace is known.
    let span: Logger.Span?
    /// The trace. Its span is ``span``, or that of a caller from outside.
    let trace: TraceContext
    let log: LogContext
  }
#endif
