import CommandLineTool
import Glibc
import MMLog
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport

/// A process that logs numbered records.
enum LoggedNumbers {
  static func run(_ arguments: Arguments, _ seed: UInt64) throws -> Program.Status {
    alarm(120)
    let first = try arguments.integer(of: .firstNumber, in: 0...Int.max) ?? 0
    let count = try arguments.integer(of: .numberCount, in: 0...Int.max) ?? 0
    var random = SeededGenerator(seed: seed)
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    configuration.rotation.size = 64 << 10
    configuration.retention = .unlimited
    configuration.fullRing = .wait(upTo: .seconds(100))
    let store = try LogStore(
      directory: try Power.required(.folder, arguments), name: "numbers",
      configuration: configuration)
    let log = store.logger(label: "numbers")
    log.level = .trace
    for number in first..<first + count {
      // Some records are in several pieces.
      let isLarge = random.oneIn(200)
      let size = isLarge ? 20_000 : Int.random(in: 0...100, using: &random)
      let rest = String(repeating: "x", count: size)
      if random.oneIn(10) { log.error("\(number) \(rest)") } else { log.info("\(number) \(rest)") }
      if random.oneIn(300) { try store.flush(.archive) }
      if random.oneIn(1000) { _ = try store.rotate() }
    }
    if arguments.isSet(.leave) { CurrentProcess.die() }
    try store.close()
    return .success
  }
}

/// A process that ships all there is, unless it dies before.
enum ShippingChild {
  static func run(_ arguments: Arguments, _ seed: UInt64) throws -> Program.Status {
    alarm(120)
    let directory = try Power.required(.folder, arguments)
    try arm(arguments, directory)
    var random = SeededGenerator(seed: seed)
    var configuration = Shipper.Configuration()
    configuration.maximumRecords = random.scaled(1...3000)
    configuration.maximumBytes = random.scaled(1024...1 << 20)
    configuration.retry = .forever(first: .microseconds(100), longest: .milliseconds(2))
    configuration.blockedPause = .milliseconds(10)
    configuration.scanInterval = .milliseconds(1)
    let receiver = FileReceiver(
      try Power.required(.receiver, arguments), SeededGenerator(seed: seed &+ 1))
    let shipper = try Shipper(
      of: directory, as: "numbers", to: receiver, configuration: configuration)
    let result = Promise<Bool>()
    Task {
      do { result.fulfill(try await shipper.shipAll()) } catch { result.fulfill(false) }
    }
    return result.wait(atMost: .max) == true ? .success : .failure
  }

  private static func arm(_ arguments: Arguments, _ directory: String) throws {
    #if DEBUG
      if let call = try arguments.integer(of: .shippingCall, in: 1...Int.max) {
        ForcedFault.die(onCall: call, under: directory)
      }
      if let writes = arguments.value(of: .writes) {
        let numbers = writes.split(separator: ":").compactMap { Int($0) }
        guard numbers.count == 2 else { throw UsageError("--writes takes FIRST:COUNT") }
        ForcedFault.force(
          .pwrite, errno: ENOSPC, onCall: numbers[0], times: numbers[1], under: directory)
      }
      guard let text = arguments.value(of: .shippingPoint) else { return }
      let parts = text.split(separator: ":")
      guard parts.count == 2, let count = Int(parts[1]),
        let point = TestPoint.allCases.first(where: { "\($0)" == parts[0] })
      else { throw UsageError("--point takes POINT:N") }
      let reached = LockedValue(0)
      TestPoint.handler = {
        guard $0 == point else { return }
        let number = reached.withLock { reached in
          reached += 1
          return reached
        }
        if number == count { CurrentProcess.die() }
      }
    #else
      throw Failure("shippers that die need a build with DEBUG, as Tools/torture makes one")
    #endif
  }
}

/// Keeps batches in a file, a line each. A line is there whole or not at all, even if the process
/// is killed.
final class FileReceiver: LogDestination {
  private let path: String
  private let random: LockedValue<SeededGenerator>

  init(_ path: String, _ random: SeededGenerator) {
    (self.path, self.random) = (path, LockedValue(random))
  }

  /// One of so many records is refused.
  static let refusedEvery = 97

  func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    let choice = random.withLock { Int.random(in: 0..<20, using: &$0) }
    switch choice {
    case 0: throw DeliveryError.unavailable("try again")
    case 1: throw DeliveryError.blocked("wrong password")
    default: break
    }
    // The answer is the same at each try: a batch that is halved after it was taken would be there
    // twice.
    if batch.count > 50, batch.id.hasPrefix("0") { throw DeliveryError.tooLarge("more than 50") }
    var numbers: [Int] = []
    batch.forEach { record in
      numbers.append(Int(record.message.prefix { $0 != " " }) ?? -1)
    }
    let refused = numbers.indices.filter { numbers[$0].isMultiple(of: Self.refusedEvery) }
    // By an error, or by name.
    let namesRefused = (numbers.first ?? 0).isMultiple(of: 2)
    if !refused.isEmpty, !namesRefused { throw DeliveryError.refused("a multiple of 97") }
    let taken = numbers.filter { !$0.isMultiple(of: Self.refusedEvery) }
    try append(batch, taken)
    // The receiver has the batch, but reports a failure.
    if choice == 3 { throw DeliveryError.unavailable("timeout") }
    return LogBatch.Answer(refused: refused.map { .init(index: $0, reason: "a multiple of 97") })
  }

  private func append(_ batch: LogBatch, _ numbers: [Int]) throws {
    let gaps = batch.gaps.map { "\($0.count ?? 0)\($0.mayBeSent ? "?" : "")" }
    let list = numbers.map { "\($0)" }.joined(separator: ",")
    let line =
      "\(batch.id) \(batch.session.id) \(gaps.joined(separator: ",")) \(list)\n"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(descriptor) }
    let bytes = Array(line.utf8)
    guard bytes.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == bytes.count
    else { throw Failure("\(path) cannot be written") }
  }
}
