public import MMLogReader
import MMLogSystem

extension Shipper {
  /// How a shipper ships. Every setting can stay as it is.
  public struct Configuration: Sendable {
    /// How many records a batch has at most: from 1 to 1,000,000. Default 5,000: as lines of JSON,
    /// more of them take a shipper beyond 32 MiB of memory.
    public var maximumRecords = 5_000

    /// From how many bytes on a batch is full, counted about as the records take as text: from 1
    /// KiB to 64 MiB. Default 1 MiB. A batch may be larger by a record. It is full, too, when its
    /// records keep 64 MiB of archives in memory, as where few of many pass ``filter``.
    public var maximumBytes = 1 << 20

    /// How long archived records wait for more to make a batch full: from zero to an hour. Default
    /// zero: what is there is shipped, and what is archived while a batch is on its way makes the
    /// next one. More for a receiver that suffers from small batches. The records of a sealed
    /// archive do not wait.
    public var age = Duration.zero

    /// Which records are shipped; others are passed over. Default: all.
    public var filter = LogReader.Filter()

    /// What is changed in each record on the way. Default: nothing.
    public var edits: [RecordEdit] = []

    /// What becomes of each record on the way, after ``edits``: the records that it gives are
    /// shipped in its place, in order; none drops it. Called by the shipper's thread. To have the
    /// same batch at every try, it must not depend on anything but the record. A value that is
    /// nested more than 16 deep then is redacted. Nil, the default: each record stays as it is.
    public var transform: (@Sendable (EditableRecord) -> [EditableRecord])?

    /// When to try again what failed. Default: for ever, with growing pauses.
    public var retry = RetryRule.forever()

    /// How long to wait after ``DeliveryError/blocked(_:)`` until it is tried again: from 10 ms to
    /// a day. Default a minute.
    public var blockedPause = Duration.seconds(60)

    /// How many records are shipped in a second at most, on average over some seconds. Nil, the
    /// default: any.
    public var recordsPerSecond: Int?

    /// How many bytes, counted as ``maximumBytes``. Nil, the default: any.
    public var bytesPerSecond: Int?

    /// Asked before each batch whether it is to be shipped now: to wait for a cheap network, or for
    /// the night. Called by the shipper's thread. Nil, the default: now.
    public var policy: (@Sendable (Shipper.Statistics) -> Shipper.Decision)?
    /// Whether it is of some records alone that somebody has asked for once: no archive waits for
    /// it.
    package var isSelection = false
    /// Which destination the consumer's name stands for, as a hash, where the name does not say
    /// enough of it; nil: its user has named it.
    package var target: String?
    /// Who decrypts records that are encrypted. Those that none of them opens wait.
    package var identities = LogIdentities()

    /// How often processes that log into the directory are asked to archive what is in their rings:
    /// from 10 ms; they do it within a second. Nil, the default: never, and a record waits for its
    /// store's `drainInterval`.
    public var archiveInterval: Duration?

    /// Has the store archive what is in its ring, in place of asking its process by way of its
    /// ring: such as `{ try? store.flush(.archive) }` for a store of the same process. Called by
    /// the shipper's thread, as often as ``archiveInterval`` says.
    public var archive: (@Sendable () -> Void)?

    /// Whether the rings of dead processes are recovered, so that their last records are shipped
    /// before anybody starts them again. Default: true beside a service. Harmless in one.
    public var recoversRings = true

    /// Where the rings are, if they are not beside the archives; see
    /// `LogStore.Configuration.ringDirectory`.
    public var ringDirectory: String?

    /// How often the directory is scanned for new records: from 1 ms to a minute. Default 50 ms.
    public var scanInterval = Duration.milliseconds(50)

    /// The values of an ordinary shipper.
    public init() {}

    /// Why these settings cannot be used; nil if they can.
    var problem: String? {
      let ranges: [(Int64, ClosedRange<Int64>, String)] = [
        (Int64(maximumRecords), 1...1_000_000, "maximumRecords must be from 1 to 1,000,000"),
        (Int64(maximumBytes), 1024...64 << 20, "maximumBytes must be from 1 KiB to 64 MiB"),
        (age.nanoseconds, 0...3_600_000_000_000, "age must be from zero to an hour"),
        (
          blockedPause.nanoseconds, 10_000_000...86_400_000_000_000,
          "blockedPause must be from 10 ms to a day"
        ),
        (
          archiveInterval?.nanoseconds ?? 10_000_000, 10_000_000...Int64.max,
          "archiveInterval must be at least 10 ms"
        ),
        (
          scanInterval.nanoseconds, 1_000_000...60_000_000_000,
          "scanInterval must be from 1 ms to a minute"
        ),
        (Int64(recordsPerSecond ?? 1), 1...Int64.max, "recordsPerSecond must be positive"),
        (Int64(bytesPerSecond ?? 1), 1...Int64.max, "bytesPerSecond must be positive"),
      ]
      return ranges.first { !$0.1.contains($0.0) }?.2
    }
  }

  /// What ``Configuration/policy`` decides.
  public enum Decision: Sendable {
    /// The batch is shipped now.
    case ship
    /// It is asked again after so long.
    case wait(Duration)
  }
}

/// When a batch that failed is sent again.
public struct RetryRule: Sendable {
  /// What is known when a try has failed.
  public struct Attempt: Sendable {
    /// How many tries of the batch have failed in a row, from 1.
    public let count: Int
    /// How long the receiver wants one to wait at least; nil if it does not say.
    public let retryAfter: Duration?
    /// Why the last try failed.
    public let error: DeliveryError
  }

  package let delay: @Sendable (Attempt) -> Duration?

  /// Makes a rule.
  ///
  /// - Parameter delay: How long to wait until the next try; nil: gives up, and puts the batch
  ///   aside.
  public init(_ delay: @escaping @Sendable (Attempt) -> Duration?) { self.delay = delay }

  /// Tries for ever. The pause is random between zero and a limit that begins at `first`, doubles
  /// with each try and ends at `longest`, so that many clients do not come back at once ("full
  /// jitter"). It is not shorter than the receiver asks for, up to an hour.
  public static func forever(
    first: Duration = .seconds(1), longest: Duration = .seconds(300)
  ) -> RetryRule {
    RetryRule { attempt in
      let doublings = min(attempt.count - 1, 40)
      let (limit, overflow) = first.nanoseconds.multipliedReportingOverflow(by: 1 << doublings)
      let bound = overflow ? longest.nanoseconds : min(limit, longest.nanoseconds)
      let pause = Duration.nanoseconds(Int64.random(in: 0...max(0, bound)))
      return max(pause, min(attempt.retryAfter ?? .zero, .seconds(3600)))
    }
  }

  /// The same, and gives up after so many tries.
  public static func times(
    _ count: Int, first: Duration = .seconds(1), longest: Duration = .seconds(300)
  ) -> RetryRule {
    let forever = forever(first: first, longest: longest)
    return RetryRule { $0.count >= count ? nil : forever.delay($0) }
  }
}
