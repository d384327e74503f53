public import MMLogFormat

extension LogReader {
  /// The name of an archived record, which no other record ever has: frames never change after they
  /// are written.
  ///
  /// As text it has the parts in the order of the properties, with dots between them:
  /// `0c5fb9b2….3.17.1a2b3c4d.120`.
  public struct RecordID: Hashable, Sendable, CustomStringConvertible {
    /// The session that logged the record.
    public let session: SessionID
    /// The number of its archive, from 1.
    public let archive: UInt32
    /// The ordinal of its frame in the archive, from 0.
    public let frame: UInt64
    /// The checksum of the frame's payload: a power cut can undo a frame, and another one is then
    /// written under its ordinal.
    public let checksum: UInt32
    /// The index of the row in its frame, from 0; for a record in fragments, that of the last one.
    public let row: UInt32

    /// The parts with dots between them.
    public var description: String {
      FrameName(archive: archive, ordinal: frame, checksum: checksum).text(of: session) + "\(row)"
    }
  }

  /// A position in a log: what has been read of each session's archives.
  ///
  /// ```swift
  /// var cursor = LogReader.Cursor()
  /// let reader = LogReader(paths: ["/var/log/orders"], after: cursor)
  /// while let item = reader.next() { print(item) }
  /// cursor = reader.cursor
  /// ```
  ///
  /// As text, it is one line without spaces, which a program can keep until its next start.
  public struct Cursor: Hashable, Sendable {
    package var sessions: [SessionID: Progress] = [:]

    /// Makes a cursor that is before everything.
    public init() {}
  }
}

extension LogReader.Cursor {
  /// A place between two rows of a session's archives.
  package struct Place: Hashable, Comparable, Sendable {
    package var archive: UInt32
    package var frame: UInt64 = 0
    /// How many of the frame's rows are before the place.
    package var row: UInt32 = 0

    package init(archive: UInt32, frame: UInt64 = 0, row: UInt32 = 0) {
      (self.archive, self.frame, self.row) = (archive, frame, row)
    }

    /// The start of the archive that follows another one. No archive follows the one of the
    /// greatest number: then the place is behind everything.
    package static func behind(_ archive: UInt32) -> Place {
      archive == .max
        ? Place(archive: .max, frame: .max, row: .max) : Place(archive: archive + 1)
    }

    /// Whether the place is the start of an archive. That archive may not exist.
    package var isAtStart: Bool { frame == 0 && row == 0 }

    /// The last archive that has anything before the place.
    package var lastArchive: UInt32 { isAtStart ? archive &- 1 : archive }

    package static func < (a: Place, b: Place) -> Bool {
      (a.archive, a.frame, a.row) < (b.archive, b.frame, b.row)
    }
  }

  /// What has been read of a session.
  package struct Progress: Hashable, Sendable {
    /// Everything before this place has been given.
    package var next: Place
    /// The checksum of the frame in which ``next`` is; 0 if ``next`` is at its start.
    package var checksum: UInt32 = 0
    /// Where reading begins: before ``next`` if records in fragments are incomplete there.
    package var start: Place
    /// Whether the session's end has been given, too.
    package var isEnded = false

    package init(next: Place, checksum: UInt32 = 0, start: Place? = nil, isEnded: Bool = false) {
      (self.next, self.checksum, self.isEnded) = (next, checksum, isEnded)
      self.start = min(start ?? next, next)
    }
  }
}

// MARK: - Text

extension LogReader.Cursor: LosslessStringConvertible {
  private static let prefix = "mmlog1:"

  /// Reads the text of ``description``; nil for any other text.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.prefix) else { return nil }
    for part in text.dropFirst(Self.prefix.count).split(separator: ",") {
      guard let (session, progress) = Self.progress(part),
        sessions.updateValue(progress, forKey: session) == nil
      else { return nil }
    }
    guard text == description else { return nil }
  }

  /// One line without spaces. Equal positions have equal bytes.
  public var description: String {
    let parts = sessions.map { session, progress in
      let (next, start) = (progress.next, progress.start)
      let checksum = progress.checksum.allHexDigits
      let begins = start == next ? "" : "/\(start.archive).\(start.frame).\(start.row)"
      return "\(session).\(next.archive).\(next.frame).\(checksum).\(next.row)\(begins)"
        + (progress.isEnded ? "!" : "")
    }
    return Self.prefix + parts.sorted().joined(separator: ",")
  }

  private static func progress(_ text: Substring) -> (SessionID, Progress)? {
    let isEnded = text.hasSuffix("!")
    let halves = (isEnded ? text.dropLast() : text).split(separator: "/")
    guard let parts = halves.first?.split(separator: "."), parts.count == 5, halves.count <= 2,
      let session = SessionID(parts[0]), let checksum = UInt32(parts[3], radix: 16),
      let next = place([parts[1], parts[2], parts[4]])
    else { return nil }
    var progress = Progress(next: next, checksum: checksum, start: next, isEnded: isEnded)
    if halves.count == 2 {
      guard let start = place(halves[1].split(separator: ".")), start < next else { return nil }
      progress.start = start
    }
    return (session, progress)
  }

  private static func place(_ parts: [Substring]) -> Place? {
    guard parts.count == 3, let archive = UInt32(parts[0]), let frame = UInt64(parts[1]),
      let row = UInt32(parts[2])
    else { return nil }
    return Place(archive: archive, frame: frame, row: row)
  }
}
