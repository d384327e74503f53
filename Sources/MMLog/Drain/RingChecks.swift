import MMLogCrash
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// What the drainer checks of its ring, and what it has reported of that.
///
/// For one thread at a time: the drainer's.
struct RingChecks {
  private let session: Session
  private let events: EventHub
  private let lossesWithoutRing: LossCounters
  /// See ``Drainer/Callbacks``.
  private let lostRing: @Sendable (LogError) -> Bool
  private var survey: RingSurvey
  /// When the last check was, as monotonic time.
  private(set) var last: UInt64 = 0
  private var knowsOfLostPages = false
  private var isRingReplaced = false
  private var isFilling = false
  /// Whether a record waits whose level requires that it is archived at once.
  var isUrgentRecordWaiting = false
  private var reportedLosses = LossLedger()
  /// When the drainer first saw that the handler of a fatal signal has returned.
  private var handlerReturned: UInt64?

  init(
    _ session: Session, _ events: EventHub, _ lossesWithoutRing: LossCounters, urgentLevels: UInt8,
    lostRing: @escaping @Sendable (LogError) -> Bool
  ) {
    (self.session, self.events) = (session, events)
    (self.lossesWithoutRing, self.lostRing) = (lossesWithoutRing, lostRing)
    survey = RingSurvey(session.ring, urgentLevels: urgentLevels)
  }

  /// Once a second, and when pages of the ring are lost for the first time: reads the clocks, and
  /// checks the ring, what waits in it, and the report of a fatal signal.
  mutating func runOnceASecond() {
    let now = Clock.monotonic()
    let isNews = session.ring.hasLostPages && !knowsOfLostPages
    guard now &- last >= DrainSchedule.second || isNews else { return }
    knowsOfLostPages = knowsOfLostPages || isNews
    last = now
    session.ring.clocks.read()
    CrashArea.readModules()
    EndingArea.deny()
    FaultContainment.restore()
    // The thread goes on with a lost ring: others may still wait for a segment.
    if !isRingReplaced, let problem = session.ring.problem() {
      isRingReplaced = lostRing(problem)
    }
    collectSurvivedSignal(at: now)
    session.ring.take(lossesWithoutRing)
    reportLosses()
    isUrgentRecordWaiting = survey.inspect() || isUrgentRecordWaiting
  }

  /// Takes over the report of a fatal signal if the process still lives a second after the signal's
  /// handler has returned.
  private mutating func collectSurvivedSignal(at now: UInt64) {
    guard session.ring.hasSurvivedSignal else {
      handlerReturned = nil
      return
    }
    let since = handlerReturned ?? now
    handlerReturned = since
    if now &- since >= DrainSchedule.second { session.collectSurvivedSignal() }
  }

  /// Reports that three quarters of the segments that no thread has wait to be archived, and not
  /// again until less than half of them do. The segments of threads do not count: a thread keeps
  /// its segment for as long as it lives, needed or not.
  mutating func reportFilling() {
    let part = session.ring.pool.waitingShare
    if part >= 0.75 && !isFilling { events.send(.ringFilling(fraction: part)) }
    isFilling = part >= (isFilling ? 0.5 : 0.75)
  }

  mutating func reportLosses() {
    let losses = session.ring.losses
    guard losses != reportedLosses else { return }
    reportedLosses = losses
    events.send(.dropped(losses: losses))
  }
}
