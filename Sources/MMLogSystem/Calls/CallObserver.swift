#if DEBUG
  import Synchronization

  /// Informs a test of system calls as they are made, so that it can record what a power cut would
  /// leave of files.
  ///
  /// Debug builds only. Calls that a ``ForcedFault`` keeps from being made are not reported.
  package enum CallObserver {
    /// The phase of a call.
    package enum Phase: Sendable {
      case begins, succeeded, failed
    }

    /// Receives the call, the path that it is about, and its phase, on the thread that makes the
    /// call.
    package typealias Handler = @Sendable (SystemCall, String, Phase) -> Void

    /// Makes each call run `handler` from now on, on one thread at a time; nil: no handler.
    ///
    /// The handler must not make calls through this module: they would wait for it to return.
    package static func observe(_ handler: Handler?) {
      lock.withLock {
        self.handler = handler
        isObserving.store(handler != nil, ordering: .releasing)
      }
    }

    static func report(_ call: SystemCall, _ path: @autoclosure () -> String, _ phase: Phase) {
      // Without a lock while nobody listens: calls are made in signal handlers and after fork too.
      if !isObserving.load(ordering: .acquiring) { return }
      let path = path()
      lock.withLock { handler?(call, path, phase) }
    }

    private static let isObserving = Atomic<Bool>(false)
    private static let lock = ForkSafeMutex()
    nonisolated(unsafe) private static var handler: Handler?  // under `lock`
  }
#endif
