import Glibc
import MMLogSystem
import Synchronization
import TestSupport
import Testing

/// Things that threads wait for, one for each.
private final class Things: Sendable {
  private let events = EventCount()
  private let left = Atomic<Int>(0)

  func add() {
    left.add(1, ordering: .acquiringAndReleasing)
    events.advanceForOne()
  }

  /// Waits until it has taken one; false if that takes a minute.
  func take() -> Bool { events.wait(atMost: 60_000_000_000, for: tryTake) }

  private func tryTake() -> Bool {
    var old = left.load(ordering: .acquiring)
    while old > 0 {
      let result = left.compareExchange(
        expected: old, desired: old - 1, ordering: .acquiringAndReleasing)
      if result.exchanged { return true }
      old = result.original
    }
    return false
  }
}

@Suite("Counts of events that threads wait for") struct EventCountTests {
  @Test("each event that is for one wakes somebody, as long as somebody waits")
  func oneForEach() throws {
    let (threads, rounds) = (16, 500)
    let (things, taken) = (Things(), Counter())
    let takers = try (0..<threads).map { number in
      try Thread(name: "taker \(number)") {
        for _ in 0..<rounds where things.take() { taken.add() }
      }
    }
    let makers = try (0..<2).map { number in
      try Thread(name: "maker \(number)") {
        for _ in 0..<threads * rounds / 2 { things.add() }
      }
    }
    for thread in makers + takers { thread.join() }
    #expect(taken.value == threads * rounds)
  }

  @Test("whoever goes to sleep while one event is counted is woken by the next")
  func eventsInARow() throws {
    // What is rarer than that, Models/EventCount.pml finds.
    let (waits, minute) = (100_000, Int64(60_000_000_000))
    let (events, ended, missed) = (EventCount(), Counter(), Counter())
    let waiter = try Thread(name: "waiter") {
      for _ in 0..<waits where missed.value == 0 {
        let end = Deadline(after: minute)
        events.wait(since: events.current, atMost: minute)
        if end.isOver { missed.add() }
        ended.add()
      }
    }
    var random = SeededGenerator(seed: 1)
    while ended.value < waits, missed.value == 0 {
      events.advance()
      for index in 0..<Int.random(in: 0..<100, using: &random) { withExtendedLifetime(index) {} }
    }
    waiter.join()
    #expect(missed.value == 0)
  }

  @Test("whoever has waited for long comes before all who come later")
  func longest() throws {
    let (events, isThere, hour) = (EventCount(), Flag(), Int64(3_600_000_000_000))
    let (order, tries, waits) = (LockedValue<[String]>([]), Counter(), Counter())
    let first = try Thread(name: "first") {
      if events.wait(atMost: hour, for: isThere.take) { order.withLock { $0.append("first") } }
    }
    while !events.hasOverdue { Sleep.nanoseconds(1_000_000) }
    let second = try Thread(name: "second") {
      let isTaken = events.wait(
        atMost: hour,
        preparing: {
          waits.add()
          return true
        },
        for: {
          tries.add()
          return isThere.take()
        })
      if isTaken { order.withLock { $0.append("second") } }
    }
    while waits.value == 0 { Sleep.nanoseconds(1_000_000) }
    #expect(tries.value == 0)
    isThere.set()
    events.advanceForOne()
    first.join()
    isThere.set()
    events.advanceForOne()
    second.join()
    #expect(order.withLock { $0 } == ["first", "second"])
    #expect(!events.hasOverdue)
  }

  /// A thread ends while others let it go first.
  private func endOverdue(_ events: EventCount) throws {
    let thread = try Thread(name: "ends") {
      _ = events.wait(
        atMost: 3_600_000_000_000,
        preparing: {
          if events.hasOverdue { pthread_exit(nil) }
          return true
        },
        for: { false })
    }
    thread.join()
  }

  @Test("a thread that ends while it waits holds up no threads that are busy")
  func endedAmongBusy() throws {
    let (events, isOver) = (EventCount(), Flag())
    try endOverdue(events)
    let threads = try (1...8).map { number in
      try Thread(name: "busy \(number)") {
        while !isOver.value {
          // There is always something to take.
          _ = events.wait(atMost: 3_600_000_000_000, for: { true })
          Sleep.nanoseconds(1_000_000)
        }
      }
    }
    let deadline = Deadline(after: 600_000_000_000)
    var free = 0
    while free < 300, !deadline.isOver {
      Sleep.nanoseconds(1_000_000)
      free = events.hasOverdue ? 0 : free + 1
    }
    isOver.set()
    for thread in threads { thread.join() }
    #expect(free == 300)
  }

  @Test("a thread that ends while it waits comes first no longer")
  func endedWaiting() throws {
    let events = EventCount()
    try endOverdue(events)
    let minute = Deadline(after: 60_000_000_000)
    while events.hasOverdue, !minute.isOver { Sleep.nanoseconds(1_000_000) }
    #expect(!events.hasOverdue)
  }

  @Test("whoever goes on waiting still comes first")
  func waitsOn() throws {
    let (events, isThere, waits) = (EventCount(), Flag(), Counter())
    let thread = try Thread(name: "waits on") {
      _ = events.wait(
        atMost: 3_600_000_000_000,
        preparing: {
          waits.add()
          return true
        },
        for: isThere.take)
    }
    let minute = Deadline(after: 60_000_000_000)
    // By then, what the thread noted first is no longer valid.
    while waits.value < 15, !minute.isOver { Sleep.nanoseconds(1_000_000) }
    while !events.hasOverdue, !minute.isOver { Sleep.nanoseconds(1_000_000) }
    #expect(events.hasOverdue)
    isThere.set()
    events.advanceForOne()
    thread.join()
    #expect(!events.hasOverdue)
  }
}

private final class Counter: Sendable {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .acquiring) }
  func add() { count.add(1, ordering: .acquiringAndReleasing) }
}

private final class Flag: Sendable {
  private let isSet = Atomic(false)
  var value: Bool { isSet.load(ordering: .acquiring) }
  func set() { isSet.store(true, ordering: .releasing) }
  func take() -> Bool { isSet.exchange(false, ordering: .acquiringAndReleasing) }
}
