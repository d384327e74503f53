import CHarness

/// One measured call. Generic all the way down, so that the compiler makes a loop of its own for
/// each logger and workload: a call through a closure or a protocol would cost as much as a good
/// part of what is measured.
protocol Call: Sendable {
  associatedtype Values
  /// What is logged by a call, which varies from one call to the next.
  func values(_ index: Int) -> Values
  func make(_ values: Values)
}

extension Call {
  @inline(__always) func make(at index: Int) { make(values(index)) }
}

/// The loops that everything is measured by.
enum Measure {
  /// The pause between paced calls, in nanoseconds.
  static let pause = 1_000.0...2_000.0

  /// Nanoseconds per call, without any pause.
  @inline(__always)
  static func backToBack(_ call: some Call, calls: Int) -> Double {
    let start = harness_ticks()
    for index in 0..<calls { call.make(at: index) }
    return Double(harness_ticks() - start) * Clock.nanosecondsPerTick / Double(calls)
  }

  /// Times every single call, with a pause of one to two microseconds before each.
  @inline(__always)
  static func paced(_ call: some Call, calls: Int, into histogram: inout Histogram) {
    let minimum = Clock.ticks(nanoseconds: pause.lowerBound)
    let spread = Clock.ticks(nanoseconds: pause.upperBound) - minimum
    var random: UInt64 = 0x9e37_79b9_7f4a_7c15
    for index in 0..<calls {
      // xorshift: Marsaglia, 2003.
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      let values = call.values(index)
      harness_spin_until(harness_ticks() + minimum + random % spread)
      let start = harness_ticks()
      call.make(values)
      histogram.add(harness_ticks() - start)
    }
  }

  /// Measures as the benchmark of the logger quill does: bursts of 20 calls with 2 ms between them;
  /// the sample is a burst's mean.
  ///
  /// - Parameter histogram: Gets ticks of whole bursts.
  @inline(__always)
  static func bursts(_ call: some Call, bursts: Int, into histogram: inout Histogram) {
    let pause = Clock.ticks(nanoseconds: 2_000_000)
    for burst in 0..<bursts {
      harness_spin_until(harness_ticks() + pause)
      let start = harness_ticks()
      for index in 0..<burstSize { call.make(at: burst * burstSize + index) }
      histogram.add(harness_ticks() - start)
    }
  }

  static let burstSize = 20

  /// Calls of the harness's allocation functions for each call.
  @inline(__always)
  static func allocations(_ call: some Call, calls: Int) -> Double {
    let before = harness_allocations()
    for index in 0..<calls { call.make(at: index) }
    return Double(harness_allocations() - before) / Double(calls)
  }
}
