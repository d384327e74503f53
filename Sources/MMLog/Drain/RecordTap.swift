package import MMLogFormat

/// How records are given to somebody besides being archived; see ``RecordTap``.
package protocol RecordTapSettings: Sendable {
  /// Begins to take a session's records.
  ///
  /// - Parameter reports: Takes what goes wrong.
  func begin(_ identity: SessionIdentity, _ reports: TapReports) -> any RecordTap
}

/// Takes a session's records. This module only gives them away: what makes text of them lies above
/// it.
///
/// Called on the drainer's thread, which must not be kept from its work.
package protocol RecordTap: AnyObject {
  /// Takes the records of a frame that was archived just now, each once.
  ///
  /// - Parameters:
  ///   - rows: The records. To be copied.
  ///   - dictionary: The session's call sites and labels: the same as the last time, and maybe more
  ///     behind them.
  ///   - clock: Turns the records' ticks into time.
  ///   - areFlight: Whether they are flight records that were captured, or others.
  func take(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ clock: TickClock,
    areFlight: Bool)

  /// There will be no more.
  func finish()

  /// Waits for a little, so that what was taken is seen. After ``finish()``.
  func waitForEnd()
}

/// Takes what a tap has to report. Any thread.
package struct TapReports: Sendable {
  private let events: EventHub
  private let counters: DrainCounters

  init(_ events: EventHub, _ counters: DrainCounters) {
    (self.events, self.counters) = (events, counters)
  }

  /// The tap of that name cannot write. Once, until it can again.
  package func failed(_ tap: String, _ error: any Error) {
    events.send(.tapFailed(tap: tap, error: error))
  }

  /// It can write again.
  ///
  /// - Parameter missed: How many records it has not written since it began.
  package func resumed(_ tap: String, missed: UInt64) {
    events.send(.tapResumed(tap: tap, missed: missed))
  }

  /// So many records more were not written.
  package func missed(_ count: UInt64) { counters.addMissedByTaps(count) }
}
