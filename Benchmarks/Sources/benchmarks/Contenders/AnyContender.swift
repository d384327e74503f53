import CHarness
import MMLogCalls

/// A contender with its type erased: around the measured loops, not inside them.
struct AnyContender: Sendable {
  let name: String
  let workloads: [Workload]
  let calls: Int
  let isFast: Bool
  /// Opens the contender in a folder.
  let open: @Sendable (_ directory: String) throws -> Opened
  /// Logs a number of records as fast as possible, until they are written and synced.
  let sustain: @Sendable (_ directory: String, Sustained.Job) throws -> Sustained.Result
  /// Logs as fast as possible and counts acknowledged records, until the process is killed.
  let flood: @Sendable (_ directory: String, SharedCount) throws -> Never
  /// Counts the records of a dead process.
  let records: @Sendable (_ directory: String) throws -> Int

  init<C: Contender>(_ type: C.Type) {
    name = C.name
    workloads = C.workloads
    calls = C.calls
    isFast = C.isFast
    open = { Opened(try C(directory: $0, for: .latency)) }
    sustain = { try Sustained.run(C.self, $0, $1) }
    flood = { directory, count in
      let contender = try C(directory: directory, for: .service)
      let orders = Orders()
      var index = 0
      while true {
        contender.order(orders[index])
        index += 1
        count.value = index
      }
    }
    records = { try C.records(in: $0) }
  }

  /// All contenders, in the order of the tables. A contender that is added here takes part in
  /// everything.
  static let all =
    [
      AnyContender(NullCall.self), AnyContender(Floor.self), AnyContender(MMLogContender.self),
    ] + peers + [
      AnyContender(SpdlogAsync.self), AnyContender(SpdlogSync.self), AnyContender(Glog.self),
      AnyContender(QueueFile.self), AnyContender(QueueBuffer.self),
      AnyContender(Interpolation.self),
      AnyContender(Fwrite.self),
    ]

  /// The contenders that were built from copies of their sources.
  private static let peers = [
    Peer<Quill>.library.map { _ in AnyContender(Peer<Quill>.self) },
    Peer<Fmtlog>.library.map { _ in AnyContender(Peer<Fmtlog>.self) },
    Peer<NanoLog>.library.map { _ in AnyContender(Peer<NanoLog>.self) },
    Peer<Binlog>.library.map { _ in AnyContender(Peer<Binlog>.self) },
  ].compactMap(\.self)

  /// The contenders that write something, and can lose it.
  static let loggers = all.filter {
    ![NullCall.name, Floor.name, Interpolation.name].contains($0.name)
  }

  /// Compared with ``MMLogContender`` alone.
  static let sealed = AnyContender(SealedContender.self)

  static func named(_ name: String) throws -> AnyContender {
    guard let found = (all + [sealed]).first(where: { $0.name == name }) else {
      throw BenchmarkError("there is no contender '\(name)'")
    }
    return found
  }
}

/// An open contender: it has loops of its own for each workload.
struct Opened: Sendable {
  struct Loops: Sendable {
    let backToBack: @Sendable (_ calls: Int) -> Double
    let paced: @Sendable (_ calls: Int, inout Histogram) -> Void
    let bursts: @Sendable (_ bursts: Int, inout Histogram) -> Void
    let allocations: @Sendable (_ calls: Int) -> Double
    let threads: @Sendable (_ threads: Int, _ calls: Int) throws -> Threads.Cost

    init<C: Contender, M: Call>(_ contender: C, _ makeCall: @escaping @Sendable (C) -> M) {
      let call = makeCall(contender)
      backToBack = { Measure.backToBack(call, calls: $0) }
      paced = { Measure.paced(call, calls: $0, into: &$1) }
      bursts = { Measure.bursts(call, bursts: $0, into: &$1) }
      allocations = { Measure.allocations(call, calls: $0) }
      threads = { count, calls in
        let own = try (0..<count).map(contender.forThread)
        let cost = Threads.measure(own.map(makeCall), each: calls)
        for contender in own { try contender.afterThread() }
        return cost
      }
    }
  }

  let loops: [Workload: Loops]
  let drain: @Sendable () throws -> Void
  let finish: @Sendable () throws -> Void

  init<C: Contender>(_ contender: C) {
    var loops: [Workload: Loops] = [:]
    let (orders, words) = (Orders(), Texts.words(Texts.few))
    let lines = Texts.lines(Texts.few)
    let names = Texts.words(Texts.few, length: 30)
    for workload in C.workloads {
      loops[workload] =
        switch workload {
        case .order: Loops(contender) { OrderCall(contender: $0, orders: orders) }
        case .text: Loops(contender) { TextCall(contender: $0, texts: words) }
        case .line: Loops(contender) { TextCall(contender: $0, texts: lines) }
        case .pairs: Loops(contender) { PairsCall(contender: $0, orders: orders) }
        case .strings: Loops(contender) { StringsCall(contender: $0, orders: orders, texts: names) }
        case .sites: Loops(contender) { SitesCall(contender: $0, orders: orders) }
        case .manySites: Loops(contender) { ManySitesCall(contender: $0, orders: orders) }
        case .disabled: Loops(contender) { DisabledCall(contender: $0, orders: orders) }
        case .message: Loops(contender) { MessageCall(contender: $0) }
        case .bound: Loops(contender) { BoundCall(contender: $0) }
        case .traced: Loops(contender) { TracedCall(contender: $0) }
        }
    }
    self.loops = loops
    drain = { try contender.drain() }
    finish = { try contender.finish() }
  }
}

struct OrderCall<C: Contender>: Call {
  let contender: C
  let orders: Orders
  @inline(__always) func values(_ index: Int) -> Order { orders[index] }
  @inline(__always) func make(_ order: Order) { contender.order(order) }
}

struct TextCall<C: Contender>: Call {
  let contender: C
  let texts: Texts
  @inline(__always) func values(_ index: Int) -> Text { texts[index] }
  @inline(__always) func make(_ text: Text) { contender.text(text) }
}

struct PairsCall<C: Contender>: Call {
  let contender: C
  let orders: Orders
  @inline(__always) func values(_ index: Int) -> Order { orders[index] }
  @inline(__always) func make(_ order: Order) { contender.pairs(order) }
}

struct StringsCall<C: Contender>: Call {
  let contender: C
  let orders: Orders
  let texts: Texts
  @inline(__always) func values(_ index: Int) -> (Order, Text) { (orders[index], texts[index]) }
  @inline(__always) func make(_ values: (Order, Text)) { contender.strings(values.0, values.1) }
}

/// One call site after the other.
struct SitesCall<C: Contender>: Call {
  let contender: C
  let orders: Orders
  @inline(__always)
  func values(_ index: Int) -> (Int, Order) { (index % TwentySites.count, orders[index]) }
  @inline(__always)
  func make(_ values: (Int, Order)) { contender.site(values.0, values.1) }
}

/// Call sites at random.
struct ManySitesCall<C: Contender>: Call {
  let contender: C
  let orders: Orders
  var count = 2000
  @inline(__always)
  func values(_ index: Int) -> (Int, Order) {
    let order = orders[index]
    // The order's own bits say nothing about the call site.
    var random = SplitMix64(state: UInt64(truncatingIfNeeded: ~index))
    return (random.next(below: count), order)
  }
  @inline(__always)
  func make(_ values: (Int, Order)) { contender.manySites(values.0, values.1) }
}

struct DisabledCall<C: Contender>: Call {
  let contender: C
  let orders: Orders
  @inline(__always) func values(_ index: Int) -> Order { orders[index] }
  @inline(__always) func make(_ order: Order) { contender.disabled(order) }
}

struct MessageCall<C: Contender>: Call {
  let contender: C
  @inline(__always) func values(_ index: Int) -> Int { index }
  @inline(__always) func make(_ index: Int) { contender.message(index) }
}

struct BoundCall<C: Contender>: Call {
  let contender: C
  @inline(__always) func values(_ index: Int) -> Int { index }
  @inline(__always) func make(_ index: Int) { contender.bound(index) }
}

struct TracedCall<C: Contender>: Call {
  let contender: C
  @inline(__always) func values(_ index: Int) -> Int { index }
  @inline(__always) func make(_ index: Int) { contender.traced(index) }
}
