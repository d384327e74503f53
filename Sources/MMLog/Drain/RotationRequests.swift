import MMLogStorage
import MMLogSystem

/// Who waits for the open archive to be sealed. A pass serves those who asked before it began: it
/// moves what they had logged by then.
final class RotationRequests: Sendable {
  typealias Answer = Promise<Result<ArchiveInfo?, LogError>>

  private struct State {
    var waiting: [Answer] = []
    /// Those whom the present pass serves.
    var served: [Answer] = []
    var isOver = false
  }

  private let state = LockedValue(State())

  /// Takes in a request; answers it at once if there will be no other pass.
  func add(_ answer: Answer) {
    let isOver = state.withLock { state in
      if !state.isOver { state.waiting.append(answer) }
      return state.isOver
    }
    if isOver { answer.fulfill(.failure(StoreCore.closedError)) }
  }

  /// Lets a pass serve all who wait, and those whom an earlier pass has not answered.
  func beginPass() {
    state.withLock { state in
      state.served += state.waiting
      state.waiting = []
    }
  }

  /// Whether the present pass serves anybody.
  var isAsked: Bool { state.withLock { !$0.served.isEmpty } }

  /// Answers those whom the present pass serves.
  func answer(_ result: Result<ArchiveInfo?, LogError>) {
    let served = state.withLock { state in
      defer { state.served = [] }
      return state.served
    }
    for answer in served { answer.fulfill(result) }
  }

  /// Answers all, and lets nobody wait any more.
  func end(_ failure: LogError) {
    let all = state.withLock { state in
      defer { state = State(isOver: true) }
      return state.served + state.waiting
    }
    for answer in all { answer.fulfill(.failure(failure)) }
  }
}
