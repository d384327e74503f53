import MMLogFormat

/// Corruption that stands between frames or segments.
final class CorruptionRun: Run {
  private var isEmitted = false
  private let place: LogReader.Cursor.Place?

  /// - Parameter place: Where a reader goes on behind the corruption; nil if that is not known.
  init(
    _ corruption: LogReader.Corruption, ticks: UInt64, clock: TickClock,
    before place: LogReader.Cursor.Place? = nil
  ) {
    self.place = place
    super.init(path: corruption.path, ticks: ticks, clock: clock)
    self.corruption = corruption
  }

  override func step() -> RunStep {
    defer { isEmitted = true }
    return isEmitted ? .end : .corruption
  }

  override var placeBehindCorruption: LogReader.Cursor.Place? { place }
}
