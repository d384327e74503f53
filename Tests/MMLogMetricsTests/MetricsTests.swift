#if Metrics
  import CoreMetrics
  import Glibc
  import MMLog
  import MMLogFormat
  import MMLogMetrics
  import MMLogReader
  import MMLogStorage
  import MMLogSystem
  import TestSupport
  import Testing

  private typealias Logger = MMLog.Logger

  @Suite("Metrics of swift-metrics") struct MetricsTests {
    private let folder = TemporaryDirectory()

    @Test("counters, meters and gauges are state slots, which whoever reads the ring sees")
    func slots() throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store)
      for amount in 1...3 {
        // Each time anew, as many do.
        Counter(label: "accepted", factory: metrics).increment(by: amount)
      }
      let huge = Counter(
        label: "huge", dimensions: [("shop", "12"), ("kind", "a")], factory: metrics)
      huge.increment(by: Int64.max)
      huge.increment()
      let low = Counter(label: "low", factory: metrics)
      low.increment(by: Int64.min)
      low.increment(by: -1)
      let reset = Counter(label: "reset", factory: metrics)
      reset.increment()
      reset.reset()
      _ = Counter(label: "never", factory: metrics)
      _ = Meter(label: "unset", factory: metrics)
      FloatingPointCounter(label: "fractions", factory: metrics).increment(by: 2.5)
      let meter = Meter(label: "meter", factory: metrics)
      meter.set(5)
      meter.increment(by: 2)
      Meter(label: "meter", factory: metrics).decrement(by: 0.5)
      Gauge(label: "gauge", factory: metrics).record(-1.5)
      let rings = try RingStatus.all(in: folder.path) { Issue.record("\($0)") }
      let ring = try #require(rings.first)
      #expect(
        Set(ring.image.state.fields.texts) == [
          "accepted=6", "\"huge{shop=12,kind=a}\"=\(Int64.max)", "low=\(Int64.min)", "reset=0",
          "never=0",
          "fractions=2.5", "meter=6.5", "gauge=-1.5",
        ])
      try store.close()
    }

    @Test("metrics whose labels and dimensions have the characters between them are different ones")
    func similarNames() throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store)
      let names: [(label: String, dimensions: [(String, String)])] = [
        ("c", [("a", "1"), ("b", "2")]), ("c", [("a", "1,b=2")]), ("c", [("a=1,b", "2")]),
        ("c{a=1,b=2}", []), (#"c\{a=1,b=2}"#, []), ("c{a=1", [("b", "2")]),
        ("d", [("a", #"1\"#), ("b", "2")]), ("d", [("a", #"1\,b=2"#)]),
        ("e", [("route", "/orders/{id}")]),
      ]
      for (index, name) in names.enumerated() {
        Counter(label: name.label, dimensions: name.dimensions, factory: metrics)
          .increment(by: index + 1)
      }
      let ring = try #require(try RingStatus.all(in: folder.path) { Issue.record("\($0)") }.first)
      let texts = ring.image.state.fields.texts
      #expect(texts.count == names.count, "\(texts)")
      #expect(texts.contains(#""e{route=/orders/{id}}"=9"#), "\(texts)")
      try store.close()
    }

    @Test("counters of fractions add them up, made anew or kept, and drop what is no amount")
    func fractions() throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store)
      for _ in 0..<1000 { FloatingPointCounter(label: "cost", factory: metrics).increment(by: 0.5) }
      let cost = FloatingPointCounter(label: "cost", factory: metrics)
      for amount in [.nan, .infinity, -.infinity, -1, 0] as [Double] { cost.increment(by: amount) }
      let reset = FloatingPointCounter(label: "reset", factory: metrics)
      reset.increment(by: 0.25)
      reset.reset()
      reset.destroy()
      _ = FloatingPointCounter(label: "never", factory: metrics)
      let meter = Meter(label: "meter", factory: metrics)
      meter.set(1)
      meter.increment(by: Double.nan)
      meter.increment(by: Double.infinity)
      meter.decrement(by: -Double.infinity)
      meter.decrement(by: 0.5)
      let ring = try #require(try RingStatus.all(in: folder.path) { Issue.record("\($0)") }.first)
      #expect(
        Set(ring.image.state.fields.texts) == ["cost=500.0", "reset=0.0", "never=0.0", "meter=0.5"])
      try store.close()
    }

    @Test("a metric is the same one each time, of those without a place the first thousand")
    func sameMetric() throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store)
      func isSame(_ name: String) -> Bool {
        metrics.makeCounter(label: name, dimensions: [])
          === metrics.makeCounter(label: name, dimensions: [])
      }
      // As many as there are slots.
      for number in 0..<128 { #expect(isSame("number \(number)")) }
      for number in 0..<1000 { #expect(isSame("one more \(number)")) }
      #expect(!isSame("too many") && isSame("number 0") && isSame("one more 0"))
      try store.close()
    }

    @Test("values of what has no place are records, as a recorder's are")
    func withoutPlace() throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store, level: .info)
      let label = "http.server.active_requests"
      let dimensions = [("http.request.method", "GET"), ("http.route", "/orders/{id}")]
      for amount in 1...3 {
        Counter(label: label, dimensions: dimensions, factory: metrics).increment(by: amount)
      }
      FloatingPointCounter(label: label + ".cost", dimensions: dimensions, factory: metrics)
        .increment(by: 0.25)
      for _ in 0..<2 {
        Meter(label: label + ".now", dimensions: dimensions, factory: metrics).increment(by: 2)
      }
      Gauge(label: label + ".gauge", dimensions: dimensions, factory: metrics).record(7)
      try store.close()
      let all = LogReader.records(in: folder)
      #expect(
        all.map { $0.text("metric") } == [
          label, label, label, label + ".cost", label + ".now", label + ".now", label + ".gauge",
        ])
      #expect(
        all.map { $0.field("value") } == [
          .int(1), .int(2), .int(3), .double(0.25), .double(2), .double(4), .double(7),
        ])
      #expect(all.allSatisfy { $0.text("http.route") == "/orders/{id}" })
    }

    @Test("a slot has one kind of metric: one of another kind and of the same name makes records")
    func kinds() async throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let events = store.events
      let metrics = MMLogMetricsFactory(store: store, level: .info)
      Gauge(label: "cost", factory: metrics).record(7)
      FloatingPointCounter(label: "cost", factory: metrics).increment(by: 2)
      FloatingPointCounter(label: "total", factory: metrics).increment(by: 0.5)
      Meter(label: "total", factory: metrics).set(9)
      // In whatever factory.
      Gauge(label: "total", factory: MMLogMetricsFactory(store: store)).record(8)
      let ring = try #require(try RingStatus.all(in: folder.path) { Issue.record("\($0)") }.first)
      #expect(Set(ring.image.state.fields.texts) == ["cost=7.0", "total=0.5"])
      try await store.close()
      let records = LogReader.records(in: folder)
      #expect(records.map(\.message) == ["cost: 2.0", "total: 9.0"])
      var problems: [String] = []
      for await event in events {
        if case .failed(let error) = event { problems.append(error.message) }
      }
      #expect(problems.count == 2 && problems[0].contains("'cost'"), "\(problems)")
    }

    @Test("factories of one store share what has a slot, and have records of their own")
    func factories() throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store, label: "a", level: .info)
      let others = MMLogMetricsFactory(store: store, label: "b", level: .info)
      let long = String(repeating: "n", count: 49)
      for name in ["count", long] {
        Counter(label: name, factory: metrics).increment(by: 2)
        Counter(label: name, factory: others).increment(by: 3)
      }
      Meter(label: "meter", factory: metrics).increment(by: 2)
      Meter(label: "meter", factory: others).increment(by: 0.5)
      _ = Counter(label: "count", factory: MMLogMetricsFactory(store: store))
      let ring = try #require(try RingStatus.all(in: folder.path) { Issue.record("\($0)") }.first)
      #expect(Set(ring.image.state.fields.texts) == ["count=5", "meter=2.5"])
      try store.close()
      let records = LogReader.records(in: folder)
      #expect(records.map(\.label) == ["a", "b"])
      #expect(records.map { $0.field("value") } == [.int(2), .int(3)])
    }

    #if DEBUG
      @Test("a gauge without a slot holds nobody up while its record is written, which may wait")
      func waitingRecord() async {
        await #expect(processExitsWith: .success) {
          let folder = TemporaryDirectory()
          let store = try LogStore(directory: folder.path, name: "metrics")
          let metrics = MMLogMetricsFactory(store: store, level: .info)
          let gauge = metrics.makeMeter(label: String(repeating: "g", count: 49), dimensions: [])
          let (gate, count, wasOpened) = (ForkSafeMutex(), LockedValue(0), LockedValue(false))
          gate.lock()
          // In the first call, as in a full ring.
          TestPoint.handler = { point in
            guard point == .recordBuilt else { return }
            let isFirst = count.withLock { count in
              count += 1
              return count == 1
            }
            if !isFirst { return }
            let isOpen = gate.tryLock(atMost: 60_000_000_000)
            wasOpened.withLock { $0 = isOpen }
          }
          let thread = try Thread(name: "waiting") { gauge.set(1.0) }
          while count.withLock({ $0 }) == 0 { sched_yield() }
          gauge.set(2.0)
          gate.unlock()
          thread.join()
          require(wasOpened.withLock { $0 }, "The second call waited for the first one.")
          try await store.close()
          require(LogReader.records(in: folder).count == 2)
        }
      }
    #endif

    @Test("values of recorders and timers are records, with their dimensions as fields")
    func records() throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store, label: "m", level: .info)
      let timer = Timer(label: "matching", dimensions: [("shop", "12")], factory: metrics)
      timer.recordMilliseconds(3.5)
      let recorder = Recorder(label: "sizes", factory: metrics)
      recorder.record(7)
      recorder.record(0.25)
      timer.destroy()
      recorder.destroy()
      try store.close()
      let all = LogReader.records(in: folder)
      #expect(
        all.map(\.message) == ["matching: 3500000 ns", "sizes: 7", "sizes: 0.25"])
      #expect(all.allSatisfy { $0.label == "m" && $0.level == .info })
      #expect(all.map { $0.text("metric") } == ["matching", "sizes", "sizes"])
      #expect(all[0].text("duration_ns") == "3500000" && all[0].text("shop") == "12")
      #expect(all[1].field("value") == .int(7) && all[2].field("value") == .double(0.25))
    }

    @Test("threads that count together lose nothing") func threads() async throws {
      let store = try LogStore(directory: folder.path, name: "metrics")
      let metrics = MMLogMetricsFactory(store: store)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            for _ in 0..<1000 { Counter(label: "count", factory: metrics).increment() }
          }
        }
      }
      let ring = try #require(
        try RingStatus.all(in: folder.path) { Issue.record("\($0)") }.first)
      #expect(ring.image.state.fields.texts == ["count=8000"])
      try await store.close()
    }
  }
#endif
