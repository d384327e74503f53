import MMLogFormat
import MMLogStorage

/// A ring that is read, and what its session's archives have of it.
package struct RingView {
  package let image: RingImage
  /// Whether its process may be writing to it while it is copied: what stands behind a zero word
  /// may then have been written after that was copied. Otherwise it is real, and the zeros are not.
  package let isRunning: Bool
  /// Nothing, before the archives have been read.
  package var coverage = Coverage()

  /// How its session ended, if its process does not live.
  package var end: SessionEnd { image.end }

  /// The same, of which archives have something.
  func covered(by coverage: Coverage) -> RingView {
    var view = self
    view.coverage = coverage
    return view
  }

  /// Whether an archive has a record, or it is evicted.
  package func isDone(_ segment: RingImage.Segment, _ record: RecordView, _ offset: Int) -> Bool {
    image.isDone(record, segment, offset: offset, coverage)
  }

  /// Nothing is lost where an archive has what stood there.
  package func isDone(_ segment: RingImage.Segment, _ range: Range<Int>) -> Bool {
    image.isDone(range, segment.header, coverage)
  }
}
