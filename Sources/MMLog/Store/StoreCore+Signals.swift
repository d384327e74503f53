import MMLogCrash
import MMLogSystem

extension StoreCore {
  /// Makes ordinary records of fatal signals that did not end the process, so that nobody takes
  /// them for the cause of its later end.
  ///
  /// - Parameter waits: Whether to wait for room in the ring. The drainer must not wait, because it
  ///   makes that room.
  func noteSurvivedSignals(of session: Session, waits: Bool) {
    // The room for all but the text: a call site, a label, the time.
    let rest = 1024
    defer { if !waits { WriterSpace.giveUp(session) } }
    while let report = session.survivals.first {
      let places = report.places(atMost: session.ring.largestRecord - rest)
      guard waits || WriterSpace.reserve(places.utf8.count + rest, session) else { return }
      // Another thread may close the store meanwhile.
      guard session.survivals.take(report) else { return }
      Logger(label("mmlog")).critical(
        "survived \(report.summary, privacy: .public): \(places, privacy: .public)",
        metadata: ["time": .int(report.time.nanosecondsSince1970)])
      // Another thread may have closed the store, and taken the ring's memory away. The drainer,
      // which does not wait, ends before that.
      lock.withLock { if !waits || open?.session === session { session.ring.noteSurvival() } }
    }
  }
}
