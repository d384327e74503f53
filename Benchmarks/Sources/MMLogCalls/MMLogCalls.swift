import CStatements
public import MMLog

/// A function for each workload, with mmlog's log call and nothing else. The benchmarks time these
/// functions, and count their instructions. None is inlined, so that each costs a call, as other
/// loggers' functions do.
public struct MMLogCalls: Sendable {
  private let log: Logger

  /// Logs with `log`, whose level is to be `info`.
  public init(_ log: Logger) { self.log = log }

  /// Two integers, a text, a floating-point number.
  @inline(never)
  public func order(_ order: Order) {
    log.info(
      "order \(order.id) accepted for \(order.user) in \(order.elapsed, format: .fixed(2)) ms, quantity \(order.quantity)"
    )
  }

  /// A text that is known at run time only.
  @inline(never)
  public func text(_ text: Text) { log.info("\(text.swift)") }

  /// A constant message and five pairs.
  @inline(never)
  public func pairs(_ order: Order) {
    log.info(
      "order accepted",
      metadata: [
        "venue": .string(order.user), "id": .int(Int64(order.id)), "price": .double(order.elapsed),
        "live": .bool(order.isLive), "side": .string(order.side),
      ])
  }

  /// A constant message and five pairs of strings that are known at run time only. Two of them have
  /// more bytes than a string's own words hold. No string is made or chosen in the call: that cost
  /// is not mmlog's.
  @inline(never)
  public func strings(_ order: Order, _ text: Text) {
    log.info(
      "order accepted",
      metadata: [
        "venue": .string(order.user), "reason": .string(text.swift), "user": .string(order.user),
        "path": .string(text.swift), "account": .string(order.user),
      ])
  }

  /// A constant message and five pairs of strings that are known at compile time.
  @inline(never)
  public func literals(_ index: Int) {
    log.info(
      "order accepted",
      metadata: [
        "venue": "xetra", "reason": "the limit is below the price", "user": "trader-017",
        "path": "order entry over the gateway", "side": "buy",
      ])
  }

  /// A constant message.
  @inline(never)
  public func message(_ index: Int) { log.info("order accepted") }

  /// One of twenty call sites.
  @inline(never)
  public func site(_ number: Int, _ order: Order) {
    TwentySites.log(number, log, order.id, order.user)
  }

  /// One of as many call sites as there are numbers: a thread cannot remember all of them.
  @inline(never)
  public func manysites(_ number: Int, _ order: Order) {
    log.info("step of order \(order.id) for \(order.user)", line: UInt32(number))
  }

  /// The beginning of a span, with a number, and its end.
  @inline(never)
  public func span(_ index: Int) { log.begin("order \(index)").end() }

  /// The same as ``order(_:)``, but archives do not have it: for a logger of the level `debug`.
  @inline(never)
  public func flight(_ order: Order) {
    log.debug(
      "order \(order.id) accepted for \(order.user) in \(order.elapsed, format: .fixed(2)) ms, quantity \(order.quantity)"
    )
  }

  /// The same as ``order(_:)``: for a logger whose store has recipients.
  @inline(never)
  public func sealed(_ order: Order) {
    log.info(
      "order \(order.id) accepted for \(order.user) in \(order.elapsed, format: .fixed(2)) ms, quantity \(order.quantity)"
    )
  }

  /// The same as ``order(_:)`` in C, with the logger that ``CStatements`` was given.
  @inline(never)
  public func corder(_ order: Order) {
    statements_order(order.id, order.cUser, order.elapsed, order.quantity)
  }

  /// Two fields in C.
  @inline(never)
  public func cfields(_ order: Order) { statements_fields(order.id, order.cUser) }

  /// The same within a span.
  @inline(never)
  public func cspanfields(_ order: Order) { statements_fields_in(order.id, order.cUser) }

  /// A message below the level.
  @inline(never)
  public func disabled(_ order: Order) { log.debug("never \(order.id)") }
}

/// Stores values in state slots.
public struct SlotCalls: Sendable {
  private let number: LogStore.StateSlot<Int>
  private let text: LogStore.StateSlot<String>

  /// Stores in slots of a store.
  public init(_ store: LogStore) {
    (number, text) = (store.slot("number", of: Int.self), store.slot("text", of: String.self))
  }

  /// A number.
  @inline(never)
  public func slot(_ index: Int) { number.store(index) }

  /// A text of a few bytes, or some more.
  @inline(never)
  public func slottext(_ order: Order) { text.store(order.user) }
}

/// Log calls with loggers that add something to each record.
public struct BoundCalls: Sendable {
  private let (bound, traced): (Logger, Logger)

  /// Binds `log` to the pairs of ``MMLogCalls/pairs(_:)``, except the number, and to a span and a
  /// trace.
  public init(_ log: Logger) {
    bound = log.with([
      "venue": "trader-017", "id": 7, "price": 0.5, "live": true, "side": "buy",
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
