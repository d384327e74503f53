/// When the drainer begins a pass, and how long it sleeps until then. A plain value: it reads no
/// clock and waits for nobody.
///
/// Times are monotonic, in nanoseconds. Two counts say what others want: each *request* wants a
/// pass soon, and each *urgent request* wants one although the last pass has just failed.
struct DrainSchedule {
  /// What the drainer sleeps for.
  enum Sleep: Equatable {
    /// A request after those that were counted, or so many nanoseconds.
    case untilRequested(since: UInt32, Int64)
    /// An urgent request after those that were counted, or so many nanoseconds: others do not wake
    /// it.
    case untilUrgentlyRequested(since: UInt32, Int64)
  }

  /// The counts of requests and urgent requests, as they were before the drainer checked for work.
  struct Counts: Equatable {
    var requests: UInt32 = 0
    var urgentRequests: UInt32 = 0
  }

  /// The first pause after a failure. The pause doubles with each further failure.
  static let shortestPause: UInt64 = 50_000_000
  /// The longest pause after a failure. Also the longest sleep: clocks are read once a second.
  static let second: UInt64 = 1_000_000_000

  private let interval: UInt64
  private var nextPass: UInt64
  private var pause: UInt64 = 0
  /// What the last pass has served. Requests from before the drainer's start count.
  private var served = Counts()

  /// - Parameters:
  ///   - interval: The longest time between two passes.
  ///   - now: When the drainer starts.
  init(interval: Int64, now: UInt64) {
    self.interval = UInt64(max(0, interval))
    nextPass = now &+ self.interval
  }

  /// Whether the last pass failed.
  var isRetrying: Bool { pause > 0 }

  /// Whether it is time for a pass.
  ///
  /// - Parameter isWorkDue: Whether there is work that nobody asks for. Evaluated last.
  func isPassDue(
    at now: UInt64, _ counts: Counts, or isWorkDue: @autoclosure () -> Bool
  ) -> Bool {
    if counts.urgentRequests != served.urgentRequests || now >= nextPass { return true }
    // A disk that fails is tried again after a pause, however many records find no room.
    return !isRetrying && (counts.requests != served.requests || isWorkDue())
  }

  /// Takes in that a pass has ended.
  ///
  /// - Parameter counts: What it has served: the counts from before its beginning.
  mutating func passEnded(at now: UInt64, _ counts: Counts, failed: Bool) {
    served = counts
    pause = failed ? min(max(pause * 2, Self.shortestPause), Self.second) : 0
    nextPass = now &+ (isRetrying ? min(pause, interval) : interval)
  }

  /// How to sleep now.
  func sleep(at now: UInt64) -> Sleep {
    let time = Int64(min(nextPass &- min(now, nextPass), Self.second))
    return isRetrying
      ? .untilUrgentlyRequested(since: served.urgentRequests, time)
      : .untilRequested(since: served.requests, time)
  }
}
