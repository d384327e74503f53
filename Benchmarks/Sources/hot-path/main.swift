import CFloor
import Glibc
import MMLog

/// What the cases need, in one place, so that every case is measured by the same harness.
struct Bench: Sendable {
  static let records = 200_000
  static let rounds = 15
  static let user = "trader-17"
  static let text = String(repeating: "0123456789", count: 10)
}

@inline(never)
func logOrder(_ log: Logger, _ index: Int, _ user: String) {
  log.info(
    "order \(index) accepted for \(user) in \(Double(index) * 0.25) ms, quantity \(index & 127)")
}

@inline(never)
func logText(_ log: Logger, _ text: String) { log.info("\(text)") }

@inline(never)
func logMetadata(_ log: Logger, _ index: Int, _ user: String) {
  log.info(
    "order accepted",
    [
      "venue": .string(user), "id": .int(Int64(index)), "price": .double(0.5), "live": true,
      "side": "buy",
    ])
}

func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

/// Nanoseconds per call of `body`, called with rising numbers.
@inline(__always)
func nanoseconds(_ body: (Int) -> Void) -> Double {
  let start = now()
  for index in 0..<Bench.records { body(index) }
  return (now() - start) / Double(Bench.records)
}

func measureFloor(_ ring: inout floor_ring) -> (order: Double, text: Double) {
  var user = Bench.user
  var text = Bench.text
  let order = user.withUTF8 { user in
    user.withMemoryRebound(to: CChar.self) { user in
      nanoseconds {
        floor_order(
          &ring, UInt64($0), user.baseAddress, user.count, Double($0) * 0.25, UInt64($0 & 127))
      }
    }
  }
  floor_clear(&ring)
  let long = text.withUTF8 { text in
    text.withMemoryRebound(to: CChar.self) { text in
      nanoseconds { _ in floor_text(&ring, text.baseAddress, text.count) }
    }
  }
  floor_clear(&ring)
  return (order, long)
}

/// Two threads at once, each timing its own calls.
func measureTwoThreads(_ log: Logger) -> Double {
  final class Result: @unchecked Sendable { var nanoseconds = 0.0 }
  let results = [Result(), Result()]
  var threads: [pthread_t] = []
  for result in results {
    let box = Unmanaged.passRetained(
      Task { result.nanoseconds = nanoseconds { logOrder(log, $0, Bench.user) } })
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Task>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    threads.append(thread)
  }
  for thread in threads { pthread_join(thread, nil) }
  return (results[0].nanoseconds + results[1].nanoseconds) / 2
}

final class Task: @unchecked Sendable {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}

/// The median of rounds, with the least and the greatest.
struct Figure {
  private var values: [Double] = []
  mutating func add(_ value: Double) { values.append(value) }
  var sorted: [Double] { values.sorted() }
  var median: Double { sorted[values.count / 2] }
}

func decimal(_ value: Double, _ digits: Int = 1) -> String {
  let scale = pow(10.0, Double(digits))
  let rounded = (value * scale).rounded() / scale
  return digits == 0 ? String(Int(rounded)) : String(rounded)
}

func row(_ name: String, _ figure: Figure, _ note: String = "") {
  let (low, high) = (figure.sorted.first ?? 0, figure.sorted.last ?? 0)
  func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
  print(
    padded(name, 34) + padded(decimal(figure.median), 9)
      + padded("(\(decimal(low)) to \(decimal(high)))", 20) + note)
}

func run() throws {
  let directory = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : "/tmp/mmlog-hot-path"
  var configuration = LogStore.Configuration()
  // Room for a round of every case, so that nothing is drained while it is measured.
  configuration.ringSize = 512 << 20
  configuration.drainInterval = .seconds(3600)
  configuration.fullRing = .dropNewest
  let store = try LogStore(directory: directory, name: "bench", configuration: configuration)
  let log = store.logger(label: "bench")
  var ring = floor_ring()
  guard floor_open(&ring, "\(directory)/floor", 64 << 20) == 1 else {
    print("The floor's file could not be made in \(directory)")
    exit(1)
  }
  defer { unlink("\(directory)/floor") }

  var floorOrder = Figure(), order = Figure(), two = Figure(), floorText = Figure()
  var text = Figure(), metadata = Figure(), disabled = Figure(), ratio = Figure(),
    scaling = Figure()
  var allocations: UInt64 = 0, metadataAllocations: UInt64 = 0
  for round in 0...Bench.rounds {
    let floor = measureFloor(&ring)
    let before = floor_allocations()
    let one = nanoseconds { logOrder(log, $0, Bench.user) }
    let long = nanoseconds { _ in logText(log, Bench.text) }
    let middle = floor_allocations()
    let pairs = nanoseconds { logMetadata(log, $0, Bench.user) }
    let after = floor_allocations()
    log.level = .error
    let off = nanoseconds { log.info("never \($0)") }
    log.level = .info
    let both = measureTwoThreads(log)
    try store.flush(.archive)
    // The first round meets every call site and page for the first time.
    if round == 0 { continue }
    floorOrder.add(floor.order)
    floorText.add(floor.text)
    order.add(one)
    text.add(long)
    metadata.add(pairs)
    disabled.add(off)
    two.add(both)
    ratio.add(one / floor.order)
    scaling.add(both / one)
    allocations += middle - before
    metadataAllocations += after - middle
  }
  let calls = Double(Bench.rounds * Bench.records)
  print(
    "ns per call, median of \(Bench.rounds) rounds of \(Bench.records) calls (least to greatest)\n")
  row("C floor, order message", floorOrder)
  row("order message, four arguments", order, "\(decimal(ratio.median, 2)) times the floor")
  row("the same, two threads at once", two, "\(decimal(scaling.median, 2)) times one thread")
  row("C floor, text of 100 bytes", floorText)
  row("text of 100 bytes", text)
  row("metadata of five pairs", metadata)
  row("disabled level", disabled)
  print(
    "\nallocations per call: order and text \(decimal(Double(allocations) / calls / 2, 3)), "
      + "metadata \(decimal(Double(metadataAllocations) / calls, 3))")
  print("records lost: \(store.losses.total(.ringFull))")
  try store.close()
}

try run()
