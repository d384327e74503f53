import MMLogFormat

/// What records refer to without counting references: their bytes, call sites, labels and threads.
/// One reference to it keeps all of that.
///
/// Proof of `@unchecked Sendable`: the session is Sendable, and what else there is, is only kept.
final class RecordOwner: @unchecked Sendable {
  let session: LogReader.Session
  /// Turns the ticks of its records into wall time.
  let clock: TickClock
  private let kept: [AnyObject]

  init(_ session: LogReader.Session, _ clock: TickClock, keeping kept: [AnyObject]) {
    self.session = session
    self.clock = clock
    self.kept = kept
  }
}
