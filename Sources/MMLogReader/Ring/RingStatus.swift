package import MMLogFormat
package import MMLogStorage
package import MMLogSystem

/// A ring at one moment, seen from outside: who writes to it, how full it is, what waits in it. The
/// ring's process need not do anything, and may be stopped or dead.
package struct RingStatus {
  /// The content of the ring.
  package let image: RingImage
  /// What the process says of itself; nil if the ring has no place for that.
  package let control: ControlPage?
  /// Whether a process has the ring.
  package let isRunning: Bool
  /// What the kernel says of that process; nil if it says nothing here, or none has it.
  package let processState: ProcessState?

  /// When the ring was read. Ages refer to this moment.
  private let now = (ticks: Clock.ticks(), wall: Timestamp.now)

  package var identity: SessionIdentity { image.fileHeader.identity }

  /// The rings in a directory, of processes that run and of those that died.
  ///
  /// - Parameters:
  ///   - path: The directory, or one ring.
  ///   - problem: Receives rings that cannot be read.
  /// - Throws: `LogError` if the directory cannot be read.
  /// - Complexity: O(size of the content of the rings).
  package static func all(
    in path: String, problem: (LogError) -> Void
  ) throws(LogError) -> [RingStatus] {
    var rings: [RingStatus] = []
    try explaining("Searching for rings failed") { () throws(SystemError) in
      let (folder, names) = try LiveRing.names(path)
      let directory = try Directory.open(folder)
      for name in names {
        do throws(LogError) {
          if let ring = try RingStatus(name, directory) { rings.append(ring) }
        } catch {
          problem(error)
        }
      }
    }
    return rings
  }

  /// Nil if the ring is gone.
  private init?(
    _ name: String, _ directory: borrowing Directory
  ) throws(LogError) {
    let found: File?
    do { found = try directory.openOwnIfThere(name) } catch {
      throw LogError(error, while: "Opening a ring failed", path: directory.path(of: name))
    }
    guard let file = found else { return nil }
    try self.init(file)
  }

  /// Reads an open ring.
  package init(_ file: borrowing File) throws(LogError) {
    isRunning = (try? file.isLockedByAnother()) ?? false
    image = try RingImage(file)
    control = try ControlPage(file, image.fileHeader.areas)
    let identity = image.fileHeader.identity
    let inode = try? file.status().inode
    processState =
      isRunning
      ? ProcessState(
        of: identity.processID, name: identity.processName,
        mapping: inode.map { ($0, "\(identity.session)") }) : nil
  }

  // MARK: - Segments

  /// The threads that write, each with the number of its open segments. Thread 0 stands for those
  /// that share a segment.
  package var writers: [(thread: ThreadIdentity, openSegments: Int)] {
    var counts: [UInt32: (thread: ThreadIdentity, openSegments: Int)] = [:]
    for segment in image.segments where segment.header.state == SegmentLayout.stateOpen {
      let thread = segment.header.thread
      counts[thread.ordinal, default: (thread, 0)].openSegments += 1
    }
    return counts.values.inOrder { $0.thread.ordinal < $1.thread.ordinal }
  }

  /// Records that are to be archived and are in no archive yet.
  package struct Waiting {
    /// The number of records, by the level's raw value.
    private var counts = [Int](repeating: 0, count: Level.allCases.count)
    /// The size of the records in bytes.
    package private(set) var bytes = 0
    fileprivate private(set) var oldestTicks: UInt64?
    /// How long ago the oldest record was logged; nil if there is none.
    package fileprivate(set) var oldestAge: Duration?

    package var count: Int { counts.reduce(0, +) }

    package subscript(level: Level) -> Int { counts[Int(level.rawValue)] }

    fileprivate mutating func add(_ record: RecordView) {
      if record.isCounted { counts[Int(record.level.rawValue)] += 1 }
      bytes += record.bytes.count
      oldestTicks = min(oldestTicks ?? .max, record.ticks)
    }
  }

  /// The records that wait. If the ring is from before the machine was started, it is not known
  /// what is archived: everything in it counts.
  ///
  /// - Complexity: O(size of the records that wait).
  package var waiting: Waiting {
    var waiting = Waiting()
    for segment in image.segments {
      let start = image.isOfThisBoot ? segment.header.archived : SegmentLayout.size
      var scanner = image.scanner(of: segment, from: start, zeros: isRunning ? .end : .mayBeLost)
      while let item = scanner.next() {
        if case .record(let record, _) = item, !image.isFlight(record) { waiting.add(record) }
      }
    }
    if let ticks = waiting.oldestTicks { waiting.oldestAge = age(ofTicks: ticks) }
    return waiting
  }

  /// How the session of a dead process ended: not before its last record, as far as the ring says.
  ///
  /// - Complexity: O(size of the records in the ring).
  package var end: SessionEnd {
    var last: UInt64?
    for segment in image.segments {
      var scanner = image.scanner(of: segment, from: SegmentLayout.size, zeros: .mayBeLost)
      while let item = scanner.next() {
        if case .record(let record, _) = item { last = max(last ?? 0, record.ticks) }
      }
    }
    return last.map { image.end.notBefore(image.clock.wall(at: $0)) } ?? image.end
  }

  /// How long ago the process gave its last sign of life. While it runs, it reads its clocks once a
  /// second.
  package var silence: Duration { age(ofTicks: image.clock.ticks) }

  /// Uses the ring's clock for both moments, so that setting the system's clock changes nothing.
  private func age(ofTicks ticks: UInt64) -> Duration {
    let now = image.isOfThisBoot ? image.clock.wall(at: now.ticks) : now.wall
    return max(.zero, now - image.clock.wall(at: ticks))
  }
}
