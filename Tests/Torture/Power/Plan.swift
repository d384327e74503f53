import CrashCampaign
import CrashRecords
import MMLog
import TestSupport

/// How a store is set up and what is logged into it, as it follows from a seed.
struct Plan {
  let seed: UInt64
  let threads: Int
  let sizes: ClosedRange<Int>
  /// How many records a lane has.
  let records: Int
  let labels: Int
  let isClosed: Bool
  let configuration: LogStore.Configuration
  /// Random numbers for what is left to chance while it runs.
  let generator: SeededGenerator

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    self.seed = seed
    threads = random.pick(1, 2, 2, 3, 4)
    let longest = random.pick(40, 40, 200, 600, 3000, 12_000)
    sizes = 0...longest
    // So that all records together are not much larger than the ring.
    records = max(60, min(400, 600_000 / (longest + 100) / threads))
    labels = random.pick(1, 1, 3)
    isClosed = random.oneIn(4)
    configuration = Self.configuration(&random)
    generator = random
  }

  private static func configuration(_ random: inout SeededGenerator) -> LogStore.Configuration {
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    configuration.segmentSize = random.pick(4, 4, 8, 16) << 10
    configuration.dictionarySize = random.pick(4, 16) << 10
    configuration.rotation.size = random.pick(4 << 10, 8 << 10, 32 << 10, 128 << 10, nil)
    configuration.compressionLevel = random.pick(0, 1, 1)
    configuration.drainInterval = .milliseconds(random.pick(10, 10, 50, 1000, 30_000))
    configuration.syncLevel = random.pick(nil, nil, Logger.Level.error, Logger.Level.trace)
    configuration.syncInterval = random.oneIn(3) ? configuration.drainInterval * 2 : nil
    configuration.fullRing = random.pick(
      .wait(upTo: .seconds(100)), .wait(upTo: .seconds(100)), .overwriteOldest, .dropNewest)
    configuration.level = .trace
    configuration.fields = LaneContext.sessionFields
    configuration.drainThreads = random.pick(1, 2)
    configuration.hashChain = random.oneIn(3) && !CampaignIdentity.recipients.isEmpty
    if random.oneIn(3) { configuration.recipients = CampaignIdentity.recipients }
    configuration.resumeLastArchive = random.oneIn(3)
    return configuration
  }

  /// What the lane with that number logs.
  func lane(_ number: Int) -> Lane { Lane(number, sizes: sizes, seed: seed) }

  /// Whether a record that was logged may have been evicted, and counted.
  var mayLose: Bool {
    if case .wait = configuration.fullRing { false } else { true }
  }

  /// The level that a record of a lane has.
  static func level(of sequence: Int) -> Logger.Level {
    [.info, .warning, .debug, .error][sequence % 4]
  }
}

extension Plan: CustomStringConvertible {
  var description: String {
    let it = configuration
    return "threads \(threads), texts to \(sizes.upperBound) bytes, \(records) records each, "
      + "segments \(it.segmentSize ?? 0), archives \(it.rotation.size ?? 0), "
      + "compression \(it.compressionLevel), "
      + "drain \(it.drainInterval), sync level \(it.syncLevel.map { "\($0)" } ?? "none"), "
      + "sync interval \(it.syncInterval.map { "\($0)" } ?? "none"), full ring \(it.fullRing), "
      + "drain threads \(it.drainThreads)\(it.hashChain ? ", chained" : "")"
      + (it.resumeLastArchive ? ", behind another session" : "")
      + (it.recipients.isEmpty ? "" : ", encrypted")
  }
}
