#if Metrics
  public import CoreMetrics
  public import MMLog
  import Synchronization

  /// A backend for swift-metrics that keeps metrics where they survive the process: in its log.
  ///
  /// ```swift
  /// MetricsSystem.bootstrap(MMLogMetricsFactory(store: store))
  /// Counter(label: "orders.accepted").increment()
  /// ```
  ///
  /// - **A counter, a meter or a gauge** is a state slot of the store (`LogStore.slot(_:of:)`),
  ///   named by its label and dimensions, as in `orders{shop=12}`. `mmlogctl status` shows its
  ///   value while the process runs, and `mmlog-decode crash` what it was when the process died. A
  ///   store has 128 slots, whose names have 48 bytes at most; what has no place goes nowhere, and
  ///   `LogStore.events` says so.
  /// - **A value of a recorder or of a timer** is a record, with the fields `metric`, `value` or
  ///   `duration_ns`, and its dimensions: `mmlog-decode top --by metric` and the like count them.
  ///
  /// It is no replacement for a backend that others query: use both with swift-metrics'
  /// `MultiplexMetricsHandler`. Any thread. A counter takes a lock, a record none.
  public final class MMLogMetricsFactory: MetricsFactory {
    private let store: LogStore
    private let log: Logger
    private let level: Logger.Level
    // Who asks for a metric again is given the same one. One without a place is not remembered:
    // names may be anybody's, and there is no end of them.
    private let counters = Mutex<[String: Count]>([:])
    private let gauges = Mutex<[String: Gauge]>([:])

    /// A backend.
    ///
    /// - Parameters:
    ///   - store: Where metrics are kept.
    ///   - label: The label of the records. Default: `metrics`.
    ///   - level: The level of the records. Default: `debug`.
    public init(store: LogStore, label: String = "metrics", level: Logger.Level = .debug) {
      (self.store, log, self.level) = (store, store.logger(label: label), level)
    }

    /// A counter. Called by swift-metrics.
    public func makeCounter(
      label: String, dimensions: [(String, String)]
    ) -> any CounterHandler {
      let name = Self.name(label, dimensions)
      return counters.withLock { $0.metric(of: name, in: store, Count.init) }
    }

    /// A meter. Called by swift-metrics.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
      gauge(label, dimensions)
    }

    /// A recorder; a gauge, if it does not aggregate. Called by swift-metrics.
    public func makeRecorder(
      label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
      aggregate ? distribution(label, dimensions) : gauge(label, dimensions)
    }

    /// A timer. Called by swift-metrics.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
      distribution(label, dimensions)
    }

    /// Does nothing: the value stays. Called by swift-metrics.
    public func destroyCounter(_ handler: any CounterHandler) {}

    /// Does nothing: the value stays. Called by swift-metrics.
    public func destroyMeter(_ handler: any MeterHandler) {}

    /// Does nothing: records stay. Called by swift-metrics.
    public func destroyRecorder(_ handler: any RecorderHandler) {}

    /// Does nothing: records stay. Called by swift-metrics.
    public func destroyTimer(_ handler: any TimerHandler) {}

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> Gauge {
      let name = Self.name(label, dimensions)
      return gauges.withLock { $0.metric(of: name, in: store, Gauge.init) }
    }

    private func distribution(
      _ label: String, _ dimensions: [(String, String)]
    ) -> Distribution {
      var fields = Logger.Metadata()
      for (name, value) in dimensions { fields.append(.string(value), for: name) }
      return Distribution(
        name: label, log: dimensions.isEmpty ? log : log.with(fields), level: level)
    }

    private static func name(_ label: String, _ dimensions: [(String, String)]) -> String {
      if dimensions.isEmpty { return label }
      return "\(label){\(dimensions.map { "\($0)=\($1)" }.joined(separator: ","))}"
    }
  }

  /// A sum in a slot.
  private final class Count: CounterHandler {
    private let sum = Mutex<Int64>(0)
    private let slot: LogStore.StateSlot<Int64>

    init(_ slot: LogStore.StateSlot<Int64>) {
      self.slot = slot
      // What was never counted is zero; what was never measured is not.
      slot.store(0)
    }

    // Stored under the lock, so that the newest value is what stays.
    func increment(by amount: Int64) {
      sum.withLock { sum in
        let (new, isTooLarge) = sum.addingReportingOverflow(amount)
        sum = isTooLarge ? .max : new
        slot.store(sum)
      }
    }

    func reset() {
      sum.withLock { sum in
        sum = 0
        slot.store(0)
      }
    }
  }

  /// A value in a slot.
  private final class Gauge: MeterHandler, RecorderHandler {
    private let value = Mutex<Double>(0)
    private let slot: LogStore.StateSlot<Double>

    init(_ slot: LogStore.StateSlot<Double>) { self.slot = slot }

    private func change(_ body: (inout Double) -> Void) {
      value.withLock { value in
        body(&value)
        slot.store(value)
      }
    }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { change { $0 = value } }
    func increment(by amount: Double) { change { $0 += amount } }
    func decrement(by amount: Double) { change { $0 -= amount } }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
  }

  /// Values, a record each.
  private final class Distribution: RecorderHandler, TimerHandler {
    private let name: String
    private let log: Logger
    private let level: Logger.Level

    init(name: String, log: Logger, level: Logger.Level) {
      (self.name, self.log, self.level) = (name, log, level)
    }

    func record(_ value: Int64) {
      log.log(
        level: level, "\(name, name: "metric", privacy: .public): \(value, name: "value")")
    }

    func record(_ value: Double) {
      log.log(
        level: level, "\(name, name: "metric", privacy: .public): \(value, name: "value")")
    }

    func recordNanoseconds(_ duration: Int64) {
      log.log(
        level: level,
        "\(name, name: "metric", privacy: .public): \(duration, name: "duration_ns") ns")
    }
  }

  extension Dictionary where Key == String {
    /// The metric of a name, made if it is not known.
    fileprivate mutating func metric<Number: StateSlotValue>(
      of name: String, in store: LogStore, _ make: (LogStore.StateSlot<Number>) -> Value
    ) -> Value {
      if let known = self[name] { return known }
      let slot = store.slot(name, of: Number.self)
      let metric = make(slot)
      if slot.hasPlace { self[name] = metric }
      return metric
    }
  }
#endif
