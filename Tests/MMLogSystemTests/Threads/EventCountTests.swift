import MMLogSystem
import Synchronization
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
  func take() -> Bool {
    let deadline = Clock.monotonic() + 60_000_000_000
    while true {
      let seen = events.current
      if tryTake() { return true }
      let now = Clock.monotonic()
      if now >= deadline { return false }
      events.wait(since: seen, atMost: Int64(deadline - now))
    }
  }

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
}

private final class Counter: Sendable {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .acquiring) }
  func add() { count.add(1, ordering: .acquiringAndReleasing) }
}
