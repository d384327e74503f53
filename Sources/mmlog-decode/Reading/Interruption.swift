import Glibc
import MMLogSystem
import Synchronization

/// SIGINT, SIGTERM and SIGHUP, for a program that has to tidy up first.
enum Interruption {
  /// The signal that came; 0 if none did. All that the handler touches.
  private static let signal = Atomic<CInt>(0)

  /// Whether one has come: whoever works is to stop, tidy up, and call ``end()``.
  static var isRequested: Bool { signal.load(ordering: .relaxed) != 0 }

  /// From here on signals ask, once each; a second one ends the process as usual, unless it is to
  /// ask `repeatedly`.
  static func watch(repeatedly: Bool = false) {
    // Before the handler can be the first to ask for it.
    _ = isRequested
    for number in [SIGINT, SIGTERM, SIGHUP] {
      SignalHandler.install(for: number, once: !repeatedly) { number in
        Interruption.signal.store(number, ordering: .relaxed)
      }
    }
  }

  /// Ends the process as the signal would have: its caller sees what happened.
  static func end() -> Never {
    let number = signal.load(ordering: .relaxed)
    Glibc.signal(number, SIG_DFL)
    raise(number)
    exit(128 + number)
  }
}
