public import MMLogFormat

extension LogStore {
  /// What the store has done since it was opened, and how it is at this moment.
  ///
  /// None of these numbers costs a log call anything: the drainer has counted the archived records
  /// when it moved them, and those that wait are read from the ring.
  ///
  /// - Complexity: O(bytes in the ring that are not archived yet): some microseconds for a ring
  ///   that is nearly empty, a millisecond for one of 8 MiB that is full. Reads the ring's file
  ///   (pread(2)), and does not wait for the disk.
  public var statistics: Statistics { core.statistics() }

  /// Numbers about a store; see ``LogStore/statistics``. Counts are of this process since the store
  /// was opened, or, in a fork's child, since the fork. They go on if a ring is lost and replaced.
  public struct Statistics: Equatable, Sendable {
    /// Records and their sizes, by level.
    public struct Records: Equatable, Sendable {
      private var counts = [UInt64](repeating: 0, count: Level.allCases.count)
      private var sizes = [UInt64](repeating: 0, count: Level.allCases.count)

      /// No records.
      init() {}

      mutating func add(_ level: Level, count: UInt64, bytes: UInt64) {
        counts[Int(level.rawValue)] &+= count
        sizes[Int(level.rawValue)] &+= bytes
      }

      /// How many records of a level there are. A record that was stored in fragments counts once.
      public func count(_ level: Level) -> UInt64 { counts[Int(level.rawValue)] }

      /// How many bytes the records of a level take in the ring.
      public func bytes(_ level: Level) -> UInt64 { sizes[Int(level.rawValue)] }

      /// How many records there are.
      public var count: UInt64 { counts.reduce(0, &+) }

      /// How many bytes all of them take in the ring.
      public var bytes: UInt64 { sizes.reduce(0, &+) }
    }

    /// The records that were moved from the ring to archives.
    public internal(set) var archived = Records()
    /// The records that are in the ring and in no archive yet. A record that is moved at this
    /// moment may be in ``archived`` already, too. Records below ``Configuration/archiveLevel``
    /// wait for nothing, and are not counted.
    public internal(set) var waiting = Records()
    /// How long ago the oldest waiting record was logged; nil if none waits. Without trouble this
    /// is less than ``Configuration/drainInterval`` plus the time of a pass.
    public internal(set) var oldestWaiting: Duration?
    /// The losses, as ``LogStore/losses``.
    public internal(set) var losses = LossLedger()

    /// The size of the ring's segments together, in bytes; 0 if there is no ring: the store is
    /// closed, or a fork's child has not logged yet.
    public internal(set) var ringBytes = 0
    /// How many segments the ring has.
    public internal(set) var segments = 0
    /// How many segments are in use: threads have them, or they have records that wait.
    public internal(set) var usedSegments = 0
    /// Which part of the ring's segments that no thread has waits to be archived, from 0 to 1. Near
    /// 1, records come faster than they are archived. See
    /// ``LogStore/Event/ringFilling(fraction:)``.
    public internal(set) var waitingShare = 0.0

    /// The size of the archived records before they were compressed, in bytes.
    public internal(set) var rawBytes: UInt64 = 0
    /// How many bytes the archived records take in archives, with what readers need to understand
    /// them, but without file headers, indexes and trailers.
    public internal(set) var writtenBytes: UInt64 = 0
    /// How many frames of records were written.
    public internal(set) var frames: UInt64 = 0
    /// How many frames have text that was compressed with less effort than
    /// ``Configuration/compressionLevel`` asks for; see ``Configuration/reducesCompression``.
    public internal(set) var reducedFrames: UInt64 = 0
    /// How many frames have text that was not compressed at all, for the same reason.
    public internal(set) var storedFrames: UInt64 = 0
    /// How many frames were compressed with more effort than ``Configuration/compressionLevel``
    /// asks for, because their records came slowly, or were the last before the store was closed.
    public internal(set) var thoroughFrames: UInt64 = 0
    /// How often the drainer has searched for records, and moved them.
    public internal(set) var passes: UInt64 = 0
    /// How many of these passes failed: records stayed in the ring.
    public internal(set) var failedPasses: UInt64 = 0
    /// When the last successful pass ended; nil if there was none.
    public internal(set) var lastPass: Timestamp?
    /// How long ago the drainer gave its last sign of life; nil without a ring. The drainer gives a
    /// sign at least once a second as long as the disk answers. See
    /// ``LogStore/Event/stalled(duration:)``.
    public internal(set) var drainerSilence: Duration?
    /// How often archives were made safe from a power cut.
    public internal(set) var syncs: UInt64 = 0
    /// How often making archives safe from a power cut failed.
    public internal(set) var failedSyncs: UInt64 = 0

    /// How many archives of this store's name, of all processes, there were when the store last
    /// scanned; see ``LogStore/pendingBytes``.
    public internal(set) var archives = 0
    /// The space that these archives take, in bytes.
    public internal(set) var archiveBytes = 0
    /// The space of the archives that are sealed and not uploaded, in bytes.
    public internal(set) var pendingBytes = 0
    /// The space of the archives that are uploaded, in bytes.
    public internal(set) var uploadedBytes = 0

    /// How many events listeners and the observer have missed, as ``LogStore/missedEvents``.
    public internal(set) var missedEvents = 0

    /// How many records taps have not written, because they did not keep up, or could not write.
    public internal(set) var missedByTaps: UInt64 = 0

    /// How many records rate limits have suppressed, by label; see
    /// ``LogStore/setRateLimit(_:for:)``. Records that a statement's own limit
    /// (``Logger/once(file:line:column:)`` and the like) suppresses do not count.
    public internal(set) var suppressed: [String: UInt64] = [:]

    init() {}

    /// How many times smaller archives are than the records in them; nil if there are none in them
    /// yet.
    public var compressionRatio: Double? {
      writtenBytes == 0 ? nil : Double(rawBytes) / Double(writtenBytes)
    }
  }
}
