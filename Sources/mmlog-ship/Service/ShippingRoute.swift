import CommandLineTool
import LogCommands
import MMLogDestinations
import MMLogShipping
import MMLogStorage

/// The shipping of a directory to one destination: ``RecordRoute``, or ``ArchiveRoute``.
protocol ShippingRoute: Sendable {
  /// The route's name in messages.
  var name: String { get }

  func start() throws

  /// Sends all that is archived now.
  ///
  /// - Parameter isShared: Whether it is enough that another program is at work.
  /// - Returns: Whether everything was sent.
  func send(sharing isShared: Bool) async throws(LogError) -> Bool

  func flush(within limit: Duration) async -> Bool

  /// Asks the shipper to end soon, and does not wait for it.
  func cancel()

  /// Stops the shipper, and returns when everything is printed that is worth a line.
  func stop() async

  /// Throws what keeps the destination from taking anything.
  func checkDestination() async throws

  /// Describes what would be sent now, in lines.
  func waiting() throws(LogError) -> [String]

  /// Sends again what the destination has refused.
  ///
  /// - Returns: The outcome, and whether the destination has everything now.
  func retry() async throws(LogError) -> (text: String, isWhole: Bool)

  /// Whether something was not sent that should have been.
  var hasLost: Bool { get }

  /// The numbers of records; nil if whole archives are sent.
  var statistics: Shipper.Statistics? { get }

  /// The numbers of whole archives; nil if records are sent.
  var archives: ArchiveNumbers? { get }
}

extension ShippingRoute {
  var statistics: Shipper.Statistics? { nil }
  var archives: ArchiveNumbers? { nil }

  /// As ``send(sharing:)``, and prints why not everything was sent.
  func sendAll(sharing isShared: Bool) async -> Bool {
    do throws(LogError) { return try await send(sharing: isShared) } catch {
      // The other program sends what is there.
      if isShared, error.code == .archiveInUse { return true }
      // An event has reported any other error.
      if error.code != .archiveInUse, statistics?.lastError == error.message { return false }
      Command.complain("\(name): \(error)")
      return false
    }
  }

  /// What keeps the destination from taking anything; nil if it answers.
  func check() async -> String? {
    do { try await checkDestination() } catch { return "\(error)" }
    return nil
  }
}

extension Plan.Route {
  /// Makes the route's shipper, which does nothing yet.
  func open() throws -> any ShippingRoute {
    switch try target.settings.destination() {
    case .records(let destination): try RecordRoute(self, to: destination)
    case .archives(let destination): try ArchiveRoute(self, to: destination)
    }
  }

  var name: String { "\(directory) to \(target.name)" }
}

extension DeliveryError {
  /// A sentence about a try that has failed; nil if it is not worth a line: the first failures may
  /// be a restart of the destination.
  ///
  /// - Parameters:
  ///   - attempt: How many tries have failed.
  ///   - delay: How long it is until the next one.
  func sentence(_ attempt: Int, next delay: Duration) -> String? {
    guard attempt == 3 || attempt % 20 == 0 || hasAskedFor(delay) else { return nil }
    return "\(self); tried \(count(attempt, "time")), the next time in "
      + "\(delay.components.seconds) s"
  }

  /// Whether the receiver has asked for a pause of a minute or more, which is reported at once.
  private func hasAskedFor(_ delay: Duration) -> Bool {
    if case .tryAgain(.some) = remedy { delay >= .seconds(60) } else { false }
  }
}
