import MMLogReader
import MMLogSystem

/// Hands batches to a destination, one after the other, until each is settled.
///
/// For one thread at a time.
final class Delivery {
  /// What became of a batch.
  enum Outcome {
    case accepted(LogBatch.Answer)
    /// The receiver does not take it as it is.
    case refused(reason: String)
    /// The retry rule ends the tries of the whole batch.
    case givenUp(reason: String)
    /// The shipper is stopped.
    case stopped
  }

  private let destination: any LogDestination
  private let configuration: Shipper.Configuration
  private let control: ShipperControl
  /// The limits of a batch: half of a batch that the receiver has found too large, and twice as
  /// much after ``takenUntilGrowth`` batches that it has taken, up to the configured limits.
  private(set) var limits: (records: Int, bytes: Int)
  private static let takenUntilGrowth = 64
  /// How many batches the receiver has taken since the limits changed.
  private var takenCount = 0
  private var isBlocked = false
  private var records: TokenBucket?
  private var bytes: TokenBucket?

  init(
    _ destination: any LogDestination, _ configuration: Shipper.Configuration,
    _ control: ShipperControl
  ) {
    (self.destination, self.configuration, self.control) = (destination, configuration, control)
    limits = Self.limits(configuration)
    records = configuration.recordsPerSecond.map { TokenBucket(perSecond: $0) }
    bytes = configuration.bytesPerSecond.map { TokenBucket(perSecond: $0) }
  }

  /// Sends a batch, again if needed, until it is known what becomes of it.
  func send(_ formed: FormedBatch, id: String) -> Outcome {
    var attempt = 1
    while true {
      let batch = LogBatch(
        id: id, session: formed.session, records: formed.records, gaps: formed.gaps,
        attempt: attempt, mayBeRepeat: formed.mayBeRepeat || attempt > 1)
      // The pauses of later tries are limit enough.
      guard attempt > 1 || waitForTokens(of: batch) else { return .stopped }
      do {
        guard let answer = try sendOnce(batch) else { return .stopped }
        noteWorks()
        growLimits()
        return .accepted(checked(answer, batch))
      } catch {
        if control.isStopping { return .stopped }
        switch error.remedy {
        case .halve: return .refused(reason: error.message)
        case .makeSmaller:
          shrinkLimits(below: batch)
          return .refused(reason: error.message)
        case .tryAgain(let retryAfter):
          let failed = RetryRule.Attempt(count: attempt, retryAfter: retryAfter, error: error)
          guard let delay = configuration.retry.delay(failed) else {
            return .givenUp(reason: "given up after \(attempt) tries: \(error.message)")
          }
          guard pause(batch, attempt, error, delay) else { return .stopped }
        case .waitForAction:
          if !isBlocked { control.send(.blocked(error: error)) }
          isBlocked = true
          guard pause(batch, attempt, error, configuration.blockedPause) else { return .stopped }
        }
        attempt += 1
      }
    }
  }

  /// - Returns: Nil if the shipper is stopped.
  private func sendOnce(_ batch: LogBatch) throws(DeliveryError) -> LogBatch.Answer? {
    let promise = Promise<Result<LogBatch.Answer, DeliveryError>>()
    let task = Task.detached { [destination, control] in
      do {
        promise.fulfill(.success(try await destination.send(batch)))
      } catch {
        promise.fulfill(.failure(DeliveryError(error)))
      }
      control.wake()
    }
    while true {
      let limit = max(1_000_000, min(100_000_000, control.timeUntilDeadline))
      if let result = promise.wait(atMost: limit) { return try result.get() }
      control.answerLateFlushes()
      // This waits for the destination even then: two batches are never on their way at once.
      if control.isStopping { task.cancel() }
    }
  }

  /// Returns a receiver's answer without what cannot be true.
  private func checked(_ answer: LogBatch.Answer, _ batch: LogBatch) -> LogBatch.Answer {
    var (checked, seen) = (answer, Set<Int>())
    checked.refused = answer.refused.filter {
      (0..<batch.count).contains($0.index) && seen.insert($0.index).inserted
    }
    checked.refusedUnnamed = min(max(0, answer.refusedUnnamed), batch.count - checked.refused.count)
    if checked.refused.count != answer.refused.count
      || checked.refusedUnnamed != answer.refusedUnnamed
    {
      control.send(
        .contradiction(
          batch: batch.id,
          "the receiver says that it has refused \(answer.refused.count) records by number and "
            + "\(answer.refusedUnnamed) others, of \(batch.count); \(checked.refused.count) and "
            + "\(checked.refusedUnnamed) are counted"))
    }
    return checked
  }

  /// A batch is what may be sent in a second, at most: larger ones would be bursts.
  private static func limits(
    _ configuration: Shipper.Configuration
  ) -> (records: Int, bytes: Int) {
    (
      min(configuration.maximumRecords, configuration.recordsPerSecond ?? .max),
      min(configuration.maximumBytes, configuration.bytesPerSecond ?? .max)
    )
  }

  /// A single record that is too large has made the batches around it too large, too: then the
  /// limits are the configured ones again.
  private func shrinkLimits(below batch: LogBatch) {
    takenCount = 0
    if batch.count <= 1 {
      limits = Self.limits(configuration)
      return
    }
    // Several pieces of one batch may be too large: this never raises a limit.
    limits.records = min(limits.records, batch.count / 2)
    limits.bytes = min(limits.bytes, max(1024, batch.bytes / 2))
  }

  private func growLimits() {
    let largest = Self.limits(configuration)
    takenCount += 1
    guard limits < largest, takenCount >= Self.takenUntilGrowth else { return }
    limits = (min(largest.records, limits.records * 2), min(largest.bytes, limits.bytes * 2))
    takenCount = 0
  }

  private func noteWorks() {
    if isBlocked { control.send(.resumed) }
    isBlocked = false
    control.statistics.withLock { $0.isBlocked = false }
  }

  // MARK: - Waiting

  /// Waits until the next try.
  ///
  /// - Returns: False if the shipper is stopped.
  private func pause(
    _ batch: LogBatch, _ attempt: Int, _ error: DeliveryError, _ delay: Duration
  ) -> Bool {
    // A resume() before the receiver's answer does not shorten the pause that the answer asks for.
    // One by somebody who hears of the pause does.
    forgetHurry()
    control.send(.retrying(batch: batch.id, attempt: attempt, error: error, delay: delay))
    control.statistics.withLock {
      $0.retried += 1
      $0.lastError = error.message
      $0.isBlocked = isBlocked
    }
    return wait(delay.nanoseconds)
  }

  private func forgetHurry() { control.orders.withLock { $0.isHurried = false } }

  private func wait(_ nanoseconds: Int64) -> Bool {
    let deadline = Deadline(after: nanoseconds)
    while true {
      let seen = control.wakeupCount
      let (isStopping, isHurried, isSuspended) = control.orders.withLock { orders in
        defer { orders.isHurried = false }
        return (orders.isStopping, orders.isHurried, orders.isSuspended)
      }
      if isStopping { return false }
      let left = deadline.left
      if isHurried || left == 0 && !isSuspended { return true }
      control.wait(since: seen, atMost: left == 0 ? 100_000_000 : min(left, 100_000_000))
    }
  }

  private func waitForTokens(of batch: LogBatch) -> Bool {
    let delay = max(records?.take(batch.count) ?? 0, bytes?.take(batch.bytes) ?? 0)
    if delay == 0 { return true }
    forgetHurry()
    return wait(delay)
  }
}
