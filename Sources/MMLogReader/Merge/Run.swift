import MMLogFormat

/// A part of a session in the order of its ticks: a frame, a segment, or a note between them.
///
/// A step makes the next item the current one. What a run holds of a record is valid until the
/// run's next step, and as long as ``owner`` is kept.
// One thread reads a run, and no access to what changes with each record happens within another
// one. The compiler's checks of this took a tenth of the reader's time.
package class Run {
  /// Where the next item belongs. The value only rises: a record whose ticks are less than those of
  /// the previous record takes the ticks of the previous record (FORMAT.md, 5).
  @exclusivity(unchecked)
  package final fileprivate(set) var ticks: UInt64

  /// What turns the ticks into wall time.
  package final let clock: TickClock

  /// The file that the run is of.
  final let path: String

  /// Records below this level are flight records. The level is as the file has it.
  private let flightLevel: UInt8

  init(path: String, ticks: UInt64, clock: TickClock, flightLevel: UInt8 = 0) {
    self.flightLevel = flightLevel
    self.path = path
    self.ticks = ticks
    self.clock = clock
  }

  /// Whether a record of the run stayed in the ring until it was captured.
  @inline(__always)
  package final func isFlight(_ view: RecordView) -> Bool { view.level.rawValue < flightLevel }

  /// Goes on to the next item.
  func step() -> RunStep { .end }

  /// The thread of a record that the run has just given; kept by ``threadOwner``.
  package func thread(of view: RecordView) -> Unmanaged<LogReader.Thread> {
    preconditionFailure("a run without records")
  }

  /// The place of a record in an encrypted ring, if no identity has its key: the number of its
  /// stream, and its offset from the segment's start. Nil for all other records.
  ///
  /// - Parameter offset: The offset that ``step()`` gave.
  package func sealedPlace(of offset: Int) -> (stream: UInt64, offset: Int)? { nil }

  /// The object that keeps the memory of the run's records.
  var owner: AnyObject { self }

  /// The object that keeps the threads of the run's records.
  var threadOwner: AnyObject { self }

  /// The frame that the run's records are in; nil for a ring.
  var frameName: FrameName? { nil }

  /// The index of the frame's row that the run has just given, from 0.
  @exclusivity(unchecked)
  package final fileprivate(set) var row: UInt32 = 0
  /// Whether the run has given any row.
  final private(set) var hasStepped = false

  /// The corruption that the run has just come upon.
  package final var corruption: LogReader.Corruption?

  /// Where a reader goes on behind ``corruption``; nil if that is not known.
  var placeBehindCorruption: LogReader.Cursor.Place? { nil }

  /// Why the run may have more than it gives: the cause is not the file's bytes, but for example
  /// the lack of a key.
  final var readingError: LogError?

  /// Moves on to the ticks of the item that is now the next.
  @inline(__always)
  final func move(to ticks: UInt64) { if ticks > self.ticks { self.ticks = ticks } }

  /// Notes which of the frame's rows is given.
  @inline(__always)
  final func give(row: UInt32) { (self.row, hasStepped) = (row, true) }

  package final func corruption(_ offset: Int, _ size: Int, _ what: String) -> LogReader.Corruption
  {
    LogReader.Corruption(offset..<offset + size, what, in: path)
  }
}

/// The result of a step.
package enum RunStep {
  /// A record or a fragment; ``offset`` is where it, or the frame that it is in, begins in the
  /// file.
  case record(RecordView, ticks: UInt64, offset: Int)
  /// Corruption, which ``Run/corruption`` describes.
  case corruption
  /// No item this time: the run has prepared, and its first item may come later than it seemed.
  case nothing
  case end
}
