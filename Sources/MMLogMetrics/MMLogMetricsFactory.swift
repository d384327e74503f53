#if Metrics
  public import CoreMetrics
  public import MMLog
  import Synchronization

  /// A backend for swift-metrics that keeps metrics where they survive the process: in its log.
  ///
  /// ```swift
  /// MetricsSystem.bootstrap(MMLogMetricsFactory(store: store, level: .info))
  /// Counter(label: "orders.accepted").increment()
  /// ```
  ///
  /// - **A counter, a meter or a gauge** is a state slot of the store (`LogStore.slot(_:of:)`),
  ///   named by its label and dimensions, as in `orders{shop=12}`. `\` stands before `{` and `\` in
  ///   the label, and before `,`, `=` and `\` in a dimension, so that no two metrics have one name.
  ///   `mmlogctl status` shows its value while the process runs, and `mmlog-decode crash` what it
  ///   was when the process died.
  /// - **A value of a recorder or of a timer** is a record, with the fields `metric`, `value` or
  ///   `duration_ns`, and its dimensions: `mmlog-decode top --by metric` and the like count them.
  /// - **A metric that has no place** makes records as a recorder does, and `LogStore.events` says
  ///   so. A store has 128 slots, whose names have 48 bytes at most, each for one kind of metric. A
  ///   gauge has no place under the name of a counter. Each amount of a counter is then a record,
  ///   and each new value of a meter or gauge.
  ///
  /// Several backends of one store share its slots: a counter of one name is the same for all.
  ///
  /// Records have the level `debug` unless another level is given, and a store records `info` and
  /// above unless it is told otherwise. With both defaults, timers record nothing.
  ///
  /// This backend does not replace one that others query: use both with swift-metrics'
  /// `MultiplexMetricsHandler`. Any thread. A counter takes a lock; a record does not.
  public final class MMLogMetricsFactory: MetricsFactory {
    private let store: LogStore
    private let log: Logger
    private let level: Logger.Level
    // Whoever asks for a metric again gets the same one.
    private let counters = Mutex(Metrics<Count>())
    private let sums = Mutex(Metrics<Sum>())
    private let gauges = Mutex(Metrics<Gauge>())

    /// Makes a backend.
    ///
    /// - Parameters:
    ///   - store: Where metrics are kept.
    ///   - label: The label of the records. Default: `metrics`.
    ///   - level: The level of the records. Default: `debug`, which a store records only if its own
    ///     level or the label's allows that: `store.setLevel(.debug, for: "metrics")`.
    public init(store: LogStore, label: String = "metrics", level: Logger.Level = .debug) {
      (self.store, log, self.level) = (store, store.logger(label: label), level)
    }

    /// Makes a counter. Called by swift-metrics.
    public func makeCounter(
      label: String, dimensions: [(String, String)]
    ) -> any CounterHandler {
      let name = Self.name(label, dimensions)
      return counters.withLock {
        $0.metric(of: name, in: store, distribution(label, dimensions), Count.init)
      }
    }

    /// Makes a counter of fractions. Amounts that are not above zero, or not finite, are dropped.
    /// Called by swift-metrics.
    public func makeFloatingPointCounter(
      label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
      let name = Self.name(label, dimensions)
      return sums.withLock {
        $0.metric(of: name, in: store, distribution(label, dimensions), Sum.init)
      }
    }

    /// Makes a meter. Called by swift-metrics.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
      gauge(label, dimensions)
    }

    /// Makes a recorder; a gauge, if it does not aggregate. Called by swift-metrics.
    public func makeRecorder(
      label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
      aggregate ? distribution(label, dimensions) : gauge(label, dimensions)
    }

    /// Makes a timer. Called by swift-metrics.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
      distribution(label, dimensions)
    }

    /// Does nothing: the value stays. Called by swift-metrics.
    public func destroyCounter(_ handler: any CounterHandler) {}

    /// Does nothing: the value stays. Called by swift-metrics.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}

    /// Does nothing: the value stays. Called by swift-metrics.
    public func destroyMeter(_ handler: any MeterHandler) {}

    /// Does nothing: records stay. Called by swift-metrics.
    public func destroyRecorder(_ handler: any RecorderHandler) {}

    /// Does nothing: records stay. Called by swift-metrics.
    public func destroyTimer(_ handler: any TimerHandler) {}

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> Gauge {
      let name = Self.name(label, dimensions)
      return gauges.withLock {
        $0.metric(of: name, in: store, distribution(label, dimensions), Gauge.init)
      }
    }

    private func distribution(
      _ label: String, _ dimensions: [(String, String)]
    ) -> Distribution {
      Distribution(label, dimensions, log, level)
    }

    private static func name(_ label: String, _ dimensions: [(String, String)]) -> String {
      let name = label.escaping("{")
      if dimensions.isEmpty { return name }
      let pairs = dimensions.map { "\($0.escaping(",", "="))=\($1.escaping(",", "="))" }
      return "\(name){\(pairs.joined(separator: ","))}"
    }
  }

  extension String {
    /// The text with `\` before some characters, and before each `\`.
    fileprivate func escaping(_ special: Unicode.Scalar...) -> String {
      unicodeScalars.reduce(into: "") { text, scalar in
        if scalar == "\\" || special.contains(scalar) { text.unicodeScalars.append("\\") }
        text.unicodeScalars.append(scalar)
      }
    }
  }

  /// The metrics of a kind by name.
  private struct Metrics<Metric: AnyObject & Sendable> {
    private var known: [String: Metric] = [:]
    /// How many of them have no place. There is a maximum, since names may come from anybody, in
    /// any number.
    private var placeless = 0
    private static var mostPlaceless: Int { 1000 }

    /// Returns the metric of a name, and makes it if it is not known: with a slot, or, if there is
    /// no place for a slot, with what makes records instead.
    mutating func metric<Number: StateSlotValue>(
      of name: String, in store: LogStore, _ records: @autoclosure () -> Distribution,
      _ make: (LogStore.StateSlot<Number>, Distribution?) -> Metric
    ) -> Metric {
      if let metric = known[name] { return metric }
      // Another factory of the store may have made the metric.
      if let metric = store.slotOwner(name, { make($0, nil) }) {
        known[name] = metric
        return metric
      }
      let metric = make(.nowhere, records())
      if placeless < Self.mostPlaceless {
        known[name] = metric
        placeless += 1
      }
      return metric
    }
  }

  /// A sum of whole amounts.
  private final class Count: CounterHandler {
    private let sum = Mutex<Int64>(0)
    private let slot: LogStore.StateSlot<Int64>
    private let records: Distribution?

    init(_ slot: LogStore.StateSlot<Int64>, _ records: Distribution?) {
      (self.slot, self.records) = (slot, records)
      // A counter that never counted is zero; a gauge that never measured has no value.
      slot.store(0)
    }

    // The slot is set under the lock, so that the newest value stays.
    func increment(by amount: Int64) {
      sum.withLock { sum in
        let (new, isBeyond) = sum.addingReportingOverflow(amount)
        sum = !isBeyond ? new : amount < 0 ? .min : .max
        slot.store(sum)
      }
      records?.record(amount)
    }

    func reset() {
      sum.withLock { sum in
        sum = 0
        slot.store(0)
      }
    }
  }

  /// A sum of fractions.
  private final class Sum: FloatingPointCounterHandler {
    private let sum = Mutex<Double>(0)
    private let slot: LogStore.StateSlot<Double>
    private let records: Distribution?

    init(_ slot: LogStore.StateSlot<Double>, _ records: Distribution?) {
      (self.slot, self.records) = (slot, records)
      slot.store(0)
    }

    func increment(by amount: Double) {
      guard amount.isFinite, amount > 0 else { return }
      sum.withLock { sum in
        sum += amount
        slot.store(sum)
      }
      records?.record(amount)
    }

    func reset() {
      sum.withLock { sum in
        sum = 0
        slot.store(0)
      }
    }
  }

  /// A value.
  private final class Gauge: MeterHandler, RecorderHandler {
    private let value = Mutex<Double>(0)
    private let slot: LogStore.StateSlot<Double>
    private let records: Distribution?

    init(_ slot: LogStore.StateSlot<Double>, _ records: Distribution?) {
      (self.slot, self.records) = (slot, records)
    }

    private func change(_ body: (inout Double) -> Void) {
      let new = value.withLock { value in
        body(&value)
        slot.store(value)
        return value
      }
      // This comes after the lock, since a record may wait for space.
      records?.record(new)
    }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { change { $0 = value } }
    func increment(by amount: Double) { add(amount) }
    func decrement(by amount: Double) { add(-amount) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }

    private func add(_ amount: Double) {
      // After such an amount, no later one would make the value a number again, but only `set`.
      guard amount.isFinite else { return }
      change { $0 += amount }
    }
  }

  /// Records each value.
  private final class Distribution: RecorderHandler, TimerHandler {
    private let name: String
    private let dimensions: [(String, String)]
    private let log: Logger
    private let level: Logger.Level
    /// The logger with the dimensions, from the first record on.
    private let bound = AtomicLazyReference<Bound>()

    private final class Bound: Sendable {
      let log: Logger
      init(_ log: Logger) { self.log = log }
    }

    init(
      _ name: String, _ dimensions: [(String, String)], _ log: Logger, _ level: Logger.Level
    ) {
      (self.name, self.dimensions, self.log, self.level) = (name, dimensions, log, level)
    }

    /// Nil if the level is off.
    private var recordingLog: Logger? {
      guard log.isEnabled(level) else { return nil }
      if dimensions.isEmpty { return log }
      if let bound = bound.load() { return bound.log }
      var fields = Logger.Metadata()
      for (name, value) in dimensions { fields.append(.string(value), for: name) }
      return bound.storeIfNil(Bound(log.with(fields))).log
    }

    func record(_ value: Int64) {
      recordingLog?.log(
        level: level, "\(name, name: "metric", privacy: .public): \(value, name: "value")")
    }

    func record(_ value: Double) {
      recordingLog?.log(
        level: level, "\(name, name: "metric", privacy: .public): \(value, name: "value")")
    }

    func recordNanoseconds(_ duration: Int64) {
      recordingLog?.log(
        level: level,
        "\(name, name: "metric", privacy: .public): \(duration, name: "duration_ns") ns")
    }
  }
#endif
