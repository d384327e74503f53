import MMLogFormat

/// What names a frame within its session.
struct FrameName: Equatable {
  let archive: UInt32
  let ordinal: UInt64
  /// Of the payload.
  let checksum: UInt32

  /// What the names of its records begin with.
  func text(of session: SessionID) -> String {
    "\(session).\(archive).\(ordinal).\(checksum.allHexDigits)."
  }
}

extension FrameName {
  init(_ header: FrameHeader) {
    self.init(
      archive: header.archive.number, ordinal: header.ordinal, checksum: header.payloadChecksum)
  }
}

/// What records refer to without counting references: their bytes, call sites, labels and threads.
/// One reference to it keeps all of that.
///
/// Proof of `@unchecked Sendable`: the session is Sendable, and what else there is, is only kept.
final class RecordOwner: @unchecked Sendable {
  let session: LogReader.Session
  /// Turns the ticks of its records into wall time.
  let clock: TickClock
  /// The frame that its records are in; nil for a ring.
  let frame: FrameName?
  private let kept: [AnyObject]

  init(
    _ session: LogReader.Session, _ clock: TickClock, of frame: FrameName? = nil,
    keeping kept: [AnyObject]
  ) {
    self.frame = frame
    self.session = session
    self.clock = clock
    self.kept = kept
  }
}
