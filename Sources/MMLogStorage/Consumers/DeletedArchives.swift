package import MMLogFormat
package import MMLogSystem

/// Notes of archives that were deleted before all consumers had acknowledged them, so that each
/// consumer can tell what it has missed: how many records of each level there were. FORMAT.md, 9.
///
/// A consumer that has taken a note in is removed from it. The newest few thousand notes are kept,
/// as far as they can be read again.
package struct DeletedArchives: Sendable {
  /// What was in an archive.
  package struct Note: Equatable, Sendable {
    package var storeName: String
    /// The consumers that had not acknowledged all of it.
    package var consumers: [String]
    /// When it was deleted.
    package var time: Timestamp
    /// How many records there were of each level, in the order of levels; behind them, how many of
    /// unknown level.
    package var counts: [UInt64]
    /// How many rows there were: each fragment of a record counts.
    package var rows: Int
    /// The wall times of its first and last record; nil without records.
    package var times: ClosedRange<Timestamp>?

    /// How many records there were.
    package var count: UInt64 { counts.reduce(0, &+) }
  }

  package private(set) var notes: [ArchiveID: Note] = [:]

  private static let fileName = ".mmlog-deleted"
  private static let maximum = 4096
  private static let longestFile = 2 << 20

  /// Reads what is noted in a directory.
  package init(in directory: borrowing Directory) throws(SystemError) {
    let fields = try directory.fields(of: Self.fileName, atMost: Self.longestFile) ?? [:]
    for (key, value) in fields {
      let parts = key.split(separator: ".")
      // Behind the greatest number, there is no archive.
      guard parts.count == 2, let session = SessionID(parts[0]), let number = UInt32(parts[1]),
        number < .max, let note = Note(value)
      else { continue }
      notes[ArchiveID(session: session, number: number)] = note
    }
  }

  /// Notes those of the deleted archives that a consumer has not acknowledged, also those without
  /// records: they may say that their session has ended. The caller has locked the directory.
  static func note(
    _ archives: [ArchiveInfo], _ unsent: UnsentArchives, in directory: borrowing Directory
  ) throws(SystemError) {
    var new: [ArchiveID: Note] = [:]
    for archive in archives {
      guard let contents = archive.contents else { continue }
      let consumers = unsent.consumers(lacking: archive.id)
      if consumers.isEmpty { continue }
      let counts = Level.allCases.map { UInt64(contents.count($0)) }
      new[archive.id] = Note(
        storeName: archive.storeName, consumers: consumers, time: .now,
        counts: counts + [UInt64(contents.countOfUnknownLevel)], rows: contents.rowCount,
        times: contents.times)
    }
    if new.isEmpty { return }
    var all = try DeletedArchives(in: directory)
    all.notes.merge(new) { $1 }
    try all.store(in: directory)
  }

  /// Removes a consumer from notes that it has taken in.
  package static func settle(
    _ keys: [ArchiveID], for consumer: String, in directory: borrowing Directory
  ) throws(LogError) {
    if keys.isEmpty { return }
    try DirectoryLock.withLock(on: directory, within: 10_000_000_000) { () throws(LogError) in
      try explaining("Taking in what was deleted failed") { () throws(SystemError) in
        var all = try DeletedArchives(in: directory)
        for key in keys {
          all.notes[key]?.consumers.removeAll { $0 == consumer }
          if all.notes[key]?.consumers.isEmpty == true { all.notes[key] = nil }
        }
        try all.store(in: directory)
      }
    }
  }

  private func store(in directory: borrowing Directory) throws(SystemError) {
    var (fields, size) = ([String: String](), 0)
    for (key, note) in notes.inOrder({ $0.value.time > $1.value.time }).prefix(Self.maximum) {
      let (name, text) = ("\(key.session).\(key.number)", note.text)
      // With a space and the line's end.
      size += name.utf8.count + text.utf8.count + 2
      if size > Self.longestFile { break }
      fields[name] = text
    }
    try directory.store(fields, in: Self.fileName)
  }
}

extension DeletedArchives.Note {
  /// Time, consumers and counts with commas between them, rows, first and last time, the store's
  /// name as in names of files.
  fileprivate var text: String {
    let counts = counts.map { "\($0)" }.joined(separator: ",")
    let first = times.map { "\($0.lowerBound.nanosecondsSince1970)" } ?? "-"
    let last = times.map { "\($0.upperBound.nanosecondsSince1970)" } ?? "-"
    let consumers = consumers.joined(separator: ",")
    let store = FileNames.escaped(storeName)
    return "\(time.nanosecondsSince1970) \(consumers) \(counts) \(rows) \(first) \(last) \(store)"
  }

  /// No archive has more records, and such numbers can be added without overflow.
  private static let maximum: UInt64 = 1 << 40

  fileprivate init?(_ text: String) {
    let parts = text.unicodeScalars.split(
      separator: " ", maxSplits: 6, omittingEmptySubsequences: false
    ).map(Substring.init)
    guard parts.count == 7, let time = Int64(parts[0]), let rows = Int(parts[3]),
      (0...Int(Self.maximum)).contains(rows)
    else { return nil }
    consumers = parts[1].split(separator: ",").map(String.init)
    counts = parts[2].split(separator: ",").compactMap { UInt64($0) }
    guard counts.count == Level.allCases.count + 1, counts.allSatisfy({ $0 <= Self.maximum }) else {
      return nil
    }
    self.time = Timestamp(nanosecondsSince1970: time)
    self.rows = rows
    storeName = FileNames.unescaped(parts[6]) ?? String(parts[6])
    if let first = Int64(parts[4]), let last = Int64(parts[5]), first <= last {
      times =
        Timestamp(nanosecondsSince1970: first)...Timestamp(nanosecondsSince1970: last)
    }
  }
}
