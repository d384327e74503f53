import CHarness
import Glibc

/// Several threads that make the same call at once.
enum Threads {
  struct Cost {
    /// Nanoseconds from the first call to the last, for each call of all threads.
    let wall: Double
    /// Nanoseconds on a processor for each call.
    let processor: Double
  }

  /// How many calls each thread makes before it is measured.
  static let warmUp = 20

  /// - Parameter calls: One call for each thread.
  static func measure<C: Call>(_ calls: [C], each count: Int) -> Cost {
    let start = Gate(calls.count)
    let runs = calls.enumerated().map { (number, call) in
      Run { Self.run(call, number, count, start) }
    }
    let threads = runs.map(launch)
    for thread in threads { pthread_join(thread, nil) }
    let total = Double(count * calls.count)
    let begun = runs.map(\.result.start).min() ?? 0
    let ended = runs.map(\.result.end).max() ?? 0
    let processor = runs.map(\.result.processor).reduce(0, +)
    return Cost(wall: Double(ended - begun) / total, processor: Double(processor) / total)
  }

  private struct Result {
    var start: UInt64 = 0
    var end: UInt64 = 0
    var processor: UInt64 = 0
  }

  private static func run<C: Call>(_ call: C, _ number: Int, _ count: Int, _ gate: Gate) -> Result {
    harness_pin(CInt(number))
    // A thread's first calls make its place in the logger.
    for index in 0..<warmUp { call.make(at: index) }
    gate.pass()
    var result = Result(start: harness_clock(), processor: harness_thread_clock())
    for index in 0..<count { call.make(at: index) }
    result.processor = harness_thread_clock() - result.processor
    result.end = harness_clock()
    return result
  }

  /// Proof of `@unchecked Sendable`: one thread writes the result, and others read it once that
  /// thread has been joined.
  private final class Run: @unchecked Sendable {
    let body: @Sendable () -> Result
    var result = Result()
    init(_ body: @escaping @Sendable () -> Result) { self.body = body }
  }

  private static func launch(_ run: Run) -> pthread_t {
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { @Sendable argument in
        guard let argument else { return nil }
        let run = Unmanaged<Run>.fromOpaque(argument).takeRetainedValue()
        run.result = run.body()
        return nil
      }, Unmanaged.passRetained(run).toOpaque())
    precondition(code == 0, "a thread cannot be started")
    return thread
  }

  /// Holds threads back until all have come.
  ///
  /// Proof of `@unchecked Sendable`: its word is touched by atomic operations only.
  private final class Gate: @unchecked Sendable {
    private let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    private let count: UInt64

    init(_ count: Int) {
      self.count = UInt64(count)
      word.initialize(to: 0)
    }

    deinit { word.deallocate() }

    func pass() {
      var passed = harness_add(word, 1)
      while passed < count {
        sched_yield()
        passed = harness_load_acquire(word)
      }
    }
  }
}
