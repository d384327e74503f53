package import MMLogFormat

/// How records are shown to somebody besides being archived; see ``RecordEcho``.
package protocol RecordEchoSettings: Sendable {
  /// Begins to show a session's records.
  func begin(_ identity: SessionIdentity) -> any RecordEcho
}

/// Shows a session's records. This module only gives them away: what makes text of them lies above
/// it.
///
/// Called on the drainer's thread, which must not be kept from its work.
package protocol RecordEcho: AnyObject {
  /// Takes the records of a frame that was archived just now, each once.
  ///
  /// - Parameters:
  ///   - rows: The records. To be copied.
  ///   - dictionary: The session's call sites and labels: the same as the last time, and maybe more
  ///     behind them.
  ///   - clock: Turns the records' ticks into time.
  func take(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ clock: TickClock)

  /// There will be no more. Waits for a little, so that what was taken is seen.
  func finish()
}
