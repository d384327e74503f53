import MMLogStorage
import MMLogSystem

/// The recovery of what dead processes left of a store. The store's opening does not wait for it:
/// the maintenance thread recovers before it does anything else.
final class StartRecovery: Sendable {
  /// What became of the rings of dead processes.
  struct Outcome {
    var sessions: [RecoveredSession] = []
    /// Why other rings could not be recovered.
    var problems: [LogError] = []
  }

  private let outcome = Promise<Outcome>()

  /// For code that takes the lock around a fork.
  var lock: ForkSafeMutex { outcome.lock }

  /// Recovers, unless the recovery has been done.
  ///
  /// - Parameters:
  ///   - events: Receives an event for each ring, and each archive that is sealed.
  ///   - goesOn: Whether to recover another ring. The next start recovers the rest.
  /// - Returns: What became of the rings.
  func run(_ location: StoreLocation, _ events: EventHub, while goesOn: () -> Bool) -> Outcome {
    if let known = outcome.wait(atMost: 0) { return known }
    let new = location.recover(while: goesOn)
    for session in new.sessions {
      events.sendAtStart(.recovered(session: session))
      for archive in session.sealed { events.sendAtStart(.sealed(archive: archive)) }
    }
    for problem in new.problems { events.sendAtStart(.failed(error: problem)) }
    location.sealRinglessArchives(
      while: goesOn, sealed: { events.sendAtStart(.sealed(archive: $0)) },
      problem: { events.sendAtStart(.failed(error: $0)) })
    outcome.fulfill(new)
    return new
  }

  /// Ends all waiting: the recovery is done, or will not be done.
  func finish() { outcome.fulfill(Outcome()) }

  /// Waits until the recovery is done, at most `nanoseconds`.
  func wait(atMost nanoseconds: Int64) { _ = outcome.wait(atMost: nanoseconds) }

  /// What became of the rings. Waits until this is known of all.
  var result: Outcome { outcome.wait(atMost: .max) ?? Outcome() }

  /// Ends all waiting in a fork's child, because its parent recovers the rest. The parent had taken
  /// the lock.
  func detachInChild() {
    lock.reinitialize()
    finish()
  }
}
