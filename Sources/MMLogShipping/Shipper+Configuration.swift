public import MMLogReader
import MMLogSystem

extension Shipper {
  /// How a shipper ships. Every setting can stay as it is.
  public struct Configuration: Sendable {
    /// The maximum number of records in a batch: from 1 to 1,000,000. Default 5,000: with more, as
    /// lines of JSON, a shipper takes more than 32 MiB of memory.
    public var maximumRecords = 5_000

    /// The size from which on a batch is full, in bytes, counted about as the records take as text:
    /// from 1 KiB to 64 MiB. Default 1 MiB. A batch may be larger by a record. A batch is also full
    /// when its records keep 64 MiB of archives in memory, such as when few of many records pass
    /// ``filter``.
    public var maximumBytes = 1 << 20

    /// How long archived records wait for more records that fill the batch: from zero to an hour.
    /// Default zero: archived records are shipped at once, and those that are archived while a
    /// batch is on its way make the next batch. Use more for a receiver that suffers from small
    /// batches. The records of a sealed archive do not wait.
    public var age = Duration.zero

    /// Which records are shipped; others are passed over. Default: all.
    public var filter = LogReader.Filter()

    /// What is changed in each record on the way. Default: nothing.
    public var edits: [RecordEdit] = []

    /// Called with each record after ``edits``: the records that it returns are shipped in place of
    /// that record, in order. An empty array drops the record. The shipper's thread calls it. It
    /// must not depend on anything but the record, so that a batch is the same at every try. A
    /// returned value that is nested more than 16 deep is redacted. Nil, the default: each record
    /// stays as it is.
    public var transform: (@Sendable (EditableRecord) -> [EditableRecord])?

    /// When to try again after a failure. Default: forever, with growing pauses.
    public var retry = RetryRule.forever()

    /// How long to wait after ``DeliveryError/blocked(_:)`` before the next try: from 10 ms to a
    /// day. Default a minute.
    public var blockedPause = Duration.seconds(60)

    /// The maximum number of records that are shipped in a second, on average over some seconds.
    /// No batch has more records than that. A batch that is sent again counts once. Nil, the
    /// default: no limit.
    public var recordsPerSecond: Int?

    /// The maximum number of bytes in a second, counted as for ``maximumBytes``, on average over
    /// some seconds. A batch is full when it has so many. Nil, the default: no limit.
    public var bytesPerSecond: Int?

    /// Decides before each batch whether it is shipped now: to wait for a cheap network, or for the
    /// night. The shipper's thread calls it. Nil, the default: now.
    public var policy: (@Sendable (Shipper.Statistics) -> Shipper.Decision)?
    /// Whether the consumer ships only some records that somebody has asked for once: then no
    /// archive waits for it.
    package var isSelection = false
    /// The destination that the consumer's name stands for, as a hash, if the name alone does not
    /// identify it; nil if the user has named the consumer.
    package var target: String?
    /// Who decrypts records that are encrypted. Records that none of them opens wait.
    package var identities = LogIdentities()

    /// How often the shipper asks processes that log into the directory to archive what is in their
    /// rings: from 10 ms. The processes do so within a second. Nil, the default: never, and a
    /// record waits for its store's `drainInterval`.
    public var archiveInterval: Duration?

    /// Makes the store archive what is in its ring, such as `{ try? store.flush(.archive) }` for a
    /// store of the same process. It replaces the request to the process through its ring. The
    /// shipper's thread calls it as often as ``archiveInterval`` says, and for a flush.
    public var archive: (@Sendable () -> Void)?

    /// Whether the rings of dead processes are recovered, so that their last records are shipped
    /// before anybody starts those processes again. Default: true, for a shipper beside a service.
    /// It does no harm in the service itself.
    public var recoversRings = true

    /// Where the rings are, if they are not beside the archives; see
    /// `LogStore.Configuration.ringDirectory`. Rings of a store that has neither archives nor
    /// settings in the shipper's directory are left alone.
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
    /// The policy is asked again after this time.
    case wait(Duration)
  }
}

/// When a batch that failed is sent again.
public struct RetryRule: Sendable {
  /// What is known when a try has failed.
  public struct Attempt: Sendable {
    /// How many tries of the batch have failed in a row, from 1.
    public let count: Int
    /// The minimum time that the receiver wants the shipper to wait; nil if it does not say.
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

  /// Returns a rule that tries forever. The pause is random between zero and a limit that begins at
  /// `first`, doubles with each try and ends at `longest`, so that many clients do not come back at
  /// once ("full jitter"). The pause is not shorter than the receiver asks for, up to an hour.
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

  /// Returns the same rule, except that it gives up after `count` tries.
  public static func times(
    _ count: Int, first: Duration = .seconds(1), longest: Duration = .seconds(300)
  ) -> RetryRule {
    let forever = forever(first: first, longest: longest)
    return RetryRule { $0.count >= count ? nil : forever.delay($0) }
  }
}
