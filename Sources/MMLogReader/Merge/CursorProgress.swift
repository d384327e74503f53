import MMLogFormat
import MMLogStorage

/// How far the archives of a session have been read and given, for a cursor.
struct CursorProgress {
  typealias Place = LogReader.Cursor.Place

  /// The progress behind what has been given; nil if nothing was given.
  private(set) var given: LogReader.Cursor.Progress?
  /// The place up to which an earlier reader has given everything; nil if there was none.
  private(set) var resumed: Place?
  /// The place behind the last row that was read, and the checksum of its frame.
  private var scanned: (place: Place, checksum: UInt32)?
  /// The place behind everything that exists.
  private var end: (place: Place, checksum: UInt32)?
  /// Where a reader goes on behind the corruption that was read last, and the checksum of the frame
  /// before that place; nil if that is not known.
  private var corruption: (place: Place, checksum: UInt32)?
  /// Where records in fragments begin that may not be complete yet.
  private var fragments: Place?

  /// - Parameter known: The progress of an earlier reader.
  init(after known: LogReader.Cursor.Progress?) {
    given = known
    resumed = known?.next
  }

  /// Returns where reading begins; nil if everything was given.
  ///
  /// - Parameter isEnded: Whether nothing will follow what the files have.
  mutating func open(_ files: SessionFiles, isEnded: Bool) -> Place? {
    end = Self.end(of: files)
    if let known = given, files.archives.contains(where: { known.isUndone(in: $0) }) {
      given = known.begunAgain
      resumed = given?.next
    }
    guard let given else { return Place(archive: 1) }
    if let end, end.place <= given.next, given.isEnded == isEnded { return nil }
    return min(given.start, resumed ?? given.next)
  }

  /// The same for one of several archives that are read one after the other. The caller has already
  /// noticed what was undone of it.
  ///
  /// - Parameter isOver: Whether nothing more of the archive is to come.
  mutating func open(_ archive: ArchiveFile, isOver: Bool) -> Place {
    end = Self.end(of: archive, isOver: isOver)
    guard let given else { return Place(archive: archive.fileHeader.number) }
    return min(given.start, resumed ?? given.next)
  }

  private static func end(of files: SessionFiles) -> (Place, UInt32)? {
    files.archives.last.map { end(of: $0, isOver: $0.isClosed) }
  }

  private static func end(of archive: ArchiveFile, isOver: Bool) -> (Place, UInt32) {
    let number = archive.fileHeader.number
    if isOver { return (Place.behind(number), 0) }
    guard let last = archive.frames.last(where: { $0.header.type == .records })?.header else {
      return (Place(archive: number), 0)
    }
    let place = Place(archive: number, frame: last.ordinal, row: last.summary.count)
    return (place, last.payloadChecksum)
  }

  // MARK: - Reading

  /// Whether a row was given by an earlier reader.
  func wasGiven(_ frame: FrameName, row: UInt32) -> Bool {
    resumed.map { Place(frame, row: row) < $0 } ?? false
  }

  /// Notes that a record in fragments begins with a row, and no incomplete one begins before it.
  mutating func startFragments(_ frame: FrameName, row: UInt32) {
    fragments = Place(frame, row: row)
  }

  /// Notes that everything up to and including a row is read.
  mutating func read(_ frame: FrameName, through row: UInt32) {
    scanned = (Place(frame, row: row &+ 1), frame.checksum)
  }

  /// Notes that corruption is read, and where a reader goes on behind it, if that is known.
  mutating func readCorruption(before place: Place?, checksum: UInt32 = 0) {
    corruption = place.map { ($0, checksum) }
  }

  /// Whether corruption that was read, and is to be given now, is before a place.
  func isCorruption(before last: Place) -> Bool { corruption.map { $0.place <= last } ?? true }

  /// Notes that an item is given.
  ///
  /// - Parameter isWhole: Whether no record in fragments is incomplete.
  mutating func give(_ item: LogReader.Item, isWhole: Bool) {
    switch item {
    case .record(let record):
      guard let frame = record.owner.frame else { return }
      give((Place(frame, row: record.content.row &+ 1), frame.checksum), isWhole: isWhole)
    case .corruption:
      if let corruption { give(corruption, isWhole: isWhole) }
      corruption = nil
    case .sessionEnded: given?.isEnded = true
    default: break
    }
  }

  /// Notes that everything that was read is given.
  mutating func giveAll(isWhole: Bool) {
    if let scanned { give(scanned, isWhole: isWhole) }
  }

  /// Notes that everything is read and given.
  mutating func giveEnd(isWhole: Bool) {
    if let end { give(end, isWhole: isWhole) }
  }

  private mutating func give(_ behind: (place: Place, checksum: UInt32), isWhole: Bool) {
    if let given, behind.place < given.next { return }
    let start = isWhole ? behind.place : min(fragments ?? behind.place, behind.place)
    given = LogReader.Cursor.Progress(
      next: behind.place, checksum: behind.checksum, start: start, isEnded: given?.isEnded ?? false)
  }
}

extension LogReader.Cursor.Place {
  init(_ frame: FrameName, row: UInt32) {
    self.init(archive: frame.archive, frame: frame.ordinal, row: row)
  }
}

extension LogReader.Cursor.Progress {
  /// A frame of records as far as it matters here. Its checksum is nil if it stands for another
  /// frame, whose rows it has.
  typealias Frame = (ordinal: UInt64, checksum: UInt32?)

  /// Whether a power cut has undone the frame that was read last.
  fileprivate func isUndone(in archive: ArchiveFile) -> Bool {
    guard archive.fileHeader.number == next.archive else { return false }
    let frames = archive.frames.lazy.map(\.header).filter { $0.type == .records }
    return isUndone(
      in: frames.map { ($0.ordinal, $0.lastingChecksum) }, isClosed: archive.isClosed)
  }

  /// Whether another frame has the place of the one that was read last, or the archive is complete
  /// and ends before it.
  ///
  /// - Parameters:
  ///   - frames: The archive's frames of records, by rising ordinal.
  ///   - isClosed: Whether the archive is complete.
  func isUndone(in frames: some BidirectionalCollection<Frame>, isClosed: Bool) -> Bool {
    if next.row == 0 { return false }
    let rest = frames.reversed().prefix { $0.ordinal >= next.frame }
    if rest.isEmpty { return isClosed }
    let inPlace = rest.filter { $0.ordinal == next.frame }
    return !inPlace.isEmpty && inPlace.allSatisfy { $0.checksum ?? checksum != checksum }
  }

  /// The progress at the beginning of its archive: it does not say which of the earlier frames are
  /// still the same.
  var begunAgain: LogReader.Cursor.Progress {
    let place = LogReader.Cursor.Place(archive: next.archive)
    return LogReader.Cursor.Progress(next: place, start: min(start, place))
  }
}

extension FrameHeader {
  /// The payload's checksum; nil if a repair has made the frame in place of another one.
  var lastingChecksum: UInt32? { isSubstitute ? nil : payloadChecksum }
}
