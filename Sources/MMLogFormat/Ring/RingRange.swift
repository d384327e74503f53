/// A part of a segment that a frame took from the ring.
package struct RingRange: Hashable, Sendable {
  package var generation: UInt64
  /// Offsets from the segment's start.
  package var from: UInt32
  package var to: UInt32
  package var segment: UInt32
  /// The numbered entries of the range; nil in a frame of flight records.
  package var numbers: NumberRange?

  package init(
    generation: UInt64, from: UInt32, to: UInt32, segment: UInt32, numbers: NumberRange? = nil
  ) {
    self.generation = generation
    self.from = from
    self.to = to
    self.segment = segment
    self.numbers = numbers
  }

  func encode(into out: UnsafeMutableRawBufferPointer, at offset: Int) {
    out.store(generation, offset + FrameLayout.rangeGeneration)
    out.store(from, offset + FrameLayout.rangeFrom)
    out.store(to, offset + FrameLayout.rangeTo)
    out.store(segment, offset + FrameLayout.rangeSegment)
    guard let numbers else { return }
    out.store(numbers.writer, offset + FrameLayout.rangeWriter)
    out.store(numbers.first, offset + FrameLayout.rangeFirstNumber)
    out.store(numbers.count, offset + FrameLayout.rangeEntries)
    out.store(numbers.thread, offset + FrameLayout.rangeThread)
  }

  init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    generation = bytes.load(offset + FrameLayout.rangeGeneration, as: UInt64.self)
    from = bytes.load(offset + FrameLayout.rangeFrom, as: UInt32.self)
    to = bytes.load(offset + FrameLayout.rangeTo, as: UInt32.self)
    segment = bytes.load(offset + FrameLayout.rangeSegment, as: UInt32.self)
    let writer = bytes.load(offset + FrameLayout.rangeWriter, as: UInt32.self)
    guard writer != 0 else { return }
    numbers = NumberRange(
      writer: writer, thread: bytes.load(offset + FrameLayout.rangeThread, as: UInt32.self),
      first: bytes.load(offset + FrameLayout.rangeFirstNumber, as: UInt64.self),
      count: bytes.load(offset + FrameLayout.rangeEntries, as: UInt32.self))
  }
}
