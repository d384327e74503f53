import MMLogStorage
import MMLogSystem
import Synchronization

/// What is asked of a thread that works in passes, and how far it has come: who asks waits for a
/// pass that begins afterwards.
final class PassRequests: Sendable {
  private let newest = Atomic<UInt64>(0)
  private struct Served {
    /// The newest request that has been served.
    var ticket: UInt64 = 0
    /// The newest request that a pass has served which did not fail.
    var success: UInt64 = 0
    /// What the last pass failed with, if it did.
    var failure: LogError?
  }

  private let served = LockedValue(Served())
  /// Counts passes, for those who wait for one.
  private let passes = EventCount()

  /// The newest request. To be read when a pass begins, which serves it and all before.
  var newestTicket: UInt64 { newest.load(ordering: .acquiring) }

  /// The newest request that has been served.
  var servedTicket: UInt64 { served.withLock { $0.ticket } }

  /// Takes in that a pass has ended, and wakes those who wait for it.
  ///
  /// - Parameters:
  ///   - ticket: The newest request when it began; `.max` if there will be no other.
  ///   - failure: What they get.
  func serve(_ ticket: UInt64, _ failure: LogError?) {
    served.withLock {
      ($0.ticket, $0.failure) = (ticket, failure)
      if failure == nil { $0.success = ticket }
    }
    passes.advance()
  }

  /// Lets nobody wait any longer: those whose request no pass has served get what the last one
  /// reported.
  func end() {
    served.withLock { $0.ticket = .max }
    passes.advance()
  }

  /// Asks for a pass, and waits for its end.
  ///
  /// - Parameters:
  ///   - limit: How long to wait at most, in nanoseconds.
  ///   - call: Makes the thread check.
  /// - Throws: what the last pass failed with, unless one has served the request and did not fail;
  ///   or `timedOut`, which says that it took longer.
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
