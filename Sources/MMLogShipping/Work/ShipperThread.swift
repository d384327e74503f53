import MMLogStorage
import MMLogSystem

/// The thread of a shipper that was started.
final class ShipperThread: Sendable {
  private let thread = LockedValue<MMLogSystem.Thread?>(nil)
  private let ending = Ending()

  /// Starts the thread, unless it was started before.
  ///
  /// - Parameter makeBody: Returns what the thread does. It is only called if the thread is to be
  ///   started.
  func start(_ makeBody: () -> @Sendable () -> Void) throws(LogError) {
    try explaining("Starting the shipper's thread failed") { () throws(SystemError) in
      try thread.withLock { (thread) throws(SystemError) in
        if thread != nil { return }
        let body = makeBody()
        thread = try MMLogSystem.Thread(name: "mmlog-ship") { [ending] in
          body()
          ending.end()
        }
      }
    }
  }

  /// Waits until the thread has ended, if it was started.
  func waitForEnd() async {
    if thread.withLock({ $0 != nil }) { await ending.wait() }
  }
}

/// The end of a thread. Tasks wait for it without blocking a thread.
private final class Ending: Sendable {
  private struct State: Sendable {
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = LockedValue(State())

  func end() {
    let waiting = state.withLock { state in
      state.isOver = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for task in waiting { task.resume() }
  }

  func wait() async {
    await withCheckedContinuation { task in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting.append(task) }
        return state.isOver
      }
      if isOver { task.resume() }
    }
  }
}
