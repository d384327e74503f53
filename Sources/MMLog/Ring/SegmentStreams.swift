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
/// the drainer may be waiting for a disk. The streams stand in memory that is as far from the
/// ring's segments for each byte: so a writer finds its stream with one addition.
///
/// Only streams of open segments, of those that are taken next, and of a few more are in memory.
/// That is in no core dump, and zero in a child of fork.
///
/// Proof of `@unchecked Sendable`: what is no atomic is the thread's own, and of whoever starts it
/// before that. The number of a segment's stream is stored before the segment may be taken.
final class SegmentStreams: @unchecked Sendable {
  /// Nil after the session's end.
  private(set) var cipher: RingCipher?
  private let pool: SegmentPool
  private let segmentSize: Int
  private let eventCounts: RingEventCounts
  private let memory: UnsafeMutableRawPointer
  private let size: Int
  /// From a byte of a segment to that of its stream.
  let distance: Int
  private let numbers: UnsafeMutablePointer<UInt64>
  /// What the process's handlers of fatal signals encrypt their reports with.
  private(set) var crashStream: SecretMemory?
  /// The segments that have a stream in memory, as they were when they got it.
  private var made: [SegmentPool.Snapshot?]
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
    segmentSize = geometry.segmentSize
    size = geometry.segmentSize * geometry.segmentCount
    let (memory, crashStream) = try explaining("Making the ring failed") {
      [size] () throws(SystemError) in
      (try StreamMemory.allocate(size), try SecretMemory(count: CrashReport.streamSize))
    }
    (self.memory, self.crashStream) = (memory, crashStream)
    distance = memory - segments
    numbers = .allocate(capacity: geometry.segmentCount)
    numbers.initialize(repeating: 0, count: geometry.segmentCount)
    made = .init(repeating: nil, count: geometry.segmentCount)
    wanted = max(2, min(geometry.segmentCount / 4, Self.readySize / geometry.segmentSize))
    do throws(CryptoError) {
      try cipher.fill(crashStream.bytes, ofStream: RingCipher.crashStream)
      try fill()
    } catch {
      throw LogError(encryptingRing: error)
    }
  }

  deinit { numbers.deallocate() }

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

  /// The number of the stream of a segment that was taken.
  func number(ofSegment index: Int) -> UInt64 { numbers[index] }

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

  /// Gives back the memory of streams that nobody needs any more, but of some: there is the next
  /// ones' place, and what the kernel gives anew costs more than the stream that is made in it.
  private func letGo() {
    var spare = 0
    for index in made.indices {
      guard let seen = made[index], pool.snapshot(index) != seen, !pool.isOpenSince(seen) else {
        continue
      }
      spare += 1
      if spare <= 2 * wanted { continue }
      StreamMemory.clear(memory + index * segmentSize, count: segmentSize)
      made[index] = nil
    }
  }

  /// Makes the streams that are needed next, as many as there are to be.
  private func fill() throws(CryptoError) {
    letGo()
    while ready.load(ordering: .relaxed) < wanted, let index = pool.takeBare() {
      let stream = UnsafeMutableRawBufferPointer(
        start: memory + index * segmentSize, count: segmentSize)
      newest += 1
      do throws(CryptoError) {
        try cipher?.fill(stream, ofStream: newest)
      } catch {
        pool.give(bare: index)
        throw error
      }
      if made[index] == nil { StreamMemory.lock(stream) }
      numbers[index] = newest
      made[index] = pool.snapshot(index)
      ready.add(1, ordering: .relaxed)
      pool.give(ready: index)
      eventCounts.segmentFreed()
    }
  }
}

extension LogError {
  /// Why a ring cannot be encrypted.
  init(encryptingRing error: CryptoError) {
    self.init(.unsupported, "The ring cannot be encrypted: \(error).", path: "", cause: error)
  }
}
