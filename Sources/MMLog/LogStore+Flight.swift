import MMLogFormat
import MMLogSystem

extension LogStore {
  /// Why flight records were captured.
  @nonexhaustive
  public enum CaptureReason: Sendable {
    /// A record of ``LogStore/Configuration/captureLevel`` or above was logged.
    case record
    /// The program called `LogStore.capture(reason:within:)`.
    case program
    /// A signal handler called ``LogStore/captureAll()``, or the store was closed while a fatal
    /// signal was being handled.
    case signal
    /// Somebody outside asked for it: `mmlogctl capture`.
    case request
    /// Spans ended, and ``LogStore/Configuration/spanCapture`` is set. Only their records were
    /// captured.
    case spans
  }

  /// What has become of a session's flight records: those below
  /// ``LogStore/Configuration/archiveLevel``. A record that is larger than a segment counts once
  /// for each of its fragments.
  public struct FlightCounts: Equatable, Sendable {
    /// How many were moved into an archive.
    public let captured: Int
    /// How many were evicted, because they were too old, or newer records needed their place. They
    /// are no losses. Records that are in neither number are still in the ring, or have just been
    /// logged.
    public let forgotten: Int
  }

  /// Moves the flight records of the last ``Configuration/captureTime``, which led to this moment,
  /// into an archive, and waits until they are there.
  ///
  /// A record with the label `mmlog`, at the level `notice` or ``Configuration/archiveLevel``, says
  /// why, unless a level that is set for this label leaves the record out. Each flight record is
  /// archived once, however often this is called. If the store has no flight recorder, this does
  /// the same as `flush(.archive)`. Any thread. Blocks the thread; asynchronous code can await
  /// another form.
  ///
  /// - Parameters:
  ///   - reason: Why. The log has this text.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``, as `LogStore.flush(_:within:)` does.
  public func capture(
    reason: String, within limit: Duration = .seconds(30)
  ) throws(LogError) {
    try log(captureReason: reason)
    try waitForCapture(within: limit)
  }

  /// Moves the flight records of the last ``Configuration/captureTime`` into an archive. Meanwhile
  /// another thread is blocked. Canceling the task does not end that.
  ///
  /// - Parameters:
  ///   - reason: Why. The log has this text.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``, as `LogStore.flush(_:within:)` does.
  public func capture(
    reason: String, within limit: Duration = .seconds(30)
  ) async throws(LogError) {
    try log(captureReason: reason)
    try await onOwnThread { [self] () throws(LogError) in try waitForCapture(within: limit) }
  }

  private func waitForCapture(within limit: Duration) throws(LogError) {
    try core.begunSession()?.drainer.capture(within: limit.nanoseconds)
  }

  private func log(captureReason reason: String) throws(LogError) {
    // In a closed store, the record would be a loss.
    _ = try core.begunSession()
    logger(label: "mmlog").log(
      level: max(.notice, core.configuration.archiveLevel), "captured: \(reason, privacy: .public)")
  }

  /// Makes every store of the process capture its flight records within a second. For signal
  /// handlers: async-signal-safe.
  ///
  /// ```swift
  /// import Glibc
  /// import MMLog
  ///
  /// signal(SIGUSR1) { _ in LogStore.captureAll() }
  /// ```
  public static func captureAll() { ProcessRequests.capture() }

  /// What has become of the flight records since the present ring was made. Any thread.
  public var flightCounts: LogStore.FlightCounts {
    core.lock.withLock { core.open?.session.ring.flightCounts }
      ?? LogStore.FlightCounts(captured: 0, forgotten: 0)
  }
}
