import MMLogStorage
import MMLogSystem
import Synchronization

/// The requests to a thread that works in passes, and which of them it has served. Whoever asks
/// waits for a pass that begins afterwards.
final class PassRequests: Sendable {
  private let newest = Atomic<UInt64>(0)
  private struct Served {
    /// The newest request that has been served.
    var ticket: UInt64 = 0
    /// The newest request that a successful pass has served.
    var success: UInt64 = 0
    /// The error of the last pass; nil if it succeeded.
    var failure: LogError?
  }

  private let served = LockedValue(Served())
  /// Counts passes, for those who wait for one.
  private let passes = EventCount()

  /// The newest request. Read when a pass begins: the pass serves this request and all before.
  var newestTicket: UInt64 { newest.load(ordering: .acquiring) }

  /// The newest request that has been served.
  var servedTicket: UInt64 { served.withLock { $0.ticket } }

  /// Takes in that a pass has ended, and wakes those who wait for it.
  ///
  /// - Parameters:
  ///   - ticket: The newest request when the pass began; `.max` if there will be no other pass.
  ///   - failure: The error that those who wait get.
  func serve(_ ticket: UInt64, _ failure: LogError?) {
    served.withLock {
      ($0.ticket, $0.failure) = (ticket, failure)
      if failure == nil { $0.success = ticket }
    }
    passes.advance()
  }

  /// Lets nobody wait any longer. Those whose request no pass has served get the result of the last
  /// pass.
  func end() {
    served.withLock { $0.ticket = .max }
    passes.advance()
  }

  /// Asks for a pass, and waits for its end.
  ///
  /// - Parameters:
  ///   - limit: How long to wait at most, in nanoseconds.
  ///   - call: Makes the thread check.
  /// - Throws: The error of the last pass, unless a successful pass has served the request; or an
  ///   error that says `timedOut`, if the limit is over.
  func wait(
    atMost limit: Int64, for call: () -> Void, else timedOut: @autoclosure () -> String
  ) throws(LogError) {
    let ticket = newest.add(1, ordering: .acquiringAndReleasing).newValue
    let deadline = Deadline(after: limit)
    call()
    while true {
      let seen = passes.current
      let served = served.withLock { $0 }
      if served.ticket >= ticket {
        if let failure = served.failure, served.success < ticket { throw failure }
        return
      }
      let left = deadline.left
      guard left > 0 else { throw LogError(.timedOut, timedOut()) }
      passes.wait(since: seen, atMost: left)
    }
  }
}
