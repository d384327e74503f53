import MMLogFormat

/// A part of a session in the order of its ticks: a frame, a segment, or a note between them.
///
/// A step makes the item that was next the current one. What a run holds of a record is valid until
/// its next step, and as long as ``owner`` is kept.
// One thread reads a run, and no access to what changes with each record has another one in it. The
// compiler's checks of that took a tenth of the reader's time.
package class Run {
  /// Where the next item belongs. It rises only: a record whose ticks are before those of the one
  /// before it takes those (FORMAT.md, 5).
  @exclusivity(unchecked)
  package final fileprivate(set) var ticks: UInt64

  /// What turns the ticks into wall time.
  package final let clock: TickClock

  /// The file that it is of.
  final let path: String

  /// Records below this level, as the file has it, are flight records.
  private let flightLevel: UInt8

  init(path: String, ticks: UInt64, clock: TickClock, flightLevel: UInt8 = 0) {
    self.flightLevel = flightLevel
    self.path = path
    self.ticks = ticks
    self.clock = clock
  }

  /// Whether a record of it is one that stayed in the ring until it was captured.
  @inline(__always)
  package final func isFlight(_ view: RecordView) -> Bool { view.level.rawValue < flightLevel }

  /// Goes on to the next item.
  func step() -> RunStep { .end }

  /// The thread of a record that the run has just given; kept by ``owner``, or by the session's
  /// ``ThreadTable``.
  package func thread(of view: RecordView) -> Unmanaged<LogReader.Thread> {
    preconditionFailure("a run without records")
  }

  /// Where a record of an encrypted ring stands of which nobody here has the key: the number of its
  /// stream, and its offset from the segment's start. Nil for all others.
  ///
  /// - Parameter offset: What ``step()`` gave.
  package func sealedPlace(of offset: Int) -> (stream: UInt64, offset: Int)? { nil }

  /// What keeps the memory of its records.
  var owner: AnyObject { self }

  /// The frame that its records are in; nil for a ring.
  var frameName: FrameName? { nil }

  /// Which of the frame's rows the run has just given, from 0.
  @exclusivity(unchecked)
  package final fileprivate(set) var row: UInt32 = 0
  /// Whether it has given any.
  final private(set) var hasStepped = false

  /// The corruption that the run has just come upon.
  package final var corruption: LogReader.Corruption?

  /// Where whoever has been given ``corruption`` goes on; nil where that is not known.
  var placeBehindCorruption: LogReader.Cursor.Place? { nil }

  /// Why the run may have more than it gives: something else than the file's bytes kept these from
  /// being read, such as the lack of a key.
  final var readingError: LogError?

  /// Moves on to the ticks of the item that is next now.
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

/// What a run has come to.
package enum RunStep {
  /// A record or a fragment; ``offset`` is where it, or the frame that it is in, begins in the
  /// file.
  case record(RecordView, ticks: UInt64, offset: Int)
  /// ``Run/corruption`` says what.
  case corruption
  /// None this time: the run has got ready, and its first item may come later than it seemed.
  case nothing
  case end
}
