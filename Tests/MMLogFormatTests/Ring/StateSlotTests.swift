import MMLogFormat
import TestSupport
import Testing

@Suite struct StateSlotTests {
  private let log = TestLog()

  private func read() -> StateSlots {
    log.ring.withUnsafeBytes {
      StateSlots($0.slice(RingLayout.stateSlots, StateSlotLayout.areaSize))
    }
  }

  private func expect(_ values: [(name: String, value: Value)], corruption: [Range<Int>] = []) {
    let state = read()
    #expect(Value.dictionary(state.values.asPairs) == .dictionary(values.asPairs))
    #expect(state.corruption == corruption)
  }

  @Test("they are read as they were written, but for types that nobody knows")
  func theyAreReadAsTheyWereWritten() {
    expect([])
    log.putState()
    expect(TestLog.state)
    let fields = read().fields
    #expect(Value.dictionary(fields.pairs.asPairs) == .dictionary(TestLog.state.asPairs))
  }

  @Test("a slot with a wrong name is corrupted, and costs no other")
  func aSlotWithAWrongNameIsCorrupted() {
    log.putState()
    log.ring[RingLayout.stateSlots + StateSlotLayout.size + StateSlotLayout.name] ^= 1
    expect(Array(TestLog.state[..<1] + TestLog.state[2...]), corruption: [64..<128])
  }

  struct Copies: Sendable {
    var first: UInt32?
    var second: UInt32?
    /// Which of them are overwritten.
    var torn: [Int] = []
    /// Nil: it is corrupted.
    let text: String?
  }

  @Test(
    "of a text, the newer whole copy counts",
    arguments: [
      Copies(text: ""), Copies(second: 1, text: "second"), Copies(first: 2, text: "first"),
      Copies(first: 2, second: 1, text: "first"), Copies(first: 2, second: 3, text: "second"),
      Copies(first: 0, second: 0xFF_FFFF, text: "first"),
      Copies(first: 0xFF_FFFE, second: 0xFF_FFFF, text: "second"),
      Copies(first: 2, second: 1, torn: [0], text: "second"),
      Copies(first: 2, second: 3, torn: [1], text: "first"),
      Copies(first: 2, second: 1, torn: [1], text: "first"),
      Copies(first: 2, torn: [0], text: nil),
      Copies(first: 2, second: 3, torn: [0, 1], text: nil),
    ])
  func ofATextTheNewerWholeCopyCounts(copies: Copies) {
    log.putSlot(0, "phase", 6)
    if let first = copies.first { log.putCopy(1, "first", ordinal: first) }
    if let second = copies.second { log.putCopy(2, "second", ordinal: second) }
    for index in copies.torn {
      log.ring[RingLayout.stateSlots + (1 + index) * StateSlotLayout.size + 9] ^= 0x55
    }
    if let text = copies.text {
      expect([("phase", .text(text))])
    } else {
      expect([], corruption: [0..<192])
    }
  }

  @Test("a text whose copies are behind the area is empty")
  func aTextWhoseCopiesAreBehindTheAreaIsEmpty() {
    log.putSlot(127, "phase", 6)
    expect([("phase", .text(""))])
  }

  @Test("hostile slots are read or are corrupted")
  func hostileSlotsAreReadOrAreCorrupted() {
    var generator = SeededGenerator(seed: 19)
    log.putState()
    let ring = log.ring
    for _ in 0..<3000 {
      log.ring = ring
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        let place = Int.random(in: 0..<13 * StateSlotLayout.size, using: &generator)
        log.ring[RingLayout.stateSlots + place] = UInt8.random(in: 0...255, using: &generator)
      }
      let state = read()
      #expect(state.values.allSatisfy { (1...48 * 3).contains($0.name.utf8.count) })
      #expect(state.corruption.allSatisfy { $0.upperBound <= StateSlotLayout.areaSize })
      #expect(!zip(state.corruption, state.corruption.dropFirst()).contains { $0.overlaps($1) })
    }
  }
}

extension [(name: String, value: Value)] {
  fileprivate var asPairs: [(key: String, value: Value)] { map { ($0.name, $0.value) } }
}
