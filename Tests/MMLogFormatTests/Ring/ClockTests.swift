import MMLogFormat
import TestSupport
import Testing

@Suite struct ClockTests {
  @Test("a pair is read as it was written and refused with a flipped bit")
  func aPairIsReadAsItWasWrittenAndRefusedWithAFlippedBit() {
    let pair = ClockPair(ticks: .max, wall: .distantPast, monotonic: 77, ordinal: 5)
    let bytes = pair.encoded
    #expect(bytes.count == 32 && bytes.read { ClockPair($0) } == pair)
    for bit in 0..<256 {
      #expect(bytes.flipping(bit: bit).read { ClockPair($0) } == nil, "bit \(bit)")
    }
    for count in 0..<32 { #expect(Array(bytes.prefix(count)).read { ClockPair($0) } == nil) }
    #expect([UInt8](repeating: 0, count: 32).read { ClockPair($0) } == nil, "never written")
  }

  private func clock(_ ticks: (UInt64, UInt64), _ monotonic: (UInt64, UInt64)) -> TickClock {
    TickClock(
      first: ClockPair(ticks: ticks.0, wall: 0, monotonic: monotonic.0, ordinal: 0),
      newest: ClockPair(ticks: ticks.1, wall: 1000, monotonic: monotonic.1, ordinal: 1))
  }

  @Test("a rate is the way between two pairs") func aRateIsTheWayBetweenTwoPairs() {
    #expect(clock((100, 300), (0, 100)).rate == 1 << 31)
    #expect(clock((0, 3), (0, 1)).rate == (1 << 32) / 3)
    #expect(clock((0, 1_000_000_000), (0, 4_000_000_000)).rate == 4 << 32)
    // Half a year at 5 GHz.
    let seconds: UInt64 = 180 * 86400
    #expect(
      clock((7, 7 + seconds * 5_000_000_000), (9, 9 + seconds * 1_000_000_000)).rate == (1 << 32)
        / 5)
  }

  @Test("a counter that begins anew keeps its rate")
  func aCounterThatBeginsAnewKeepsItsRate() {
    let first = ClockPair(ticks: 9 << 40, wall: 5, monotonic: 70, ordinal: 0)
    let old = ClockPair(ticks: 10 << 40, wall: 900, monotonic: 70 + 4 << 36, ordinal: 7)
    let rate = TickClock(first: first, newest: old).rate
    for ticks in [1 << 41, 1 << 39, 12_345_678, 1 << 50] as [UInt64] {
      let new = ClockPair(
        ticks: ticks, wall: 5000, monotonic: old.monotonic + 1_000, ordinal: 8)
      let clock = TickClock(first: first.moved(with: old, to: new), newest: new)
      #expect(clock.wall == 5000 && clock.ticks == ticks)
      #expect(Double(clock.rate) / Double(rate) - 1 < 0.001, "\(ticks): \(clock.rate)")
      #expect(Double(rate) / Double(clock.rate) - 1 < 0.001, "\(ticks): \(clock.rate)")
    }
    let none = ClockPair(ticks: 0, wall: 0, monotonic: 0, ordinal: 1)
    #expect(TickClock(first: first.moved(with: old, to: none), newest: none).rate == 1 << 32)
  }

  @Test("a counter has gone on alone if there are far too many ticks for the time")
  func aCounterHasGoneOnAlone() {
    func pair(_ ticks: UInt64, _ monotonic: UInt64) -> ClockPair {
      ClockPair(ticks: ticks, wall: 0, monotonic: monotonic, ordinal: 0)
    }
    let second: UInt64 = 1_000_000_000
    // Three ticks in a nanosecond, for an hour.
    let (first, newest) = (pair(7, 5), pair(7 + 10_800 * second, 5 + 3600 * second))
    func hasGoneOn(_ counted: UInt64, in elapsed: UInt64) -> Bool {
      first.counterHasGoneOn(
        from: newest, to: newest.ticks + 3 * counted, newest.monotonic + elapsed)
    }
    for elapsed in [0, second, 100 * second] {
      #expect(!hasGoneOn(elapsed, in: elapsed) && !hasGoneOn(elapsed / 12 * 13, in: elapsed))
      #expect(!hasGoneOn(elapsed + second, in: elapsed), "as much as is not noticed")
      #expect(hasGoneOn(elapsed + 28_800 * second, in: elapsed))
    }
    #expect(hasGoneOn(3 * second, in: second) && !hasGoneOn(second, in: 3 * second))
    // A tenth of a millisecond, whose end was read so late that it looks like ten times as long.
    let (early, late) = (pair(0, 1_000_000), pair(300_000, 2_000_000))
    #expect(!early.counterHasGoneOn(from: late, to: 3 * second, second))
    #expect(early.counterHasGoneOn(from: late, to: 86_400 * 3 * second, second))
  }

  @Test("pairs that make no sense have not gone on, and do not trap")
  func pairsThatMakeNoSenseHaveNotGoneOn() {
    let values: [UInt64] = [0, 1, .max]
    let pairs = values.flatMap { ticks in
      values.map { ClockPair(ticks: ticks, wall: 0, monotonic: $0, ordinal: 0) }
    }
    for (first, newest) in pairs.flatMap({ first in pairs.map { (first, $0) } }) {
      #expect(!first.counterHasGoneOn(from: newest, to: newest.ticks, newest.monotonic))
      for ticks in values {
        for monotonic in values {
          _ = first.counterHasGoneOn(from: newest, to: ticks, monotonic)
        }
      }
    }
  }

  @Test("pairs that make no sense give some rate") func pairsThatMakeNoSenseGiveSomeRate() {
    #expect(clock((5, 5), (0, 100)).rate == 1 << 32, "no tick passed")
    #expect(clock((0, 1), (0, .max)).rate == 1 << 32, "more than 64 bits")
    for ticks in [0, 1, .max] as [UInt64] {
      for monotonic in [0, 1, .max] as [UInt64] {
        _ = clock((ticks, 1), (monotonic, 1)).wall(at: 5)
        _ = clock((1, ticks), (1, monotonic)).wall(at: .max)
      }
    }
  }

  @Test("wall time is rounded down on both sides") func wallTimeIsRoundedDownOnBothSides() {
    let clock = TickClock(ticks: 1000, wall: 50, rate: 1 << 31)
    #expect([1000, 1001, 1002, 999, 998].map { clock.wall(at: $0) } == [50, 50, 51, 49, 49])
  }

  /// With 128 bits, as FORMAT.md, 7 asks for.
  @Test("a year of ticks is exact") func aYearOfTicksIsExact() {
    let clock = TickClock(ticks: 0, wall: TestLog.epoch, rate: 1 << 30)
    let year: UInt64 = 365 * 86400 * 4_000_000_000
    #expect(clock.wall(at: year) == TestLog.epoch + .seconds(365 * 86400))
  }

  @Test("what does not fit is clamped") func whatDoesNotFitIsClamped() {
    #expect(TickClock(ticks: 0, wall: .distantFuture, rate: .max).wall(at: .max) == .distantFuture)
    #expect(TickClock(ticks: .max, wall: .distantPast, rate: .max).wall(at: 0) == .distantPast)
    #expect(TickClock(ticks: 0, wall: .distantFuture, rate: 1 << 32).wall(at: 1) == .distantFuture)
    #expect(TickClock(ticks: 1, wall: .distantPast, rate: 1 << 32).wall(at: 0) == .distantPast)
    #expect(TickClock(ticks: 0, wall: -5, rate: 0).wall(at: .max) == -5)
  }
}

@Suite struct LossLedgerTests {
  @Test("counts stand where the format says") func countsStandWhereTheFormatSays() {
    var ledger = LossLedger()
    ledger[.tooLarge, .critical] = 9
    ledger[.overwritten, .debug] = 3
    let bytes = ledger.encoded
    #expect(bytes.count == 512)
    #expect(bytes[(6 * 8 + 6) * 8] == 9 && bytes[(1 * 8 + 1) * 8] == 3)
    #expect(bytes.read { LossLedger($0) } == ledger)
    #expect(LossLedger.offset(.cut, .notice) == (2 * 8 + 3) * 8)
  }

  @Test("totals are over levels and never trap") func totalsAreOverLevelsAndNeverTrap() {
    var ledger = LossLedger()
    #expect(ledger.isEmpty && ledger.total(.ringFull) == 0)
    ledger[.ringFull, .info] = .max
    ledger[.ringFull, .error] = 2
    #expect(ledger.total(.ringFull) == 1 && !ledger.isEmpty)
    #expect(Array(ledger.encoded.dropLast()).read { LossLedger($0) } == nil)
  }
}
