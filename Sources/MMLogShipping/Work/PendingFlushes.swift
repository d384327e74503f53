import MMLogReader
import MMLogStorage
import MMLogSystem

/// Flushes that wait: first for rings, whose processes archive what was logged, and then for the
/// receiver's acknowledgements.
struct PendingFlushes {
  private let path: String
  private let configuration: Shipper.Configuration
  private let control: ShipperControl
  /// Flushes whose rings have not all answered yet: which rings, and which request of each.
  private var asked: [Int: [(ring: LiveRing, number: UInt32)]] = [:]
  /// What the other flushes wait for: how far each session has to be acknowledged.
  private var awaited: [Int: [SessionID: ConsumerState.Progress]] = [:]
  private var nextArchiving: UInt64 = 0

  init(_ path: String, _ configuration: Shipper.Configuration, _ control: ShipperControl) {
    (self.path, self.configuration, self.control) = (path, configuration, control)
  }

  var isEmpty: Bool { asked.isEmpty && awaited.isEmpty }

  private static let archivingTimeout: Int64 = 2_000_000_000

  /// Asks for what is in rings to be archived, if it is time for that or a flush is new.
  ///
  /// - Parameter flushes: The numbers of the flushes that wait.
  /// - Returns: The flushes for which everything is archived that was logged before them.
  mutating func askForArchiving(for flushes: [Int]) -> [Int] {
    let now = Clock.monotonic()
    asked = asked.filter { flushes.contains($0.key) }
    let new = flushes.filter { awaited[$0] == nil && asked[$0] == nil }
    if let interval = configuration.archiveInterval, now >= nextArchiving {
      nextArchiving = now + UInt64(interval.nanoseconds)
    } else if new.isEmpty {
      return answeredFlushes(within: 0)
    }
    if let archive = configuration.archive {
      archive()
      return new
    }
    let requests = askRings()
    // A flush covers what was logged before it. If not all rings could be asked, the next pass
    // tries again.
    if let requests { for flush in new { asked[flush] = requests } }
    return answeredFlushes(within: new.isEmpty ? 0 : Self.archivingTimeout)
  }

  /// Asks all rings.
  ///
  /// - Returns: The requests; nil if not all could be asked.
  private func askRings() -> [(ring: LiveRing, number: UInt32)]? {
    let rings: [LiveRing]
    do throws(LogError) {
      rings = try LiveRing.all(in: configuration.ringDirectory ?? path) { _ in }
    } catch {
      // A directory of rings that does not exist yet has no rings.
      return (error.cause as? SystemError)?.isNotFound == true ? [] : nil
    }
    let requests = rings.compactMap { ring in
      (try? ring.ask(for: [])).map { (ring: ring, number: $0) }
    }
    return requests.count == rings.count ? requests : nil
  }

  /// Returns the flushes whose rings have all answered. Later passes look at the others again.
  private mutating func answeredFlushes(within limit: Int64) -> [Int] {
    let deadline = Deadline(after: limit)
    for (flush, requests) in asked {
      do throws(LogError) {
        for request in requests {
          try request.ring.waitForAnswer(
            to: request.number, within: min(deadline.left, control.timeUntilDeadline))
        }
        asked[flush] = []
      } catch {
        // A process that has ended, or could not archive, is asked again if its ring is still
        // there.
        if error.code != .timedOut { asked[flush] = nil }
      }
    }
    return asked.filter(\.value.isEmpty).map(\.key)
  }

  /// Makes flushes wait until everything that is archived is acknowledged.
  ///
  /// - Parameters:
  ///   - archived: The flushes for which everything is archived that was logged before them.
  ///   - ends: How far each session is archived.
  mutating func wait(
    _ archived: [Int], for ends: @autoclosure () -> [SessionID: ConsumerState.Progress]
  ) {
    let numbers = control.orders.withLock { $0.flushes.map(\.number) }
    awaited = awaited.filter { numbers.contains($0.key) }
    for number in archived where awaited[number] == nil {
      asked[number] = nil
      awaited[number] = ends()
    }
  }

  /// Answers the flushes whose sessions are all acknowledged as far as the flush needs.
  mutating func answer(
    where isAcknowledged: (SessionID, ConsumerState.Progress) -> Bool
  ) {
    let done = awaited.filter { $0.value.allSatisfy(isAcknowledged) }
    if done.isEmpty { return }
    control.answerFlushes(done: true) { done[$0.number] != nil }
    for number in done.keys { awaited[number] = nil }
  }
}
