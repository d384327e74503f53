import Glibc
import MMLogSystem
import Synchronization

/// Handles SIGINT, SIGTERM and SIGHUP, for a program that has to clean up first.
enum Interruption {
  /// The signal that came; 0 if none did. The handler touches nothing else.
  private static let signal = Atomic<CInt>(0)

  /// Whether a signal has come. Then work has to stop, clean up, and call ``end()``.
  static var isRequested: Bool { signal.load(ordering: .relaxed) != 0 }

  /// From now on, each signal requests an interruption, but only once. A second one ends the
  /// process as usual, unless signals make requests `repeatedly`.
  static func watch(repeatedly: Bool = false) {
    // The handler must not be the first to use the variable.
    _ = isRequested
    for number in [SIGINT, SIGTERM, SIGHUP] {
      SignalHandler.install(for: number, once: !repeatedly) { number in
        Interruption.signal.store(number, ordering: .relaxed)
      }
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
