package import MMLogFormat
package import MMLogSystem

/// How a tap receives records besides the archive; see ``RecordTap``.
package protocol RecordTapSettings: Sendable {
  /// Begins to take a session's records.
  ///
  /// - Parameter reports: Receives what goes wrong.
  func begin(_ identity: SessionIdentity, _ reports: TapReports) -> any RecordTap
}

/// Takes a session's records. This module only hands the records over: a module above it makes text
/// of them.
///
/// Called on the drainer's thread, which a tap must not keep from its work.
package protocol RecordTap: AnyObject {
  /// Takes the records of a frame that was archived just now, each once.
  ///
  /// - Parameters:
  ///   - rows: The records, which the tap has to copy.
  ///   - dictionary: The session's call sites and labels: the same as at the last call, and perhaps
  ///     more behind them.
  ///   - clock: Turns the records' ticks into time.
  ///   - areFlight: Whether the records are captured flight records, or others.
  func take(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ clock: TickClock,
    areFlight: Bool)

  /// Says that there will be no more records, and how long the tap may still write.
  func finish(until deadline: Deadline)

  /// Waits until the tap has written what it has taken, or until the deadline: then the rest counts
  /// as missed. Called after ``finish(until:)``.
  func waitForEnd()
}

/// Takes what a tap has to report. Any thread may call it.
package struct TapReports: Sendable {
  private let events: EventHub
  private let counters: DrainCounters

  init(_ events: EventHub, _ counters: DrainCounters) {
    (self.events, self.counters) = (events, counters)
  }

  /// Reports that a tap cannot write. A tap calls this once until it can write again.
  package func failed(_ tap: String, _ error: any Error) {
    events.send(.tapFailed(tap: tap, error: error))
  }

  /// Reports that a tap can write again.
  ///
  /// - Parameter missed: How many records the tap has not written since it began.
  package func resumed(_ tap: String, missed: UInt64) {
    events.send(.tapResumed(tap: tap, missed: missed))
  }

  /// Counts further records that a tap has not written.
  package func missed(_ count: UInt64) { counters.addMissedByTaps(count) }
}
