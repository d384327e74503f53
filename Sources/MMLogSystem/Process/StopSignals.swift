import Glibc

/// SIGTERM and SIGINT, which are waited for in place of being delivered: blocked before any thread
/// is made, so that no thread gets them.
package enum StopSignals {
  private static var wanted: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT] { sigaddset(&set, number) }
    return set
  }

  /// Keeps them until somebody waits for them, in this thread and those that it starts:
  /// pthread_sigmask(3).
  package static func block() {
    var set = wanted
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// The signal that has come; nil after so many nanoseconds without one: sigtimedwait(2).
  package static func wait(nanoseconds: Int) -> CInt? {
    var set = wanted
    var time = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    let number = sigtimedwait(&set, nil, &time)
    return number > 0 ? number : nil
  }

  /// From now on, one of these ends the process at once.
  package static func unblock() {
    var set = wanted
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}

/// The process's handlers of signals.
package enum SignalHandler {
  /// What a signal calls: a function of C, which may do what is async-signal-safe.
  package typealias Function = @convention(c) (CInt) -> Void

  /// Has `function` called for a signal from now on: sigaction(2). System calls go on behind it. A
  /// signal that is ignored now stays so: whoever started the process wants that (nohup, and a shell
  /// that starts a pipeline in the background).
  ///
  /// - Parameter isOnce: Whether a second signal does what the signal does without a handler.
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
