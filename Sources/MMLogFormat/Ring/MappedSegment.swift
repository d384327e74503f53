import CMMLogCore

/// A segment of a ring that this process has mapped: its header changes by stores in an order that
/// leaves something at each moment that readers understand.
///
/// All of it is async-signal-safe. It is part of a log call that needs a new segment, and so stands
/// beside the layout: a constant of another module is a call.
package struct MappedSegment {
  /// Where it begins, header included.
  package let start: UnsafeMutableRawPointer

  package init(_ start: UnsafeMutableRawPointer) { self.start = start }

  // MARK: - Reading

  /// Its generation; 0 while it is free.
  package var generation: UInt64 { mmlog_load_relaxed_u64(word(SegmentLayout.generation)) }

  /// Its state, with acquire order.
  package var state: UInt32 { mmlog_load_acquire_u32(half(SegmentLayout.state)) }

  /// Its header as it stands now; nil if that cannot be read.
  ///
  /// Copied by atomic loads: its thread may be sealing the segment.
  ///
  /// - Parameter size: The size of the segment.
  package func header(size: Int) -> SegmentHeader? {
    // A word more than the header has: a segment is larger than its header.
    let count = SegmentLayout.size / wordSize + 1
    return withUnsafeTemporaryAllocation(byteCount: count * wordSize, alignment: wordSize) { copy in
      // Not `for in`: where nothing is optimized, an iterator allocates.
      var index = 0
      while index < count {
        let word = mmlog_load_relaxed_u64(word(index * wordSize))
        copy.storeBytes(of: word, toByteOffset: index * wordSize, as: UInt64.self)
        index += 1
      }
      return try? SegmentHeader(UnsafeRawBufferPointer(copy), size: size)
    }
  }

  // MARK: - Changing

  /// Writes the header of a use, but for its state: see ``open()``. From the checksum on, readers
  /// take the segment as used, whatever its state says.
  ///
  /// By stores alone: memory that the drainer has just cleaned is far away, and neither a load nor
  /// an atomic operation is to wait for it.
  ///
  /// - Parameter stream: What its records are encrypted with; 0: they are not.
  package func write(_ owner: SegmentOwner, generation: UInt64, stream: UInt64) {
    // First what the last use has left: a header whose checksum is right counts, also while its
    // state says that the segment is free.
    store(0, SegmentLayout.end, complement: SegmentLayout.endChecksum)
    mmlog_store_relaxed_u64(word(SegmentLayout.generation), generation)
    store(SegmentLayout.size, SegmentLayout.archived, complement: SegmentLayout.archivedChecksum)
    // Over the words as they are stored: see `segmentChecksum`.
    var checksum = mmlog_crc32c_word(UInt64(UInt32.max), generation)
    let thread = UInt64(owner.ordinal) | UInt64(owner.threadID) << 32
    store(thread, SegmentLayout.threadOrdinal, &checksum)
    store(owner.name.0, SegmentLayout.threadName, &checksum)
    store(owner.name.1, SegmentLayout.threadName + wordSize, &checksum)
    store(owner.firstNumber, SegmentLayout.firstNumber, &checksum)
    store(UInt64(owner.writer), SegmentLayout.writer, &checksum)
    store(stream, SegmentLayout.stream, &checksum)
    // Not `for in`, as above.
    var rest = SegmentLayout.stream + wordSize
    while rest < SegmentLayout.size {
      store(0, rest, &checksum)
      rest += wordSize
    }
    start.storeBytes(
      of: ~UInt32(truncatingIfNeeded: checksum), toByteOffset: SegmentLayout.checksum,
      as: UInt32.self)
  }

  /// Says that it is in use.
  package func open() { store(state: SegmentLayout.stateOpen) }

  /// Says that it gets no more records.
  ///
  /// - Parameter end: Where they end, as an offset.
  package func note(end: Int) {
    store(end, SegmentLayout.end, complement: SegmentLayout.endChecksum)
  }

  /// Says so in its state, too.
  package func seal() { store(state: SegmentLayout.stateSealed) }

  /// Notes that all records before an offset are in an archive.
  package func note(archived offset: Int) {
    // A crash between the two leaves a place that cannot be determined; which records are archived,
    // frames say too.
    store(offset, SegmentLayout.archived, complement: SegmentLayout.archivedChecksum)
  }

  /// Says that it is being emptied.
  package func beginEmptying() { store(state: SegmentLayout.stateFree) }

  /// Empties it.
  ///
  /// Writing zeros takes the page faults that a write-back has made due, in place of the next
  /// caller.
  ///
  /// - Parameter size: The size of the segment.
  package func empty(size: Int) {
    mmlog_store_relaxed_u64(word(SegmentLayout.generation), 0)
    // To the very end: a record that was begun and then moved elsewhere reaches past the last one.
    (start + SegmentLayout.size).initializeMemory(
      as: UInt8.self, repeating: 0, count: size - SegmentLayout.size)
  }

  private func word(_ offset: Int) -> UnsafeMutablePointer<UInt64> {
    (start + offset).assumingMemoryBound(to: UInt64.self)
  }

  private func half(_ offset: Int) -> UnsafeMutablePointer<UInt32> {
    (start + offset).assumingMemoryBound(to: UInt32.self)
  }

  private func store(state: UInt32) { mmlog_store_release_u32(half(SegmentLayout.state), state) }

  /// Stores one of the places that change while the rest of the header stays, and its complement.
  private func store(_ place: Int, _ offset: Int, complement: Int) {
    let place = UInt32(place)
    mmlog_store_release_u32(half(offset), place)
    mmlog_store_release_u32(half(complement), ~place)
  }

  /// Stores a word that the checksum is over.
  private func store(_ word: UInt64, _ offset: Int, _ checksum: inout UInt64) {
    checksum = mmlog_crc32c_word(checksum, word)
    start.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
  }
}

/// Who a segment is opened for, as its header says.
package struct SegmentOwner {
  let ordinal: UInt32
  let threadID: UInt32
  let name: (UInt64, UInt64)
  let writer: UInt32
  let firstNumber: UInt64

  /// - Parameters:
  ///   - ordinal, threadID: The thread's; see ``ThreadIdentity``.
  ///   - name: Its name: 16 bytes, filled up with zeros.
  ///   - writer: Who numbers the entries.
  ///   - firstNumber: The number of the first one.
  package init(
    ordinal: UInt32, threadID: UInt32, name: (UInt64, UInt64), writer: UInt32, firstNumber: UInt64
  ) {
    (self.ordinal, self.threadID, self.name) = (ordinal, threadID, name)
    (self.writer, self.firstNumber) = (writer, firstNumber)
  }
}
