public import MMLogFormat

extension LogStore {
  /// What the store has done since it was opened, and how it is at this moment.
  ///
  /// Nothing of it costs a log call anything: what was archived, the drainer has counted when it
  /// moved it; what waits is read from the ring.
  ///
  /// - Complexity: O(bytes in the ring that are not archived yet): some microseconds for a ring
  ///   that is nearly empty, a millisecond for one of 8 MiB that is full. Reads the ring's file
  ///   (pread(2)), and waits for nothing that the disk does.
  public var statistics: Statistics { core.statistics() }

  /// Numbers about a store; see ``LogStore/statistics``. Counts are of this process, since the
  /// store was opened, also across a ring that was lost and replaced; in a fork's child, since the
  /// fork.
  public struct Statistics: Equatable, Sendable {
    /// Records and their sizes, by level.
    public struct Records: Equatable, Sendable {
      private var counts = [UInt64](repeating: 0, count: Level.allCases.count)
      private var sizes = [UInt64](repeating: 0, count: Level.allCases.count)

      /// None.
      init() {}

      mutating func add(_ level: Level, count: UInt64, bytes: UInt64) {
        counts[Int(level.rawValue)] &+= count
        sizes[Int(level.rawValue)] &+= bytes
      }

      /// How many records of a level there are. One that was large enough to be stored in pieces
      /// counts once.
      public func count(_ level: Level) -> UInt64 { counts[Int(level.rawValue)] }

      /// How many bytes the records of a level take in the ring.
      public func bytes(_ level: Level) -> UInt64 { sizes[Int(level.rawValue)] }

      /// How many records there are.
      public var count: UInt64 { counts.reduce(0, &+) }

      /// How many bytes all of them take in the ring.
      public var bytes: UInt64 { sizes.reduce(0, &+) }
    }

    /// What was moved from the ring to archives.
    public internal(set) var archived = Records()
    /// What is in the ring and not in an archive yet. A record that is moved at this moment may be
    /// in ``archived`` already, too. Those below ``Configuration/archiveLevel`` wait for nothing,
    /// and are not counted.
    public internal(set) var waiting = Records()
    /// How long ago the oldest record was logged that is in no archive yet; nil if there is none.
    /// Without trouble it is less than ``Configuration/drainInterval``, and the time of a pass.
    public internal(set) var oldestWaiting: Duration?
    /// What was lost, as ``LogStore/losses``.
    public internal(set) var losses = LossLedger()

    /// The size of the ring's segments together, in bytes; 0 if there is no ring: the store is
    /// closed, or a fork's child has not logged yet.
    public internal(set) var ringBytes = 0
    /// How many segments the ring has.
    public internal(set) var segments = 0
    /// How many of them are in use: threads have them, or there are records in them that wait.
    public internal(set) var usedSegments = 0
    /// How much of what no thread has of the ring waits to be archived, from 0 to 1: near 1,
    /// records come faster than they are archived. See ``LogStore/Event/ringFilling(fraction:)``.
    public internal(set) var waitingShare = 0.0

    /// The size of what was archived before it was compressed, in bytes.
    public internal(set) var rawBytes: UInt64 = 0
    /// How many bytes it takes in archives, with what readers need to understand it; file headers,
    /// indexes and trailers apart.
    public internal(set) var writtenBytes: UInt64 = 0
    /// How many frames of records were written.
    public internal(set) var frames: UInt64 = 0
    /// Of how many frames the text was compressed with less effort than
    /// ``Configuration/compressionLevel`` asks for; see ``Configuration/reducesCompression``.
    public internal(set) var reducedFrames: UInt64 = 0
    /// Of how many it was not compressed at all, for the same reason.
    public internal(set) var storedFrames: UInt64 = 0
    /// How many frames were compressed with more effort than ``Configuration/compressionLevel``
    /// asks for, since their records came slowly, or were the last before the store was closed.
    public internal(set) var thoroughFrames: UInt64 = 0
    /// How often the drainer has searched for records, and moved them.
    public internal(set) var passes: UInt64 = 0
    /// How many of these passes failed: records stayed in the ring.
    public internal(set) var failedPasses: UInt64 = 0
    /// When the last pass ended that did not fail; nil if there was
    /// none.
    public internal(set) var lastPass: Timestamp?
    /// How long ago the drainer gave its last sign of life, which it does at least once a second as
    /// long as the disk answers; nil without a ring. See ``LogStore/Event/stalled(duration:)``.
    public internal(set) var drainerSilence: Duration?
    /// How often archives were made safe from a power cut.
    public internal(set) var syncs: UInt64 = 0
    /// How often that failed.
    public internal(set) var failedSyncs: UInt64 = 0

    /// How many archives of this store's name there are, of all processes, when the store last
    /// scanned; see ``LogStore/pendingBytes``.
    public internal(set) var archives = 0
    /// The space that they take, in bytes.
    public internal(set) var archiveBytes = 0
    /// The space that those take which are sealed and not uploaded, in bytes.
    public internal(set) var pendingBytes = 0
    /// The space that those take which are uploaded, in bytes.
    public internal(set) var uploadedBytes = 0

    /// How many events listeners and the observer have missed, as ``LogStore/missedEvents``.
    public internal(set) var missedEvents = 0

    /// How many records taps have not written, since they did not keep up, or could not write.
    public internal(set) var missedByTaps: UInt64 = 0

    /// How many records rate limits have suppressed, by label; see
    /// ``LogStore/setRateLimit(_:for:)``. What a statement's own limit
    /// (``Logger/once(file:line:column:)`` and the like) suppresses is not in it.
    public internal(set) var suppressed: [String: UInt64] = [:]

    init() {}

    /// How many times smaller archives are than what is in them; nil if there is nothing in them
    /// yet.
    public var compressionRatio: Double? {
      writtenBytes == 0 ? nil : Double(rawBytes) / Double(writtenBytes)
    }
  }
}
