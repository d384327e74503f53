import CommandLineTool
import LogCommands
import MMLogDestinations
import MMLogShipping
import MMLogStorage
import MMLogSystem

/// The shipping of a directory's whole archives to one destination.
struct ArchiveRoute: ShippingRoute {
  let name: String
  private let shipper: ArchiveShipper
  private let destination: any ArchiveDestination
  private let numbers = LockedValue(ArchiveNumbers())
  /// Prints events that are worth a line, until the shipper is stopped.
  private let reporting: Task<Void, Never>

  init(_ route: Plan.Route, to destination: any ArchiveDestination) throws {
    var configuration = ArchiveShipper.Configuration()
    configuration.retry = route.target.shipping.retry
    (name, self.destination) = (route.name, destination)
    shipper = try ArchiveShipper(
      of: route.directory, to: destination, configuration: configuration)
    reporting = Self.report(shipper.events, name, numbers)
  }

  private static func report(
    _ events: AsyncStream<ArchiveShipper.Event>, _ name: String,
    _ numbers: LockedValue<ArchiveNumbers>
  ) -> Task<Void, Never> {
    Task.detached {
      var (isBlocked, unsaid) = (false, DeliveryError?.none)
      for await event in events {
        numbers.withLock { $0.take(event) }
        unsaid = event.errorOfFirstTries
        let wasBlocked = isBlocked
        isBlocked = event.isBlocked
        if isBlocked, wasBlocked { continue }
        if let sentence = event.sentence { Command.complain("\(name): \(sentence)") }
      }
      if let unsaid { Command.complain("\(name): \(unsaid)") }
    }
  }

  func start() throws { try shipper.start() }

  func send(sharing isShared: Bool) async throws(LogError) -> Bool {
    // An archive that cannot be read keeps no other waiting: `shipAll` reports it at its end.
    let all = (try? shipper.waiting()).map { Set($0.map(\.path)) }
    _ = try await shipper.shipAll()
    // A shipper that was killed within an upload also has a lease, for a while. What was sealed
    // meanwhile is not asked for.
    let waiting = try shipper.waiting().filter {
      Task.isCancelled || all?.contains($0.path) ?? true
    }
    let leases = waiting.compactMap(\.state.lease)
    if waiting.count > (Task.isCancelled && !isShared ? 0 : leases.count) {
      let verb = waiting.count == 1 ? "is" : "are"
      Command.complain(
        "\(name): \(count(waiting.count, "archive")) \(verb) left, and \(verb) sent next time")
      return false
    }
    guard !isShared, let lease = leases.first else { return true }
    Command.complain(
      "\(name): \(leases.count) archives are leased to others, the first to '\(lease.owner)' "
        + "until \(lease.expiry); they are not sent before that")
    return false
  }

  /// An unfinished archive goes on where it ended, or is sent again.
  func flush(within limit: Duration) async -> Bool { true }

  func cancel() { shipper.cancel() }

  func stop() async {
    await shipper.stop()
    await reporting.value
  }

  func checkDestination() async throws { try await destination.check() }

  func waiting() throws(LogError) -> [String] {
    try shipper.waiting().map { "\($0.fileName): \($0.size) bytes" }
  }

  func retry() async throws(LogError) -> (text: String, isWhole: Bool) {
    let (count, refused) = (try await shipper.retryRefused(), try shipper.refused().count)
    return ("\(count) archives sent, \(refused) refused", refused == 0)
  }

  var hasLost: Bool { (try? shipper.refused().isEmpty) != true }

  var archives: ArchiveNumbers? {
    var numbers = numbers.withLock { $0 }
    numbers.waiting = try? shipper.waiting().count
    return numbers
  }
}

extension ArchiveShipper.Event {
  /// Whether nothing is sent until somebody acts.
  var isBlocked: Bool {
    if case .retrying(_, _, let error, _) = self { error.remedy == .waitForAction } else { false }
  }

  /// The error of the first tries, which is not reported yet. It is reported if the program ends
  /// before that.
  fileprivate var errorOfFirstTries: DeliveryError? {
    if case .retrying(_, _, let error, _) = self, sentence == nil { error } else { nil }
  }

  /// A sentence if the event is worth a line; nil if all goes as it should.
  fileprivate var sentence: String? {
    switch self {
    case .shipped: return nil
    case .retrying(let archive, let attempt, let error, let delay):
      if isBlocked { return "\(error); nothing is sent until that is changed" }
      return error.sentence(attempt, next: delay).map { "\(archive.fileName): \($0)" }
    case .refused(let archive, let reason):
      return "\(archive.fileName) was refused; 'mmlog-ship retry' sends it again: \(reason)"
    case .failed(let error): return "\(error)"
    @unknown default: return nil
    }
  }
}
