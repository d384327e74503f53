import CMMLogCore
import MMLogFormat
import MMLogSystem

/// The clocks of a ring: readings of the counter beside the clocks, which turn ticks into wall
/// time. They are also written into the ring, for whoever reads it after a crash. Any thread.
struct RingClocks {
  /// The first reading, and the newest; if the counter has begun anew, the clock of what was logged
  /// before; and, until ``beginAnew()``, the gap: see ``gap``.
  private typealias ClockPairs = (
    first: ClockPair, newest: ClockPair, earlier: TickClock?, gap: UInt64?
  )
  private let clockPairs: LockedValue<ClockPairs>
  private let base: UnsafeMutableRawPointer

  /// - Parameters:
  ///   - base: Where the ring begins.
  ///   - first: The first reading, which the ring has already.
  init(at base: UnsafeMutableRawPointer, _ first: ClockPair) {
    self.base = base
    clockPairs = LockedValue((first, first, nil, nil))
  }

  /// Reads the clocks and writes them into the ring, in the slot that does not hold the newest
  /// pair. Writes nothing if the counter has begun anew: see ``beginAnew()``.
  func read() {
    clockPairs.withLock { pairs in
      let newest = ClockPair.read(ordinal: pairs.newest.ordinal &+ 1)
      if !Self.hasBegunAnew(&pairs, newest.ticks, newest.monotonic) { note(newest, in: &pairs) }
    }
  }

  /// Whether the counter has begun anew since the newest reading, as after a suspension, or has
  /// gone on during a suspension while the clock stood still.
  var hasBegunAnew: Bool {
    clockPairs.withLock { pairs in
      // In this order, a pause between the two does not look like a suspension.
      let ticks = mmlog_ticks()
      return Self.hasBegunAnew(&pairs, ticks, Clock.monotonic())
    }
  }

  private static func hasBegunAnew(
    _ pairs: inout ClockPairs, _ ticks: UInt64, _ monotonic: UInt64
  ) -> Bool {
    if ticks < pairs.newest.ticks { return true }
    if pairs.gap == nil, pairs.first.counterHasGoneOn(from: pairs.newest, to: ticks, monotonic) {
      // The middle: what was logged before is nearer to the newest reading, the rest to now.
      pairs.gap = pairs.newest.ticks + (ticks - pairs.newest.ticks) / 2
    }
    return pairs.gap != nil
  }

  /// Ticks from the time during which the counter went on alone; nil if the counter has begun anew.
  var gap: UInt64? {
    clockPairs.withLock { mmlog_ticks() < $0.newest.ticks ? nil : $0.gap }
  }

  /// Continues by a counter that has begun anew, or gone on alone. Called once everything logged
  /// before is archived: by the new clock those records would have wrong times, also in a recovery
  /// of the ring.
  func beginAnew() {
    clockPairs.withLock { pairs in
      let newest = ClockPair.read(ordinal: pairs.newest.ordinal &+ 1)
      let isBehind = newest.ticks < pairs.newest.ticks
      if isBehind { pairs.earlier = TickClock(first: pairs.first, newest: pairs.newest) }
      if isBehind || pairs.gap != nil {
        pairs.first = pairs.first.moved(with: pairs.newest, to: newest)
        Self.write(pairs.first, at: base + RingLayout.firstClockPair)
      }
      pairs.gap = nil
      note(newest, in: &pairs)
    }
  }

  private func note(_ newest: ClockPair, in pairs: inout ClockPairs) {
    pairs.newest = newest
    let slot = Int(newest.ordinal % 2) * ClockPairLayout.size
    Self.write(newest, at: base + RingLayout.clockPairSlots + slot)
  }

  /// Turns this ring's ticks into wall time, as of the newest reading.
  var current: TickClock {
    clockPairs.withLock { TickClock(first: $0.first, newest: $0.newest) }
  }

  /// Returns the clock of records whose last has these ticks. If the counter has begun anew, the
  /// ticks tell whether the records are from before or after that.
  func clock(upTo lastTicks: UInt64) -> TickClock {
    clockPairs.withLock { pairs in
      let now = ClockPair.read(ordinal: 0)
      let clock = TickClock(first: pairs.first, newest: pairs.newest)
      if now.ticks < pairs.newest.ticks {
        if lastTicks > now.ticks { return clock }
        return TickClock(first: pairs.first.moved(with: pairs.newest, to: now), newest: now)
      }
      // Ahead by more than the counters of processors differ.
      let isAhead = clock.wall(at: lastTicks) > now.wall + .seconds(1)
      return isAhead ? pairs.earlier ?? clock : clock
    }
  }

  /// Writes a pair in three steps: the last word is zero while the others change, and is stored
  /// last. So a reader can distinguish a pair that a death cut off from a corrupted pair.
  static func write(_ pair: ClockPair, at address: UnsafeMutableRawPointer) {
    let bytes = pair.encoded
    let end = (address + ClockPairLayout.ordinal).assumingMemoryBound(to: UInt64.self)
    mmlog_store_relaxed_u64(end, 0)
    mmlog_compiler_fence()
    address.copyMemory(from: bytes, byteCount: ClockPairLayout.ordinal)
    let last = bytes.withUnsafeBytes { $0.load(ClockPairLayout.ordinal, as: UInt64.self) }
    mmlog_store_release_u64(end, last)
  }
}

extension ClockPair {
  /// Reads the three clocks at nearly the same moment: the best of a few tries, because an
  /// interruption between the readings makes a pair useless.
  static func read(ordinal: UInt32) -> ClockPair {
    var best = readOnce(ordinal)
    for _ in 1..<4 {
      let other = readOnce(ordinal)
      if other.width < best.width { best = other }
    }
    return best.pair
  }

  /// - Returns: The pair, and how many ticks the readings took.
  private static func readOnce(_ ordinal: UInt32) -> (pair: ClockPair, width: UInt64) {
    let before = mmlog_ticks()
    let monotonic = Clock.monotonic()
    let wall = Timestamp.now
    let width = mmlog_ticks() &- before
    let ticks = before &+ width / 2
    return (ClockPair(ticks: ticks, wall: wall, monotonic: monotonic, ordinal: ordinal), width)
  }
}
