import MMLogFormat
import MMLogStorage

/// A ring that is read, and which parts of it the session's archives have.
package struct RingView {
  package let image: RingImage
  /// Whether the ring's process may be writing to it while it is copied. Then what stands behind a
  /// zero word may have been written after the zero was copied. Otherwise it is real, and the zeros
  /// are not.
  package let isRunning: Bool
  /// Empty before the archives have been read.
  package var coverage = Coverage()

  /// How the ring's session ended, if its process does not live.
  package var end: SessionEnd { image.end }

  /// The same ring, of which archives have some parts.
  func covered(by coverage: Coverage) -> RingView {
    var view = self
    view.coverage = coverage
    return view
  }

  /// Whether an archive has a record, or the record was evicted.
  package func isDone(_ segment: RingImage.Segment, _ record: RecordView, _ offset: Int) -> Bool {
    image.isDone(record, segment, offset: offset, coverage)
  }

  /// Whether nothing is lost in a range, because an archive has what stood there.
  package func isDone(_ segment: RingImage.Segment, _ range: Range<Int>) -> Bool {
    image.isDone(range, segment.header, coverage)
  }
}
