import CCalls
import CrashRecords
import Glibc
import MMLog
import MMLogC

/// A handler of SIGALRM that logs, wherever in a log call the main thread is. It logs to the last
/// lane.
enum SignalLogging {
  nonisolated(unsafe) private static var logger: Logger?
  nonisolated(unsafe) private static var page: CountPage?
  nonisolated(unsafe) private static var lane = 0
  nonisolated(unsafe) private static var sequence = 0
  nonisolated(unsafe) private static var parent: pid_t = 0

  /// Sets the handler. Before, logs once in Swift and once in C, so that everything that the
  /// handler needs has been made.
  static func prepare(_ logger: Logger, _ page: CountPage, firstLane: Int) {
    (self.logger, self.page, parent) = (logger, page, getppid())
    lane = firstLane + CountPage.laneCount - 1
    for _ in 0..<2 { log() }
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in SignalLogging.log() }
    action.sa_flags = CInt(SA_RESTART)
    sigaction(SIGALRM, &action, nil)
  }

  /// Lets the handler be called every 0.3 ms.
  static func start() { setInterval(300) }

  /// Stops calling the handler. Called on the thread that the handler runs on.
  static func stop() { setInterval(0) }

  private static func setInterval(_ microseconds: Int) {
    var interval = itimerval()
    interval.it_interval.tv_usec = microseconds
    interval.it_value.tv_usec = microseconds
    setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &interval, nil)
  }

  private static func log() {
    // alarm(2) has the same timer, so the handler checks whether the parent is gone.
    if getppid() != parent { _exit(1) }
    guard let logger, let page else { return }
    sequence += 1
    if sequence % 2 == 0 {
      logger.notice("\(lane) \(sequence) ")
    } else {
      _ = ccalls_signal_lane(logger.inC, lane, sequence)
    }
    page.acknowledge(CountPage.laneCount - 1)
  }
}
