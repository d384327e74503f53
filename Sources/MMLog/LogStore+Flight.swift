import MMLogFormat
import MMLogSystem

extension LogStore {
  /// Why flight records were captured.
  @nonexhaustive
  public enum CaptureReason: Sendable {
    /// A record of ``LogStore/Configuration/captureLevel`` or above.
    case record
    /// `LogStore.capture(reason:within:)`.
    case program
    /// ``LogStore/captureAll()``; or the store was closed while a fatal signal was being handled.
    case signal
    /// Somebody outside: `mmlogctl capture`.
    case request
    /// Spans that ended: ``LogStore/Configuration/spanCapture``. Only theirs were captured.
    case spans
  }

  /// What has become of a session's flight records: those below
  /// ``LogStore/Configuration/archiveLevel``. Of one that is larger than a segment, each piece
  /// counts.
  public struct FlightCounts: Equatable, Sendable {
    /// How many were moved into an archive.
    public let captured: Int
    /// How many were evicted, because they were too old, or newer ones needed their place. They are
    /// no losses. What is in neither number is still in the ring, or has just been logged.
    public let forgotten: Int
  }

  /// Moves the flight records of the last ``Configuration/captureTime`` into an archive, and waits
  /// for that: what led to this moment.
  ///
  /// A record with the label `mmlog`, at the level `notice` or ``Configuration/archiveLevel``, says
  /// why. Each flight record is archived once, however often this is called. Where none stay in the
  /// ring, this is as `flush(.archive)`. Any thread, which it blocks; asynchronous code has a form
  /// that it awaits.
  ///
  /// - Parameters:
  ///   - reason: Why; stands in the log.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``, as `LogStore.flush(_:within:)`.
  public func capture(
    reason: String, within limit: Duration = .seconds(30)
  ) throws(LogError) {
    log(captureReason: reason)
    try waitForCapture(within: limit)
  }

  /// Moves the flight records of the last ``Configuration/captureTime`` into an archive. Another
  /// thread is blocked meanwhile, which a cancellation of the task does not end.
  ///
  /// - Parameters:
  ///   - reason: Why; stands in the log.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``, as `LogStore.flush(_:within:)`.
  public func capture(
    reason: String, within limit: Duration = .seconds(30)
  ) async throws(LogError) {
    log(captureReason: reason)
    try await onOwnThread { [self] () throws(LogError) in try waitForCapture(within: limit) }
  }

  private func waitForCapture(within limit: Duration) throws(LogError) {
    try core.begunSession()?.drainer.capture(within: limit.nanoseconds)
  }

  private func log(captureReason reason: String) {
    logger(label: "mmlog").log(
      level: max(.notice, core.configuration.archiveLevel), "captured: \(reason, privacy: .public)")
  }

  /// Has every store of the process capture its flight records within a second. For signal
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
