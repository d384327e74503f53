import Glibc

/// Waits for SIGTERM and SIGINT in place of their delivery: they are blocked before any thread is
/// made, so that no thread gets them.
package enum StopSignals {
  private static var wanted: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT] { sigaddset(&set, number) }
    return set
  }

  /// Blocks them in this thread and in those that it starts, until somebody waits for them:
  /// pthread_sigmask(3).
  package static func block() {
    var set = wanted
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for a signal and returns it; nil after `nanoseconds` without one: sigtimedwait(2).
  package static func wait(nanoseconds: Int) -> CInt? {
    var set = wanted
    var time = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    let number = sigtimedwait(&set, nil, &time)
    return number > 0 ? number : nil
  }

  /// Unblocks them: from now on, one of them ends the process at once.
  package static func unblock() {
    var set = wanted
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}

/// The process's handlers of signals.
package enum SignalHandler {
  /// The function of C that a signal calls. It may do only what is async-signal-safe.
  package typealias Function = @convention(c) (CInt) -> Void

  /// Makes a signal call `function` from now on: sigaction(2). Interrupted system calls go on
  /// afterwards. A signal that is ignored now stays ignored: whoever started the process wants that
  /// (nohup, or a shell that starts a pipeline in the background).
  ///
  /// - Parameter isOnce: Whether a second signal has the signal's default action.
  package static func install(
    for signal: CInt, once isOnce: Bool, _ function: @escaping Function
  ) {
    var action = sigaction()
    sigaction(signal, nil, &action)
    let isIgnored = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    if isIgnored { return }
    action.__sigaction_handler.sa_handler = function
    action.sa_flags = CInt(SA_RESTART) | (isOnce ? CInt(bitPattern: UInt32(SA_RESETHAND)) : 0)
    sigaction(signal, &action, nil)
  }
}
