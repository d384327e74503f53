import MMLogFormat
import MMLogStorage

/// What a session's archives say of its ring.
package struct RingView {
  package let image: RingImage
  let coverage: Coverage
  /// Whether its process may be writing to it while it is copied: what stands behind a zero word
  /// may then have been written after that was copied. Otherwise it is real, and the zeros are not.
  let isRunning: Bool

  /// Whether an archive has a record, or it is evicted.
  package func isDone(_ segment: RingImage.Segment, _ record: RecordView, _ offset: Int) -> Bool {
    image.isDone(record, segment, offset: offset, coverage)
  }

  /// Nothing is lost where an archive has what stood there.
  package func isDone(_ segment: RingImage.Segment, _ range: Range<Int>) -> Bool {
    image.isDone(range, segment.header, coverage)
  }
}
