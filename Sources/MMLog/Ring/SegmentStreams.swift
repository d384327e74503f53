import MMLogCrypto
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The streams of an encrypted ring's segments, for those who write into them: see ``RingCipher``.
///
/// A segment has to have its stream before a thread may take it. A separate thread makes the
/// streams ahead: a log call must not use libcrypto, which takes memory from the heap, and the
/// drainer may be waiting for a disk. A writer finds its stream with one addition: a segment has
/// been given the distance to its stream.
///
/// Only these streams are in memory: those of open segments, those of segments that are taken next,
/// and a few spent ones. New streams are made in the places of spent ones, which are warm, and cost
/// no page fault. The memory is in no core dump, and zero in a child of fork; the data of libcrypto
/// itself, while it makes a stream, is on the heap.
///
/// Proof of `@unchecked Sendable`: what is not atomic belongs to the thread, and before that to
/// whoever starts it. A segment's use is stored before the segment may be taken.
final class SegmentStreams: @unchecked Sendable {
  /// What a segment has been given.
  struct Use {
    /// The stream's number.
    var number: UInt64 = 0
    /// From a byte of the segment to the byte of the stream that encrypts it.
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
  /// For each place that has a stream, the stream's segment, as the segment was when it got the
  /// stream.
  private var owners: [SegmentPool.Snapshot?]
  /// Places that have memory, and no stream that anybody needs; last in, first out.
  private var spare: [Int] = []
  /// Places without memory.
  private var untouched: [Int]
  private var newest: UInt64 = 0
  /// How many free segments have a stream.
  private let ready = Atomic<Int>(0)
  private let wanted: Int
  /// Whether libcrypto refuses to make streams.
  private let isFailing = Atomic<Bool>(false)
  private let worker = Worker("mmlog-streams")

  /// How many bytes of streams are made ahead.
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
    // In this order: the first allocation frees itself if the second fails.
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

  /// Ends the thread. From then on, segments that become free get no stream, and no thread takes
  /// them.
  func stop() { worker.stop() }

  /// See ``Worker/passLock``.
  var passLock: ForkSafeMutex { worker.passLock }

  /// Gives the memory back, and forgets the key, when nobody writes any more.
  func free() {
    PrivateMemory.free(memory, count: size)
    (cipher, crashStream) = (nil, nil)
  }

  /// What a taken segment has been given. Async-signal-safe.
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

  /// Whether a free segment is about to get its stream, and is worth waiting for.
  var isMaking: Bool { pool.hasBare && !isFailing.load(ordering: .relaxed) }

  /// Makes the thread work at once. Async-signal-safe.
  func wake() { worker.wake() }

  /// Makes the streams that are needed next, until enough free segments have one.
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

  /// Returns a place for a stream. There always is one, because there are as many places as
  /// segments.
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
