import CMMLogCore
import CMMLogWriter
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
  // Computed as in the geometry, whose functions each cost a call.
  func address(ofSegment index: Int) -> UnsafeMutableRawPointer {
    precondition(index >= 0 && index < pool.count)
    return base + (geometry.segmentsOffset + index * geometry.segmentSize)
  }

  /// A segment, for its header. Async-signal-safe.
  func segment(_ index: Int) -> UnsafeMutablePointer<mmlog_segment> {
    address(ofSegment: index).assumingMemoryBound(to: mmlog_segment.self)
  }

  /// A segment's header as it stands now; nil if it cannot be read. Async-signal-safe.
  func header(ofSegment index: Int) -> SegmentHeader? {
    let words = address(ofSegment: index).assumingMemoryBound(to: UInt64.self)
    // A word more than the header has: a segment is larger than its header.
    let count = SegmentLayout.size / wordSize + 1
    return withUnsafeTemporaryAllocation(byteCount: count * wordSize, alignment: wordSize) { copy in
      // By atomic loads: its thread may be sealing the segment. Not `for in`: in a build without
      // optimization, an iterator allocates.
      var word = 0
      while word < count {
        copy.storeBytes(
          of: mmlog_load_relaxed_u64(words + word), toByteOffset: word * wordSize, as: UInt64.self)
        word += 1
      }
      return try? SegmentHeader(UnsafeRawBufferPointer(copy), size: geometry.segmentSize)
    }
  }

  /// The header of a segment in use; nil if the segment is free, a thread is just opening it, or
  /// the header cannot be read.
  func openHeader(ofSegment index: Int) -> SegmentHeader? {
    // The state is stored last, and loaded first.
    guard mmlog_segment_state(segment(index)) != SegmentLayout.stateFree,
      let header = header(ofSegment: index), !header.isFree
    else { return nil }
    return header
  }

  /// Corrects the header of an acquired, sealed segment if its state or one bit of the rest is
  /// wrong.
  ///
  /// - Returns: Whether the header can be read now.
  func correctHeader(ofSegment index: Int) -> Bool {
    mmlog_set_segment_state(segment(index), SegmentLayout.stateSealed)
    if openHeader(ofSegment: index) != nil { return true }
    let bytes = UnsafeMutableRawBufferPointer(
      start: address(ofSegment: index), count: geometry.segmentSize)
    return bytes.correctSegmentHeader() && openHeader(ofSegment: index) != nil
  }

  /// The bytes of a segment, header and records, as they stand now.
  func bytes(ofSegment index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: address(ofSegment: index), count: geometry.segmentSize)
  }

  /// Walks over the records of a segment between two offsets; see ``RecordScanner``.
  func scanner(
    ofSegment index: Int, _ header: SegmentHeader, from offset: Int, to end: Int,
    isWhole: Bool
  ) -> RecordScanner {
    RecordScanner(
      bytes(ofSegment: index), header, of: identity.session, from: offset, to: end,
      isWhole: isWhole)
  }

  /// Walks over the records of a segment from an offset to where they end, as far as the header
  /// says that. In a sealed segment, zeros before the end are a loss.
  func scanner(
    ofSegment index: Int, _ header: SegmentHeader, from offset: Int, isSealed: Bool = true
  ) -> RecordScanner {
    let hasEnd = header.end > 0
    return scanner(
      ofSegment: index, header, from: offset, to: hasEnd ? header.end : geometry.segmentSize,
      isWhole: isSealed && hasEnd)
  }

  /// How records stand in a segment.
  func content(of header: SegmentHeader) -> CollectedSegment.Content {
    guard header.stream != 0, let cipher else { return .clear }
    return .encrypted(SegmentStream(header.stream, of: cipher))
  }

  /// Copies a segment as it stands now, by way of the file: the segment's thread may be writing to
  /// it, or the drainer emptying it.
  ///
  /// - Parameter copy: As large as a segment.
  /// - Returns: Whether all of it could be read.
  func copy(segment index: Int, into copy: UnsafeMutableRawBufferPointer) -> Bool {
    readFile(into: copy, at: geometry.offset(ofSegment: index)) == copy.count
  }

  /// The maximum number of bytes that one record can have without being fragmented.
  var largestRecord: Int { geometry.segmentSize - MemoryLayout<mmlog_segment>.size }

  /// Opens a free segment for a writer; returns nil if there is none. Async-signal-safe, and leaves
  /// errno as it was.
  @inline(__always)
  func openSegment(for writer: UnsafeMutablePointer<mmlog_writer>) -> OpenSegment? {
    guard let index = pool.take() else { return nil }
    streams?.noteTaken()
    let generation = generationsStarted.add(1, ordering: .acquiringAndReleasing).newValue
    pool.begin(index, generation: generation)
    if generation >= wakingGeneration.load(ordering: .relaxed) { eventCounts.requestPass() }
    let segment = segment(index)
    let stream = streams?.use(ofSegment: index)
    mmlog_write_segment(segment, use(by: writer, generation, stream: stream?.number ?? 0))
    TestPoint.reachInCall(.segmentOpening)
    mmlog_set_segment_state(segment, UInt32(MMLOG_SEGMENT_OPEN))
    // Stored after the header and before the first record: where this word stands, there was a
    // header.
    let seed = ~UInt32(truncatingIfNeeded: mmlog_crc32c_word(seedState, generation))
    let first = MemoryLayout<mmlog_segment>.size
    mmlog_store_release_u64(use(ofSegment: index), mmlog_segment_use(UInt32(first), seed))
    let memory = UnsafeMutableRawPointer(segment).assumingMemoryBound(to: UInt8.self)
    return OpenSegment(
      index: index, generation: generation, cursor: memory + first,
      limit: memory + geometry.segmentSize, seed: seed, streamDistance: stream?.distance ?? 0)
  }

  @inline(__always)
  private func use(
    by writer: UnsafeMutablePointer<mmlog_writer>, _ generation: UInt64, stream: UInt64
  ) -> mmlog_segment {
    let thread = writer.pointee.thread
    var use = mmlog_segment()
    use.generation = generation
    use.thread_ordinal = thread.pointee.ordinal
    use.thread_id = thread.pointee.thread_id
    use.thread_name = thread.pointee.name
    use.writer = writer.pointee.id
    use.first_number = writer.pointee.number
    use.stream = stream
    return use
  }

  /// Says that a segment gets no more records. Async-signal-safe.
  ///
  /// - Parameter end: Where its records end.
  @inline(__always)
  func seal(segment index: Int, end: UnsafeMutablePointer<UInt8>) {
    let segment = segment(index)
    mmlog_set_segment_end(
      segment, UInt32(truncatingIfNeeded: UnsafeRawPointer(end) - UnsafeRawPointer(segment)))
    TestPoint.reachInCall(.segmentSealing)
    mmlog_set_segment_state(segment, UInt32(MMLOG_SEGMENT_SEALED))
    pool.seal(index)
  }

  /// How many segments fill a frame.
  var segmentsPerFrame: Int { (frameSize + geometry.segmentSize - 1) / geometry.segmentSize }

  /// Whether enough segments are sealed to fill a frame. Also true if threads may soon need
  /// segments: then even a small frame is worth writing.
  var hasFullFrame: Bool {
    pool.sealedCount >= segmentsPerFrame || pool.waitingShare(with: 0) > 0.5
  }

  /// Makes a thread wake the drainer if threads take more segments than expected before the drainer
  /// wakes by itself. Only the drainer calls this.
  func wakeIfNeeded() {
    let count = max(segmentsPerFrame + segmentsPerFrame / 2, pool.freeCount / 4)
    let generation = generationsStarted.load(ordering: .relaxed) &+ UInt64(count)
    wakingGeneration.store(generation, ordering: .relaxed)
  }

  /// Keeps threads from waking the drainer. Only the drainer calls this.
  func wakeNever() { wakingGeneration.store(.max, ordering: .relaxed) }

  /// Erases a committed record. Nobody else may empty the segment meanwhile. See ``ErasedRecord``.
  func erase(_ record: RecordView, at offset: Int, ofSegment index: Int, generation: UInt64) {
    let start = address(ofSegment: index) + offset
    let seed = checksumSeed(session: identity.session, generation: generation)
    let count = record.bytes.count
    mmlog_store_release_u64(
      start.assumingMemoryBound(to: UInt64.self), ErasedRecord.header(length: count, seed: seed))
    TestPoint.reach(.spanRecordMarked)
    // The body is zeroed only after the header says that the record is erased.
    mmlog_compiler_fence()
    (start + wordSize).initializeMemory(as: UInt8.self, repeating: 0, count: count - wordSize)
    TestPoint.reach(.spanRecordErased)
  }

  /// Notes that all records before `offset` are in an archive.
  func publish(archived offset: Int, ofSegment index: Int) {
    mmlog_set_segment_archived(segment(index), UInt32(offset))
  }

  /// Notes that the flight records before `offset` of a generation are in an archive, or too old
  /// for one.
  func publish(captured offset: Int, ofSegment index: Int, generation: UInt64) {
    let seed = checksumSeed(session: identity.session, generation: generation)
    mmlog_store_release_u64(use(ofSegment: index), SegmentUse.word(offset, seed: seed))
  }

  /// Up to where the flight records of a generation are noted as captured; where its first record
  /// is, if nothing was noted.
  func captured(ofSegment index: Int, generation: UInt64) -> Int {
    let seed = checksumSeed(session: identity.session, generation: generation)
    return SegmentUse.captured(
      capturedWord(ofSegment: index), seed: seed, segmentSize: geometry.segmentSize)
      ?? SegmentLayout.size
  }

  /// The word that says up to where a segment is captured: see `SegmentUse`. 0 if the segment is
  /// free.
  func capturedWord(ofSegment index: Int) -> UInt64 {
    mmlog_load_acquire_u64(use(ofSegment: index))
  }

  /// Notes that the flight records of a generation are evicted, if `word` is of that generation,
  /// and still stands in the ring.
  func noteEvicted(segment index: Int, generation: UInt64, replacing word: UInt64) {
    let size = geometry.segmentSize
    let seed = checksumSeed(session: identity.session, generation: generation)
    guard SegmentUse.captured(word, seed: seed, segmentSize: size) != nil else { return }
    var expected = word
    _ = mmlog_compare_exchange_u64(
      use(ofSegment: index), &expected, SegmentUse.word(size, seed: seed))
  }

  private func use(ofSegment index: Int) -> UnsafeMutablePointer<UInt64> {
    (base + (geometry.usesOffset + index * wordSize)).assumingMemoryBound(to: UInt64.self)
  }

  /// Empties a segment that was acquired, and gives it back.
  func free(segment index: Int) {
    let segment = segment(index)
    forget(UInt64(pool.takeFlightCount(index)))
    let generation = pool.generation(index)
    publish(captured: geometry.segmentSize, ofSegment: index, generation: generation)
    mmlog_set_segment_state(segment, SegmentLayout.stateFree)
    TestPoint.reach(.segmentFreeing)
    mmlog_store_release_u64(&segment.pointee.generation, 0)
    mmlog_store_release_u64(use(ofSegment: index), 0)
    // A reader in another process that sees zeros in place of records is to see these stores, too.
    mmlog_release_fence()
    // Writing zeros takes the page faults that a write-back has made due, so that the next log call
    // does not take them. The zeros go to the very end: a record that was begun here and then moved
    // elsewhere reaches past the last record.
    (UnsafeMutableRawPointer(segment) + SegmentLayout.size).initializeMemory(
      as: UInt8.self, repeating: 0, count: geometry.segmentSize - SegmentLayout.size)
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
      if !pool.status(index).mayHoldUnarchived || finished(index) { continue }
      let generation = pool.generation(index)
      // A segment is taken before it has a generation.
      if generation == 0 { return nil }
      lowest = min(lowest, generation)
    }
    // A segment taken meanwhile has a generation above `started`.
    return generationsStarted.load(ordering: .acquiring) == started ? lowest : nil
  }
}
