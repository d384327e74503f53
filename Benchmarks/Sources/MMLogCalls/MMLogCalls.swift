import CStatements
public import MMLog

/// A function for each workload, with mmlog's log call and nothing else: what is timed, and whose
/// instructions are counted. None is inlined, so that each costs a call, as other loggers'
/// functions do.
public struct MMLogCalls: Sendable {
  private let log: Logger
  private let sample = Sample()

  /// Logs with `log`, whose level is to be `info`.
  public init(_ log: Logger) { self.log = log }

  /// Two integers, a text, a floating-point number.
  @inline(never)
  public func order(_ index: Int) {
    log.info(
      "order \(index) accepted for \(sample.user) in \(Sample.elapsed(index)) ms, quantity \(Sample.quantity(index))"
    )
  }

  /// A text of 100 bytes that is known at run time only.
  @inline(never)
  public func text(_ index: Int) { log.info("\(sample.text)") }

  /// A given text.
  @inline(never)
  public func line(_ text: String) { log.info("\(text)") }

  /// A constant message and five pairs.
  @inline(never)
  public func pairs(_ index: Int) {
    log.info(
      "order accepted",
      metadata: [
        "venue": .string(sample.user), "id": .int(Int64(index)), "price": .double(0.5),
        "live": true, "side": "buy",
      ])
  }

  /// A constant message.
  @inline(never)
  public func message(_ index: Int) { log.info("order accepted") }

  /// One of twenty call sites.
  @inline(never)
  public func sites(_ index: Int) {
    TwentySites.log(index % Sample.siteCount, log, index, sample.user)
  }

  /// One of two thousand call sites: most are not in the thread's cache.
  @inline(never)
  public func misses(_ index: Int) {
    log.info("order \(index) accepted", line: UInt32(index * 761 % 2000))
  }

  /// The beginning of a span, with a number, and its end.
  @inline(never)
  public func span(_ index: Int) { log.begin("order \(index)").end() }

  /// The same as ``order(_:)``, of which archives have nothing: for a logger of the level `debug`.
  @inline(never)
  public func flight(_ index: Int) {
    log.debug(
      "order \(index) accepted for \(sample.user) in \(Sample.elapsed(index)) ms, quantity \(Sample.quantity(index))"
    )
  }

  /// The same as ``order(_:)`` in C, with the logger that ``CStatements`` was given.
  @inline(never)
  public func corder(_ index: Int) {
    statements_order(index, Sample.elapsed(index), Sample.quantity(index))
  }

  /// A message below the level.
  @inline(never)
  public func disabled(_ index: Int) { log.debug("never \(index)") }
}

/// The same for loggers that have something with each record.
public struct BoundCalls: Sendable {
  private let (bound, traced): (Logger, Logger)

  /// Logs with what `log` is bound to: the pairs of ``MMLogCalls/pairs(_:)``, but for the number;
  /// and a span and a trace.
  public init(_ log: Logger) {
    bound = log.with([
      "venue": .string(Sample().user), "id": 7, "price": 0.5, "live": true, "side": "buy",
    ])
    traced = log.with(
      span: log.begin("a span"),
      trace: TraceContext(
        traceID: "4bf92f3577b34da6a3ce929d0e0e4736", spanID: "00f067aa0ba902b7", flags: 1))
  }

  /// A constant message of a logger with five fields.
  @inline(never)
  public func bound(_ index: Int) { bound.info("order accepted") }

  /// A constant message of a logger with a span and a trace.
  @inline(never)
  public func traced(_ index: Int) { traced.info("order accepted") }
}
