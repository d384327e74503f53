import Glibc
import MMLogSystem
import Synchronization

/// Handles SIGINT, SIGTERM and SIGHUP, for a program that has to clean up first, or has a pager.
enum Interruption {
  /// The signal that came; 0 if none did. The handler touches nothing else.
  private static let signal = Atomic<CInt>(0)
  /// The pager's number.
  private static let pager = Atomic<CInt>(0)

  /// Whether a signal has come. Then work has to stop, clean up, and call ``end()``.
  static var isRequested: Bool { signal.load(ordering: .relaxed) != 0 }

  /// From now on, each signal requests an interruption, but only once. A second one ends the
  /// process as usual.
  static func watch() {
    for number in [SIGINT, SIGTERM, SIGHUP] { request(by: number, once: true) }
  }

  /// From now on, SIGINT requests an interruption, however often it comes: the pager has the
  /// keyboard, and what was read stays visible. The other signals end the pager and this process.
  static func watch(withPager id: CInt) {
    request(by: SIGINT, once: false)
    pager.store(id, ordering: .relaxed)
    for number in [SIGTERM, SIGHUP] {
      SignalHandler.install(for: number, once: true) { number in
        let pager = Interruption.pager.load(ordering: .relaxed)
        if pager > 0 { kill(pager, number) }
        // Once the handler has returned, as it would have without the handler.
        raise(number)
      }
    }
  }

  /// The pager's number may become another process's.
  static func forgetPager() { pager.store(0, ordering: .relaxed) }

  private static func request(by number: CInt, once isOnce: Bool) {
    // The handler must not be the first to use the variable.
    _ = isRequested
    SignalHandler.install(for: number, once: isOnce) { number in
      Interruption.signal.store(number, ordering: .relaxed)
    }
  }

  /// Ends the process as the signal would have, so that its caller sees what happened.
  static func end() -> Never {
    let number = signal.load(ordering: .relaxed)
    Glibc.signal(number, SIG_DFL)
    raise(number)
    exit(128 + number)
  }
}
