import MMLog
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// A receiver in memory that follows a rule.
final class Receiver: LogDestination {
  struct Delivery: Sendable {
    var id: String
    var session: SessionID
    var began: Timestamp
    var messages: [String]
    var ids: [String]
    var fields: [[String: LogReader.Value]]
    var gaps: [LogBatch.Gap]
    var attempt: Int
    var mayBeRepeat: Bool
  }

  /// Decides about a delivery. If the rule returns, the receiver keeps the delivery.
  typealias Rule = @Sendable (Delivery, _ number: Int) async throws -> LogBatch.Answer

  private let all = LockedValue<[Delivery]>([])
  private let tries = LockedValue(0)
  private let rule: LockedValue<Rule>

  init(_ rule: @escaping Rule = { _, _ in .accepted }) { self.rule = LockedValue(rule) }

  /// The deliveries that the receiver has kept.
  var deliveries: [Delivery] { all.withLock { $0 } }
  /// The number of deliveries that were tried.
  var tryCount: Int { tries.withLock { $0 } }
  var messages: [String] { deliveries.flatMap(\.messages) }
  var gaps: [LogBatch.Gap] { deliveries.flatMap(\.gaps) }

  func change(_ new: @escaping Rule) { rule.withLock { $0 = new } }

  func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    let number = tries.withLock {
      $0 += 1
      return $0
    }
    var delivery = Delivery(
      id: batch.id, session: batch.session.id, began: batch.session.identity.startTime,
      messages: [], ids: [], fields: [], gaps: batch.gaps, attempt: batch.attempt,
      mayBeRepeat: batch.mayBeRepeat)
    batch.forEach { record in
      delivery.messages.append(record.message)
      delivery.ids.append("\(record.id.map { "\($0)" } ?? "-")")
      delivery.fields.append(
        Dictionary(record.fields.map { ($0.name, $0.value) }) { first, _ in first })
    }
    let answer = try await rule.withLock { $0 }(delivery, number)
    let taken = delivery
    all.withLock { $0.append(taken) }
    return answer
  }
}

/// A store in a folder of its own, and its shippers.
struct ShippedStore {
  let folder = TemporaryDirectory()
  let store: LogStore
  let log: Logger

  init(_ change: (inout LogStore.Configuration) -> Void = { _ in }) throws {
    var configuration = LogStore.Configuration()
    configuration.fullRing = .wait(upTo: .seconds(3600))
    change(&configuration)
    store = try LogStore(directory: folder.path, name: "test", configuration: configuration)
    log = store.logger(label: "test")
    log.level = .trace
  }

  /// Logs records whose messages have the numbers, and archives them.
  func log(_ numbers: ClosedRange<Int>) throws {
    for number in numbers { log.info("record \(number)") }
    try store.flush(.archive)
  }

  /// Makes a session of another store log one record, and end.
  func logAnotherSession() async throws {
    let other = try LogStore(directory: folder.path, name: "other")
    other.logger(label: "other").info("another session")
    try await other.close()
  }

  func shipper(
    as consumer: String = "test", to receiver: any LogDestination,
    _ change: (inout Shipper.Configuration) -> Void = { _ in }
  ) throws -> Shipper {
    try Shipper(
      of: folder.path, as: consumer, to: receiver, configuration: .quick(change))
  }

  /// Ships until a receiver has a batch that it does not answer, and stops. So the shipper does not
  /// know that the batch has arrived.
  ///
  /// - Parameters:
  ///   - sent: Gets each delivery that arrives.
  ///   - change: Changes the configuration of the shipper.
  func shipWithoutAnswer(
    to receiver: Receiver, _ sent: @escaping @Sendable (Receiver.Delivery) -> Void = { _ in },
    configured change: (inout Shipper.Configuration) -> Void = { _ in }
  ) async throws {
    receiver.change { delivery, _ in
      sent(delivery)
      try await Task.sleep(nanoseconds: 3_600_000_000_000)
      return .accepted
    }
    let before = receiver.tryCount
    let shipper = try shipper(to: receiver, change)
    try shipper.start()
    try await wait { receiver.tryCount == before + 1 }
    await shipper.stop()
  }

  /// Ships all records with a new shipper.
  @discardableResult
  func ship(
    as consumer: String = "test", to receiver: any LogDestination,
    _ change: (inout Shipper.Configuration) -> Void = { _ in }
  ) async throws -> Shipper {
    let shipper = try shipper(as: consumer, to: receiver, change)
    #expect(try await shipper.shipAll())
    return shipper
  }
}

extension Shipper.Configuration {
  /// A configuration with short pauses.
  static func quick(_ change: (inout Shipper.Configuration) -> Void = { _ in })
    -> Shipper.Configuration
  {
    var configuration = Shipper.Configuration()
    configuration.retry = .forever(first: .milliseconds(1), longest: .milliseconds(5))
    configuration.blockedPause = .milliseconds(10)
    configuration.scanInterval = .milliseconds(5)
    change(&configuration)
    return configuration
  }
}

func records(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "record \($0)" } }

/// Waits until a condition holds.
///
/// The wait is limited by a number of checks, not by a clock. If other tests occupy all threads of
/// the pool for minutes, the shipper gets no more turns than this function.
func wait(until isSo: () throws -> Bool) async throws {
  for _ in 0..<60_000 {
    if try isSo() { return }
    try await Task.sleep(nanoseconds: 2_000_000)
  }
  throw Failure("it never became so")
}

/// The file of the consumer `test`, locked.
func consumerFile(in directory: borrowing Directory) throws -> ConsumerFile {
  guard let file = try ConsumerFile("test", in: directory) else {
    throw Failure("another has the consumer's file")
  }
  return file
}

/// The state in a consumer's file.
func state(in file: inout ConsumerFile) throws -> ConsumerState {
  guard let text = try file.read(), let state = ConsumerState(text) else {
    throw Failure("the consumer has no state")
  }
  return state
}

/// Changes the state of the consumer `test`.
func changeState(in folder: TemporaryDirectory, _ change: (inout ConsumerState) throws -> Void)
  throws
{
  let directory = try Directory.open(folder.path)
  var file = try consumerFile(in: directory)
  var state = try state(in: &file)
  try change(&state)
  try file.write(state.text, isSafe: true, in: directory)
}
