import MMLogSystem
import Synchronization

/// Sends HTTP requests one after the other, over a connection that is kept, from a thread of its
/// own: libcurl blocks its thread, and no task should do that.
///
/// Any thread. The client's own thread ends with the client, whose deinitialization waits for that.
package final class HTTPClient: Sendable {
  private let queue: Queue

  /// Makes a client; its thread begins at the first request.
  ///
  /// - Parameter settings: How servers are reached.
  package init(_ settings: HTTPSettings) { queue = Queue(settings) }

  deinit { queue.close() }

  /// Sends a request and waits for the answer, whatever its status.
  ///
  /// - Throws: ``HTTPFailure`` if no answer came; within about a second if the task is canceled.
  package func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPResponse {
    let job = Job(request)
    return try await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        queue.add(job, continuation)
      }
    } onCancel: {
      job.cancel()
    }.get()
  }
}

/// A request that waits for its turn or its answer.
final class Job: Sendable {
  let request: HTTPRequest
  private let canceled = Atomic<Bool>(false)

  init(_ request: HTTPRequest) { self.request = request }

  func cancel() { canceled.store(true, ordering: .relaxed) }

  var isCanceled: Bool { canceled.load(ordering: .relaxed) }
}

/// What the client and its thread share.
private final class Queue: Sendable {
  typealias Answer = CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>

  private struct State {
    var jobs: [(job: Job, answer: Answer)] = []
    var thread: Thread?
    var isClosed = false
  }

  private let settings: HTTPSettings
  private let state = LockedValue(State())
  private let changes = EventCount()

  init(_ settings: HTTPSettings) { self.settings = settings }

  func add(_ job: Job, _ answer: Answer) {
    let failure: HTTPFailure? = state.withLock { state in
      do throws(SystemError) {
        if state.thread == nil { state.thread = try Thread(name: "mmlog-http") { self.run() } }
      } catch {
        return HTTPFailure(kind: .unreachable, description: "cannot start a thread: \(error)")
      }
      state.jobs.append((job, answer))
      return nil
    }
    if let failure { answer.resume(returning: .failure(failure)) }
    changes.advance()
  }

  /// Waits until the thread has ended. A thread that still cleaned up while the process exits would
  /// use memory that the exit handlers of libcrypto have freed.
  func close() {
    let thread = state.withLock { state in
      state.isClosed = true
      return state.thread
    }
    changes.advance()
    thread?.join()
  }

  private func run() {
    let curl = CurlHandle(settings)
    while true {
      let seen = changes.current
      let (next, isClosed) = state.withLock { state in
        (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isClosed)
      }
      if let next {
        next.answer.resume(
          returning: Result { () throws(HTTPFailure) in try curl.perform(next.job) })
      } else if isClosed {
        return
      } else {
        changes.wait(since: seen, atMost: 60_000_000_000)
      }
    }
  }
}
