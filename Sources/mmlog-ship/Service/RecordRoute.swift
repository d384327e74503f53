import CommandLineTool
import LogCommands
import MMLogDestinations
import MMLogShipping
import MMLogStorage
import MMLogSystem

/// The shipping of a directory's records to one destination.
struct RecordRoute: ShippingRoute {
  let name: String
  private let shipper: Shipper
  /// Prints events that are worth a line, until the shipper is stopped.
  private let reporting: Task<Void, Never>

  init(_ route: Plan.Route, to destination: any LogDestination) throws {
    var configuration = route.target.shipping
    configuration.ringDirectory = route.rings
    configuration.identities = route.identities
    if !route.target.isNamed { configuration.target = route.target.settings.target }
    name = route.name
    shipper = try Shipper(
      of: route.directory, as: route.target.name, to: destination, configuration: configuration)
    reporting = Self.report(shipper.events, name)
  }

  private static func report(
    _ events: AsyncStream<Shipper.Event>, _ name: String
  ) -> Task<Void, Never> {
    Task.detached {
      let refusals = Refusals(of: name)
      let summing = Task {
        while (try? await Task.sleep(for: .seconds(60))) != nil { refusals.saySum() }
      }
      var unsaid: DeliveryError?
      for await event in events {
        unsaid = event.errorOfFirstTries
        if case .refused(_, let count, let reason) = event, count > 0 {
          refusals.add(count, reason)
        } else if let sentence = event.sentence {
          Command.complain("\(name): \(sentence)")
        }
      }
      summing.cancel()
      refusals.saySum()
      if let unsaid { Command.complain("\(name): \(unsaid)") }
    }
  }

  func start() throws { try shipper.start() }

  func send(sharing isShared: Bool) async throws(LogError) -> Bool {
    let isAll = try await shipper.shipAll()
    if !isAll, Task.isCancelled {
      Command.complain("\(name): not all was sent; what is left is sent next time")
    }
    return isAll
  }

  func flush(within limit: Duration) async -> Bool { await shipper.flush(within: limit) }

  func cancel() { shipper.cancel() }

  func stop() async {
    await shipper.stop()
    await reporting.value
  }

  func checkDestination() async throws { try await shipper.check() }

  func waiting() throws(LogError) -> [String] {
    try shipper.waiting().map { waiting in
      "session \(waiting.session): \(waiting.records) records"
        + (waiting.hasRing ? ", and what is in its ring" : "")
        + (waiting.corruption.isEmpty
          ? "" : ", and \(waiting.corruption.count) gaps where it is corrupted")
    }
  }

  func retry() async throws(LogError) -> (text: String, isWhole: Bool) {
    let result = try await shipper.retryRefused()
    let unreadable =
      result.unreadable == 0
      ? "" : "; \(count(result.unreadable, "line")) of '.refused' cannot be read, and stay there"
    let waiting = result.waiting == 0 ? "" : ", \(result.waiting) in archives that cannot be read"
    return (
      "\(result.acknowledged) sent, \(result.refused) refused again, \(result.missing) not here "
        + "any more\(waiting)\(unreadable)",
      result.refused == 0 && result.missing == 0 && result.waiting == 0
        && result.unreadable == 0
    )
  }

  var hasLost: Bool { shipper.statistics.refused > 0 || shipper.statistics.gaps > 0 }

  var statistics: Shipper.Statistics? { shipper.statistics }
}

extension Shipper.Event {
  /// The error of the first tries, which is not reported yet. It is reported if the program ends
  /// before that.
  fileprivate var errorOfFirstTries: DeliveryError? {
    if case .retrying(_, _, let error, _) = self, sentence == nil { error } else { nil }
  }

  /// A sentence if the event is worth a line; nil if all goes as it should.
  fileprivate var sentence: String? {
    switch self {
    case .started, .acknowledged: return nil
    case .retrying(_, let attempt, let error, let delay):
      return error.sentence(attempt, next: delay)
    case .blocked(let error): return "\(error); nothing is sent until that is changed"
    case .resumed: return "the destination takes records again"
    case .refused(_, 0, let reason):
      return "the destination refused the note about missing records: \(reason)"
    // `Refusals` reports refused records.
    case .refused: return nil
    case .contradiction(_, let sentence): return sentence
    case .changedBatch(let id):
      return "the batch \(id) was on its way when its shipper ended, and cannot be made again: "
        + "some of its records may arrive twice, or not"
    case .gap(let gap): return "records are gone before they were sent: \(gap)"
    case .recovered(let sessions):
      return "recovered \(count(sessions.count, "session")) of processes that had died"
    case .failed(let error) where error.code == .archiveInUse: return nil
    case .failed(let error): return "\(error)"
    case .waitingForAnother: return "another mmlog-ship sends this; waiting until it ends"
    @unknown default: return nil
    }
  }
}
