import CMMLogCore
import MMLogSystem
import Synchronization

/// Which segments are free, open, sealed or being read. The pool is the process's own memory of
/// that, and decides; the ring's headers only inform others.
///
/// Taking and giving back is lock-free and async-signal-safe: a stack of Treiber's kind, its head
/// tagged against reuse (R. K. Treiber, "Systems Programming: Coping with Parallelism", 1986). Last
/// in, first out, so that a quiet service lives in a few warm pages.
///
/// Proof of `@unchecked Sendable`: all words behind the pointers are touched by atomic operations
/// only.
final class SegmentPool: @unchecked Sendable {
  enum Status: UInt32 {
    case free
    case open
    case sealed
    /// Sealed, and being drained or discarded by whoever acquired it.
    case acquired
    /// Archived except for its flight records, and kept for these until its place is needed.
    case retained
    /// Retained before, and being emptied by whoever evicts its flight records.
    case evicting

    /// Whether there may be records that are not archived, other than flight records.
    var mayHoldUnarchived: Bool { self == .open || self == .sealed || self == .acquired }
  }

  /// A segment as it was at one moment.
  struct Snapshot: Equatable {
    let index: Int
    /// The status in the low bits, and above them how often the segment was taken. So a segment
    /// that was used again differs from what it was, even if its status is the same.
    fileprivate let word: UInt32

    var status: Status { Status(rawValue: word & SegmentPool.statusMask) ?? .free }
  }

  private static let statusMask: UInt32 = 7

  let count: Int
  /// How many writers may have a segment of their own, so that some segments are left that pass
  /// from one writer to another.
  private let maximumHolders: Int
  private let holders = Atomic<Int>(0)
  /// A ``Snapshot`` of each segment, as a word.
  private let words: UnsafeMutablePointer<UInt32>
  /// The generation of each segment's use; 0 while the segment is free.
  private let generations: UnsafeMutablePointer<UInt64>
  private let nexts: UnsafeMutablePointer<UInt32>
  /// 1 for segments that the drainer is reading although it has not acquired them.
  private let pins: UnsafeMutablePointer<UInt32>
  /// How many flight records of each segment were passed over, and not captured yet.
  private let flightCounts: UnsafeMutablePointer<UInt32>
  /// The top of the stack of free segments: a segment's number plus one in the low half, a counter
  /// in the high half.
  private let head: UnsafeMutablePointer<UInt64>
  /// The top of the stack of free segments that no thread may take yet: those of an encrypted ring
  /// that have no stream.
  private let bareHead: UnsafeMutablePointer<UInt64>
  private let needsStreams: Bool
  /// How many free segments no thread may take yet, with those whose stream is being made.
  private let bareCount: Atomic<Int>

  /// - Parameter needsStreams: Whether segments need a stream before a thread may take them.
  ///   Segments become free without a stream, and then only the maker of streams may take them.
  init(count: Int, needsStreams: Bool = false) {
    self.needsStreams = needsStreams
    self.count = count
    maximumHolders = max(1, count - max(2, count / 4))
    words = .allocate(capacity: count)
    generations = .allocate(capacity: count)
    generations.initialize(repeating: 0, count: count)
    nexts = .allocate(capacity: count)
    pins = .allocate(capacity: count)
    pins.initialize(repeating: 0, count: count)
    flightCounts = .allocate(capacity: count)
    flightCounts.initialize(repeating: 0, count: count)
    head = .allocate(capacity: 1)
    words.initialize(repeating: Status.free.rawValue, count: count)
    for index in 0..<count { nexts[index] = index + 1 < count ? UInt32(index + 2) : 0 }
    bareHead = .allocate(capacity: 1)
    bareCount = Atomic(needsStreams ? count : 0)
    head.initialize(to: needsStreams ? 0 : 1)
    bareHead.initialize(to: needsStreams ? 1 : 0)
  }

  deinit {
    words.deallocate()
    generations.deallocate()
    nexts.deallocate()
    pins.deallocate()
    flightCounts.deallocate()
    head.deallocate()
    bareHead.deallocate()
  }

  /// Counts a writer that is about to get its first segment; false if as many writers have one as
  /// may.
  ///
  /// The writer is counted before it has a segment. Otherwise many threads at once could open all
  /// segments, and none would ever become free.
  ///
  /// - Parameter isShared: Whether it is the writer for threads without a segment, which always may
  ///   have one.
  func addHolder(isShared: Bool) -> Bool {
    if holders.add(1, ordering: .relaxed).newValue <= maximumHolders || isShared { return true }
    removeHolder()
    return false
  }

  /// Counts a writer that has given up its segment and gets no other.
  func removeHolder() { holders.subtract(1, ordering: .relaxed) }

  /// Takes a free segment and makes it open; returns nil if there is none.
  @inline(__always)
  func take() -> Int? {
    guard let index = pop(head) else { return nil }
    // With all bits of the status set, adding one carries into the count of the segment's uses.
    let word = mmlog_load_relaxed_u32(words + index) | Self.statusMask
    mmlog_store_release_u32(words + index, word &+ 1 | Status.open.rawValue)
    return index
  }

  /// Takes in the generation of a segment that was taken. The ring's header of the segment says so
  /// later.
  @inline(__always)
  func begin(_ index: Int, generation: UInt64) {
    mmlog_store_release_u64(generations + index, generation)
  }

  /// The generation of a segment's use; 0 while the segment is free, and for a moment after it was
  /// taken.
  @inline(__always)
  func generation(_ index: Int) -> UInt64 { mmlog_load_acquire_u64(generations + index) }

  /// Gives a segment back that was acquired.
  func give(back index: Int) {
    mmlog_store_release_u64(generations + index, 0)
    set(index, .free)
    if needsStreams { bareCount.add(1, ordering: .relaxed) }
    push(index, needsStreams ? bareHead : head)
  }

  /// Takes a free segment that has no stream, for whoever makes one.
  func takeBare() -> Int? { pop(bareHead) }

  /// Gives a segment back that ``takeBare()`` gave.
  func give(bare index: Int) { push(index, bareHead) }

  /// Lets threads take a segment that ``takeBare()`` gave, and that has its stream now.
  func give(ready index: Int) {
    push(index, head)
    bareCount.subtract(1, ordering: .releasing)
  }

  /// Whether there are free segments that have no stream yet.
  var hasBare: Bool { bareCount.load(ordering: .acquiring) > 0 }

  @inline(__always)
  private func pop(_ head: UnsafeMutablePointer<UInt64>) -> Int? {
    var old = mmlog_load_acquire_u64(head)
    while true {
      let top = UInt32(truncatingIfNeeded: old)
      guard top != 0 else { return nil }
      let next = mmlog_load_relaxed_u32(nexts + Int(top - 1))
      let new = (old >> 32 &+ 1) << 32 | UInt64(next)
      if mmlog_compare_exchange_u64(head, &old, new) { return Int(top - 1) }
    }
  }

  @inline(__always)
  private func push(_ index: Int, _ head: UnsafeMutablePointer<UInt64>) {
    var old = mmlog_load_acquire_u64(head)
    while true {
      mmlog_store_relaxed_u32(nexts + index, UInt32(truncatingIfNeeded: old))
      let new = (old >> 32 &+ 1) << 32 | UInt64(index + 1)
      if mmlog_compare_exchange_u64(head, &old, new) { return }
    }
  }

  /// Whether a segment is open now, in its first use since a snapshot saw it free.
  func isOpenSince(_ free: Snapshot) -> Bool {
    let word = free.word | Self.statusMask
    return snapshot(free.index).word == word &+ 1 | Status.open.rawValue
  }

  /// Returns the free segments that will be taken next, as of some moment: threads may take them
  /// meanwhile.
  func nextFree(_ count: Int) -> [Int] {
    var indices: [Int] = []
    var next = UInt32(truncatingIfNeeded: mmlog_load_acquire_u64(head))
    while next != 0, indices.count < count {
      indices.append(Int(next - 1))
      next = mmlog_load_relaxed_u32(nexts + Int(next - 1))
    }
    return indices
  }

  /// Says that an open segment will get no more records.
  @inline(__always)
  func seal(_ index: Int) { set(index, .sealed) }

  /// Acquires a sealed segment for draining or discarding; false if another has it.
  func acquire(_ index: Int) -> Bool {
    let seen = snapshot(index)
    return seen.status == .sealed && acquire(seen)
  }

  /// Acquires a segment that was seen sealed or retained; false if it has changed since.
  ///
  /// - Parameter status: What the segment is from then on. Default: acquired.
  func acquire(_ seen: Snapshot, as status: Status = .acquired) -> Bool {
    var expected = seen.word
    let acquired = seen.word & ~Self.statusMask | status.rawValue
    return mmlog_compare_exchange_u32(words + seen.index, &expected, acquired)
  }

  /// Acquires a sealed segment for the drainer; false if it is not sealed.
  ///
  /// If a thread has acquired the segment, this waits for it, but not for ever: mostly that thread
  /// finds a pin, and gives the segment back. If the drainer passed over the segment, but not a
  /// younger one of the same writing thread, the fragments of a record could change their order.
  func acquireInTurn(_ index: Int) -> Bool {
    for _ in 0..<10_000 {
      switch status(index) {
      case .sealed: if acquire(index) { return true }
      case .acquired: Sleep.nanoseconds(50_000)
      case .free, .open, .retained, .evicting: return false
      }
    }
    return false
  }

  /// Acquires, for discarding, a segment that was seen sealed; false if it has changed since, or
  /// the drainer is reading it.
  func acquireUnpinned(_ seen: Snapshot) -> Bool {
    guard acquire(seen) else { return false }
    // This acquires, then inspects the pin; the drainer pins, then inspects the status. All four
    // steps are sequentially consistent: at least one of the two threads sees the other.
    if mmlog_load_ordered_u32(pins + seen.index) == 0 { return true }
    release(seen.index)
    return false
  }

  /// Keeps an open segment from being discarded until ``unpin(_:)``, even if it is sealed
  /// meanwhile; false if it is not open.
  func pinOpen(_ index: Int) -> Bool {
    guard status(index) == .open else { return false }
    _ = mmlog_exchange_u32(pins + index, 1)
    let word = mmlog_load_ordered_u32(words + index)
    if Snapshot(index: index, word: word).status == .open { return true }
    // The segment was sealed just now, and may have been discarded before anybody saw the pin.
    unpin(index)
    return false
  }

  /// Lets a pinned segment be discarded.
  func unpin(_ index: Int) { _ = mmlog_exchange_u32(pins + index, 0) }

  /// Gives an acquired segment back: the segment is sealed as before.
  func release(_ index: Int) { set(index, .sealed) }

  // MARK: - Flight records

  /// Keeps an acquired segment for its flight records.
  func retain(_ index: Int) { set(index, .retained) }

  /// Acquires a retained segment; false if another has it.
  func acquireRetained(_ index: Int) -> Bool {
    let seen = snapshot(index)
    return seen.status == .retained && acquire(seen)
  }

  /// Counts flight records that stay in a segment. A negative number subtracts captured ones.
  func addFlight(_ count: Int, to index: Int) {
    _ = mmlog_fetch_add_u32(flightCounts + index, UInt32(truncatingIfNeeded: count))
  }

  /// How many flight records there are in a segment.
  func flightCount(_ index: Int) -> Int { Int(mmlog_load_acquire_u32(flightCounts + index)) }

  /// Returns how many flight records there are in a segment, and sets that to 0: the segment is
  /// being emptied.
  func takeFlightCount(_ index: Int) -> UInt32 { mmlog_exchange_u32(flightCounts + index, 0) }

  // MARK: - Counts

  /// How many segments are free.
  var freeCount: Int { (0..<count).count { status($0) == .free } }

  /// How many segments are sealed and not acquired.
  var sealedCount: Int { (0..<count).count { status($0) == .sealed } }

  /// How many segments may have records that are not archived, or get more records.
  var busyCount: Int {
    (0..<count).count { status($0).mayHoldUnarchived }
  }

  /// Which part of the segments that no thread has waits to be archived, from 0 to 1.
  ///
  /// - Parameter acquired: How many segments the caller has acquired: these wait, too.
  func waitingShare(with acquired: Int) -> Double {
    var (open, waiting) = (0, acquired)
    for index in 0..<count {
      let status = status(index)
      if status == .open { open += 1 }
      if status == .sealed { waiting += 1 }
    }
    return waiting == 0 ? 0 : Double(waiting) / Double(count - open)
  }

  /// The waiting share for a caller that has acquired no segment: those that others have acquired
  /// wait, too.
  var waitingShare: Double { waitingShare(with: (0..<count).count { status($0) == .acquired }) }

  func status(_ index: Int) -> Status { snapshot(index).status }

  func snapshot(_ index: Int) -> Snapshot {
    Snapshot(index: index, word: mmlog_load_acquire_u32(words + index))
  }

  /// Only whoever has the segment may call this.
  @inline(__always)
  private func set(_ index: Int, _ status: Status) {
    let word = mmlog_load_relaxed_u32(words + index)
    mmlog_store_release_u32(words + index, word & ~Self.statusMask | status.rawValue)
  }
}
