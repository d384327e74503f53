import MMLogFormat

/// Corruption that stands between frames or segments.
final class CorruptionRun: Run {
  private var isEmitted = false

  init(_ corruption: LogReader.Corruption, ticks: UInt64, clock: TickClock) {
    super.init(path: corruption.path, ticks: ticks, clock: clock)
    self.corruption = corruption
  }

  override func step() -> RunStep {
    defer { isEmitted = true }
    return isEmitted ? .end : .corruption
  }
}
