import Glibc
import MMLog
import MMLogSystem
import Synchronization

/// What a store's events reported, for threads that wait for an event.
final class EventCounts: Sendable {
  private struct State {
    var failures: [String] = []
    var resumptions = 0
    var expectedFailures = 0
    var isOver = false
  }

  private let state = Mutex(State())
  private let isWarm = Atomic<Bool>(false)

  /// Makes the runtime start the threads that it runs tasks on.
  func warmUp() {
    Task.detached { [self] in isWarm.store(true, ordering: .releasing) }
    wait { isWarm.load(ordering: .acquiring) }
  }

  func listen(to store: LogStore) {
    let events = store.events
    Task.detached { [self] in
      for await event in events { take(event) }
      state.withLock { $0.isOver = true }
    }
  }

  private func take(_ event: LogStore.Event) {
    state.withLock { state in
      switch event {
      case .failed(let error), .notDeleted(_, let error): state.failures.append(error.message)
      case .resumed: state.resumptions += 1
      default: break
      }
    }
  }

  /// The reported failures.
  var reported: [String] { state.withLock { $0.failures } }

  /// Waits until the drainer has resumed after each failure that it reported. It has to resume by
  /// itself: nobody asks for anything.
  ///
  /// A failure at the start is not the drainer's, and no resumption follows it.
  func waitForResumption(_ problems: inout [String]) {
    let hasResumed = wait {
      state.withLock { state in
        let failures = state.failures.filter { $0.contains("Writing the archive") }
        return state.resumptions >= failures.count
      }
    }
    if !hasResumed { problems.append("it does not resume by itself") }
  }

  /// Waits until more failures are reported than at the last call. Returns false if none is.
  func waitForFailure() -> Bool {
    let isReported = wait { state.withLock { $0.failures.count > $0.expectedFailures } }
    state.withLock { $0.expectedFailures = $0.failures.count }
    return isReported
  }

  func waitForEnd() { wait { state.withLock { $0.isOver } } }

  @discardableResult
  private func wait(until condition: () -> Bool) -> Bool {
    let deadline = Clock.monotonic() + 10_000_000_000
    while !condition() {
      if Clock.monotonic() > deadline { return false }
      usleep(500)
    }
    return true
  }
}
