import CMMLogCore
import MMLogCrypto
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The streams of an encrypted ring's segments, for those who write into them: see ``RingCipher``.
///
/// A segment has to have its stream before a thread may take it. A thread of its own makes them
/// ahead, because a log call must not use libcrypto, which takes memory from the heap; and because
/// the drainer may be waiting for a disk. A writer finds its stream with one addition: what a
/// segment has been given is the distance to it.
///
/// Only streams of open segments and of those that are taken next are in memory, and a few that are
/// spent: the next ones are made in their places, which are warm, and cost no page fault. The
/// memory is in no core dump, and zero in a child of fork; what libcrypto has of its own while it
/// makes a stream is on the heap.
///
/// Proof of `@unchecked Sendable`: what is no atomic is the thread's own, and of whoever starts it
/// before that. A segment's use is stored before the segment may be taken.
final class SegmentStreams: @unchecked Sendable {
  /// What a segment has been given.
  struct Use {
    /// The stream's number.
    var number: UInt64 = 0
    /// From a byte of the segment to that of the stream.
    var distance = 0
  }

  /// Nil after the session's end.
  private(set) var cipher: RingCipher?
  private let pool: SegmentPool
  private let segmentSize: Int
  private let eventCounts: RingEventCounts
  private let segments: UnsafeMutableRawPointer
  /// A place for each segment's stream, of which few are touched.
  private let memory: UnsafeMutableRawPointer
  private let size: Int
  private let uses: UnsafeMutablePointer<Use>
  /// What the process's handlers of fatal signals encrypt their reports with.
  private(set) var crashStream: SecretMemory?
  /// Of each place that has a stream, the segment that it is for, as that was when it got it.
  private var owners: [SegmentPool.Snapshot?]
  /// Places that have memory, and no stream that anybody needs; last in, first out.
  private var spare: [Int] = []
  /// Places without memory.
  private var untouched: [Int]
  private var newest: UInt64 = 0
  /// How many free segments have one.
  private let ready = Atomic<Int>(0)
  private let wanted: Int
  /// Whether libcrypto refuses to make any.
  private let isFailing = Atomic<Bool>(false)
  private let worker = Worker("mmlog-streams")

  /// How much is made ahead, in bytes.
  private static let readySize = 1 << 20
  /// How long the thread waits for somebody to wake it, in nanoseconds.
  private static let pause: Int64 = 1_000_000_000

  /// Makes the first streams.
  ///
  /// - Parameter segments: Where the ring's segments are.
  init(
    _ cipher: RingCipher, _ pool: SegmentPool, _ geometry: RingGeometry,
    _ eventCounts: RingEventCounts, segments: UnsafeMutableRawPointer
  ) throws(LogError) {
    (self.cipher, self.pool, self.eventCounts) = (cipher, pool, eventCounts)
    self.segments = segments
    segmentSize = geometry.segmentSize
    size = geometry.segmentSize * geometry.segmentCount
    // In this order: what is made first goes by itself if the second fails.
    let (crashStream, memory) = try explaining("Making the ring failed") {
      [size] () throws(SystemError) in
      (try SecretMemory(count: CrashReport.streamSize), try StreamMemory.allocate(size))
    }
    (self.memory, self.crashStream) = (memory, crashStream)
    uses = .allocate(capacity: geometry.segmentCount)
    uses.initialize(repeating: Use(), count: geometry.segmentCount)
    owners = .init(repeating: nil, count: geometry.segmentCount)
    untouched = Array((0..<geometry.segmentCount).reversed())
    wanted = max(2, min(geometry.segmentCount / 4, Self.readySize / geometry.segmentSize))
    do throws(CryptoError) {
      try cipher.fill(crashStream.bytes, ofStream: RingCipher.crashStream)
      try fill()
    } catch {
      free()
      throw LogError(encryptingRing: error)
    }
  }

  deinit { uses.deallocate() }

  /// Starts the thread.
  func start() throws(SystemError) {
    try worker.start { [self] _ in
      let isDone: Void? = try? fill()
      isFailing.store(isDone == nil, ordering: .relaxed)
      return Self.pause
    }
  }

  /// Ends the thread. From then on, segments that become free stay so.
  func stop() { worker.stop() }

  /// See ``Worker/passLock``.
  var passLock: ForkSafeMutex { worker.passLock }

  /// Gives the memory back, and forgets the key, when nobody writes any more.
  func free() {
    PrivateMemory.free(memory, count: size)
    (cipher, crashStream) = (nil, nil)
  }

  /// What a segment has that was taken. Async-signal-safe.
  func use(ofSegment index: Int) -> Use { uses[index] }

  /// Takes in that a segment was taken. Async-signal-safe.
  func noteTaken() {
    let left = ready.subtract(1, ordering: .relaxed).newValue
    if left == wanted / 2 || left <= 0 { worker.wake() }
  }

  /// Takes in that a segment became free. Async-signal-safe.
  func noteFreed() {
    if ready.load(ordering: .relaxed) < wanted { worker.wake() }
  }

  /// Whether a free segment gets its stream at this moment, and is worth waiting for.
  var isMaking: Bool { pool.hasBare && !isFailing.load(ordering: .relaxed) }

  /// Has the thread work at once. Async-signal-safe.
  func wake() { worker.wake() }

  /// Makes the streams that are needed next, as many as there are to be.
  private func fill() throws(CryptoError) {
    while ready.load(ordering: .relaxed) < wanted, let index = pool.takeBare() {
      let place = takePlace()
      newest += 1
      do throws(CryptoError) {
        try cipher?.fill(stream(at: place), ofStream: newest)
      } catch {
        spare.append(place)
        pool.give(bare: index)
        throw error
      }
      let distance = (memory + place * segmentSize) - (segments + index * segmentSize)
      uses[index] = Use(number: newest, distance: distance)
      owners[place] = pool.snapshot(index)
      ready.add(1, ordering: .relaxed)
      pool.give(ready: index)
      eventCounts.segmentFreed()
    }
    collectSpent()
    while spare.count > wanted {
      let place = spare.removeFirst()
      StreamMemory.clear(memory + place * segmentSize, count: segmentSize)
      untouched.append(place)
    }
  }

  private func stream(at place: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: memory + place * segmentSize, count: segmentSize)
  }

  /// A place for a stream. There always is one, because there are as many as segments.
  private func takePlace() -> Int {
    if spare.isEmpty { collectSpent() }
    if let place = spare.popLast() { return place }
    let place = untouched.removeLast()
    StreamMemory.lock(stream(at: place))
    return place
  }

  /// Finds the places of streams that nobody needs any more: their segments are sealed.
  private func collectSpent() {
    for place in owners.indices {
      guard let seen = owners[place], pool.snapshot(seen.index) != seen, !pool.isOpenSince(seen)
      else { continue }
      owners[place] = nil
      spare.append(place)
    }
  }
}

extension LogError {
  /// Why a ring cannot be encrypted.
  init(encryptingRing error: CryptoError) {
    self.init(.unsupported, "The ring cannot be encrypted: \(error).", path: "", cause: error)
  }
}
