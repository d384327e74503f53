import MMLogSystem

/// When the drainer begins a pass, and how long it sleeps until then. A plain value: it reads no
/// clock and waits for nobody.
///
/// Times are monotonic, in nanoseconds. Two counts say what others want: each *request* wants a
/// pass soon, and each *urgent request* wants one even if the last pass has just failed.
struct DrainSchedule {
  /// Until when the drainer sleeps.
  enum Sleep: Equatable {
    /// Until a request after those that were counted, or for so many nanoseconds.
    case untilRequested(since: UInt32, Int64)
    /// Until an urgent request after those that were counted, or for so many nanoseconds: other
    /// requests do not wake the drainer.
    case untilUrgentlyRequested(since: UInt32, Int64)
  }

  /// What a pass moves.
  enum Pass {
    /// Frames that are worth writing: the rest stays in the ring until there is more of it.
    case fullFrames
    /// Everything.
    case everything
  }

  /// The counts of requests and urgent requests, as they were before the drainer checked for work.
  struct Counts: Equatable {
    var requests: UInt32 = 0
    var urgentRequests: UInt32 = 0
  }

  /// The longest pause after a failure. Also the longest sleep: clocks are read once a second.
  static let second: UInt64 = 1_000_000_000

  private let interval: UInt64
  private var nextPass: UInt64
  private var backoff = Backoff(shortest: 50_000_000, longest: DrainSchedule.second)
  /// What the last pass has served. Requests from before the drainer's start are not served yet.
  private var served = Counts()

  /// - Parameters:
  ///   - interval: The longest time between two passes that move everything.
  ///   - now: When the drainer starts.
  init(interval: Int64, now: UInt64) {
    self.interval = UInt64(max(0, interval))
    nextPass = now &+ self.interval
  }

  /// Whether the last pass failed.
  var isRetrying: Bool { backoff.pause > 0 }

  /// The pass that is due; nil if none is.
  ///
  /// - Parameters:
  ///   - isWorkDue: Whether there is work that the counts do not show.
  ///   - hasFullFrame: Whether there is a frame that is worth writing.
  func duePass(
    at now: UInt64, _ counts: Counts, or isWorkDue: @autoclosure () -> Bool,
    hasFullFrame: @autoclosure () -> Bool = false
  ) -> Pass? {
    if counts.urgentRequests != served.urgentRequests || now >= nextPass { return .everything }
    // A disk that fails is tried again after a pause, however many records find no room.
    if isRetrying { return nil }
    if isWorkDue() { return .everything }
    return counts.requests != served.requests || hasFullFrame() ? .fullFrames : nil
  }

  /// Takes in that a pass has ended.
  ///
  /// - Parameter counts: What the pass has served: the counts from before it began.
  mutating func passEnded(at now: UInt64, _ pass: Pass, _ counts: Counts, failed: Bool) {
    served = counts
    if failed {
      backoff.postpone(at: now)
      nextPass = now &+ min(backoff.pause, interval)
    } else {
      backoff.reset()
      if pass == .everything { nextPass = now &+ interval }
    }
  }

  /// How to sleep now.
  ///
  /// - Parameter check: When the clocks are read again.
  func sleep(at now: UInt64, until check: UInt64) -> Sleep {
    let end = min(nextPass, check)
    let time = Int64(min(end &- min(now, end), Self.second))
    return isRetrying
      ? .untilUrgentlyRequested(since: served.urgentRequests, time)
      : .untilRequested(since: served.requests, time)
  }
}
