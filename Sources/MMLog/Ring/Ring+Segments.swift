import CMMLogCore
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// A segment that a thread, or several under a lock, write records into.
struct OpenSegment {
  let index: Int
  let generation: UInt64
  /// Where the next record goes.
  var cursor: UnsafeMutablePointer<UInt8>
  let limit: UnsafeMutablePointer<UInt8>
  let seed: UInt32
  /// See `stream_distance` of a writer.
  var streamDistance = 0
}

extension Ring {
  func address(ofSegment index: Int) -> UnsafeMutableRawPointer {
    base + geometry.offset(ofSegment: index)
  }

  /// A segment, for its header. Async-signal-safe.
  func segment(_ index: Int) -> MappedSegment { MappedSegment(address(ofSegment: index)) }

  /// A segment's header as it stands now; nil for one that cannot be read. Async-signal-safe.
  func header(ofSegment index: Int) -> SegmentHeader? {
    segment(index).header(size: geometry.segmentSize)
  }

  /// The same of a segment that is in use; nil for one that is free, or that a thread is just
  /// opening.
  func openHeader(ofSegment index: Int) -> SegmentHeader? {
    // The state is stored last, and loaded first.
    guard segment(index).state != SegmentLayout.stateFree,
      let header = header(ofSegment: index), !header.isFree
    else { return nil }
    return header
  }

  /// What the header and the records of a segment are, as they stand now.
  func bytes(ofSegment index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: address(ofSegment: index), count: geometry.segmentSize)
  }

  /// Walks over the records of a segment between two offsets.
  func scanner(
    ofSegment index: Int, _ header: SegmentHeader, from offset: Int, to end: Int
  ) -> RecordScanner {
    RecordScanner(bytes(ofSegment: index), header, of: identity.session, from: offset, to: end)
  }

  /// How records stand in a segment.
  func content(of header: SegmentHeader) -> SegmentRun.Content {
    guard header.stream != 0, let cipher else { return .clear }
    return .encrypted(SegmentStream(header.stream, of: cipher))
  }

  /// Copies a segment as it stands now, by way of the file: its thread may be writing to it, the
  /// drainer be emptying it.
  ///
  /// - Parameter copy: As large as a segment.
  /// - Returns: Whether all of it could be read.
  func copy(segment index: Int, into copy: UnsafeMutableRawBufferPointer) -> Bool {
    readFile(into: copy, at: geometry.offset(ofSegment: index)) == copy.count
  }

  /// The maximum number of bytes that one record can have without being fragmented.
  var largestRecord: Int { geometry.segmentSize - SegmentLayout.size }

  /// Opens a free segment for a thread, or gives nil if there is none. Async-signal-safe.
  func openSegment(for owner: SegmentOwner) -> OpenSegment? {
    guard let index = pool.take() else { return nil }
    streams?.noteTaken()
    let generation = generationsStarted.add(1, ordering: .acquiringAndReleasing).newValue
    if generation >= wakingGeneration.load(ordering: .relaxed) { eventCounts.requestPass() }
    let segment = segment(index)
    let stream = streams?.use(ofSegment: index)
    segment.write(owner, generation: generation, stream: stream?.number ?? 0)
    TestPoint.reach(.segmentOpening)
    segment.open()
    // Behind the header and before the first record: where it stands, there was a header.
    let seed = checksumSeed(session: identity.session, generation: generation)
    let first = SegmentLayout.size
    store(use: SegmentUse.word(first, seed: seed), ofSegment: index)
    let memory = segment.start.assumingMemoryBound(to: UInt8.self)
    return OpenSegment(
      index: index, generation: generation, cursor: memory + first,
      limit: memory + geometry.segmentSize, seed: seed, streamDistance: stream?.distance ?? 0)
  }

  /// Says that a segment gets no more records. Async-signal-safe.
  ///
  /// - Parameter end: Where its records end.
  func seal(segment index: Int, end: UnsafeMutablePointer<UInt8>) {
    let segment = segment(index)
    segment.note(end: UnsafeMutableRawPointer(end) - segment.start)
    TestPoint.reach(.segmentSealing)
    segment.seal()
    pool.seal(index)
  }

  /// How many segments fill a frame.
  var segmentsPerFrame: Int { (frameSize + geometry.segmentSize - 1) / geometry.segmentSize }

  /// Whether so many segments are sealed that a frame can be filled, or threads may soon need them,
  /// however small the frames are that make them free.
  var hasFullFrame: Bool {
    pool.sealedCount >= segmentsPerFrame || pool.waitingShare(with: 0) > 0.5
  }

  /// Has a thread wake the drainer that takes more segments than are expected until the drainer
  /// wakes by itself. For the drainer.
  func wakeIfNeeded() {
    let count = max(segmentsPerFrame + segmentsPerFrame / 2, pool.freeCount / 4)
    let generation = generationsStarted.load(ordering: .relaxed) &+ UInt64(count)
    wakingGeneration.store(generation, ordering: .relaxed)
  }

  /// Has no thread do so. For the drainer.
  func wakeNever() { wakingGeneration.store(.max, ordering: .relaxed) }

  /// Erases a committed record of a segment that nobody else may empty meanwhile: see
  /// ``ErasedRecord``.
  func erase(_ record: RecordView, at offset: Int, ofSegment index: Int, generation: UInt64) {
    let start = address(ofSegment: index) + offset
    let seed = checksumSeed(session: identity.session, generation: generation)
    let count = record.bytes.count
    mmlog_store_release_u64(
      start.assumingMemoryBound(to: UInt64.self), ErasedRecord.header(length: count, seed: seed))
    TestPoint.reach(.spanRecordMarked)
    // Not before the header says so.
    mmlog_compiler_fence()
    (start + wordSize).initializeMemory(as: UInt8.self, repeating: 0, count: count - wordSize)
    TestPoint.reach(.spanRecordErased)
  }

  /// Notes that all records before `offset` are in an archive.
  func publish(archived offset: Int, ofSegment index: Int) { segment(index).note(archived: offset) }

  /// Notes that the flight records before `offset` of a generation are in an archive, or too old
  /// for one.
  func publish(captured offset: Int, ofSegment index: Int, generation: UInt64) {
    let seed = checksumSeed(session: identity.session, generation: generation)
    store(use: SegmentUse.word(offset, seed: seed), ofSegment: index)
  }

  /// Up to where that was noted of a generation; where its first record is, if it was not.
  func captured(ofSegment index: Int, generation: UInt64) -> Int {
    let seed = checksumSeed(session: identity.session, generation: generation)
    return SegmentUse.captured(
      mmlog_load_acquire_u64(use(ofSegment: index)), seed: seed, segmentSize: geometry.segmentSize)
      ?? SegmentLayout.size
  }

  private func store(use word: UInt64, ofSegment index: Int) {
    mmlog_store_release_u64(use(ofSegment: index), word)
  }

  private func use(ofSegment index: Int) -> UnsafeMutablePointer<UInt64> {
    (base + geometry.use(ofSegment: index)).assumingMemoryBound(to: UInt64.self)
  }

  /// Empties a segment that was acquired, and gives it back.
  func free(segment index: Int) {
    let segment = segment(index)
    forget(UInt64(pool.takeFlightCount(index)))
    store(use: 0, ofSegment: index)
    segment.beginEmptying()
    TestPoint.reach(.segmentFreeing)
    segment.empty(size: geometry.segmentSize)
    TestPoint.reach(.segmentFreed)
    pool.give(back: index)
    if let streams { streams.noteFreed() } else { eventCounts.segmentFreed() }
  }

  /// The lowest generation that is not wholly archived, given the segments that are about to be
  /// freed; nil if that cannot be determined at this moment.
  func lowestGeneration(besides finished: (Int) -> Bool) -> UInt64? {
    let started = generationsStarted.load(ordering: .acquiring)
    var lowest = started + 1
    for index in 0..<pool.count {
      let status = pool.status(index)
      if status == .free || status == .retained || finished(index) { continue }
      let generation = generation(ofSegment: index)
      // A segment is taken before it has a generation, and has that before its header says so.
      if generation == 0 { return nil }
      lowest = min(lowest, generation)
    }
    // A segment taken meanwhile has a generation above `started`.
    return generationsStarted.load(ordering: .acquiring) == started ? lowest : nil
  }

  /// The generation in a segment's header; 0 while it is free.
  func generation(ofSegment index: Int) -> UInt64 { segment(index).generation }
}
