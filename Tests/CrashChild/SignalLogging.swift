import CrashRecords
import Glibc
import MMLog

/// A handler of SIGALRM that logs, wherever in a log call the main thread is. Its lane is the last one.
enum SignalLogging {
  nonisolated(unsafe) private static var logger: Logger?
  nonisolated(unsafe) private static var page: CountPage?
  nonisolated(unsafe) private static var sequence = 0
  nonisolated(unsafe) private static var parent: pid_t = 0

  /// Sets the handler, and runs it once by hand, so that everything that it needs has been made.
  static func prepare(_ logger: Logger, _ page: CountPage) {
    (self.logger, self.page, parent) = (logger, page, getppid())
    log()
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in SignalLogging.log() }
    action.sa_flags = CInt(SA_RESTART)
    sigaction(SIGALRM, &action, nil)
  }

  /// Has the handler called every 0.3 ms.
  static func start() {
    var interval = itimerval()
    interval.it_interval.tv_usec = 300
    interval.it_value.tv_usec = 300
    setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &interval, nil)
  }

  private static func log() {
    // The timer is also that of alarm(2).
    if getppid() != parent { _exit(1) }
    guard let logger, let page else { return }
    sequence += 1
    logger.notice("\(CountPage.laneCount - 1) \(sequence) ")
    page.acknowledge(CountPage.laneCount - 1)
  }
}
