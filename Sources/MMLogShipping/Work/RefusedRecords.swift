package import MMLogFormat
package import MMLogStorage
package import MMLogSystem

/// What a receiver has refused: one line for each record, in a file beside the consumer's file
/// (FORMAT.md, 9).
///
/// A line has, with tabs between them: its checksum, when the record was refused, the batch's id,
/// the record's id (with `#2`, `#3` … for further records that came of the same record), the
/// reason, and the record as JSON. The records of a batch that the receiver has not named share one
/// line, with `SESSION.*` in place of the id, and their number in place of the record.
package enum RefusedRecords {
  package struct Entry: Equatable, Sendable {
    package var time: Timestamp
    package var batch: String
    /// The record's id; for records that were not named, the session's id with `.*`.
    package var record: String
    package var reason: String
    /// The record as JSON; or how many records there are, if they were not named.
    package var content: String

    package init(
      time: Timestamp, batch: String, record: String, reason: String, content: String
    ) {
      (self.time, self.batch, self.record) = (time, batch, record)
      (self.reason, self.content) = (reason, content)
    }

    /// How many records the entry stands for.
    package var count: Int { isNamed ? 1 : Int(content) ?? 0 }

    /// Whether the entry is one record, which the receiver has named.
    package var isNamed: Bool { !record.hasSuffix(".*") }

    /// The id of the logged record that this record came of.
    package var recordID: String { String(record.prefix { $0 != "#" }) }

    /// The session that logged the records.
    package var session: SessionID? { SessionID(record.prefix { $0 != "." }) }
  }

  /// Stands behind the reason of records that the receiver has refused without naming them: nobody
  /// can send them again.
  package static let unnamedSuffix = "; the receiver does not name them"

  package static func fileName(of consumer: String) -> String { consumer + ".refused" }

  /// A larger file gets no more entries: the receiver refuses everything, or nobody acts. Sending
  /// its records again takes the whole file into memory.
  static let largestFile = 256 << 20

  /// Appends entries, and returns when they are on the disk.
  static func append(
    _ entries: [Entry], of consumer: String, in directory: borrowing Directory
  ) throws(LogError) {
    let name = fileName(of: consumer)
    do {
      try append(entries, to: directory.openOwn(name, [.read, .write, .create]))
      // This syncs each time: the process that made the file may have died before it synced.
      try directory.sync()
    } catch {
      throw LogError(
        error, while: "Putting aside what was refused failed", path: directory.path(of: name))
    }
  }

  private static func append(_ entries: [Entry], to file: borrowing File) throws(SystemError) {
    let size = try file.status().size
    // This ends a line that a crash has cut.
    var text = try isCut(file, size) ? "\n" : ""
    for entry in entries { text += line(entry) }
    do throws(SystemError) {
      try file.write(all: Array(text.utf8), at: size)
      try file.syncData()
    } catch {
      // The next append writes all entries again: the part that a full disk has left is no loss.
      try? file.truncate(to: size)
      throw error
    }
  }

  private static func isCut(_ file: borrowing File, _ size: Int) throws(SystemError) -> Bool {
    guard size > 0 else { return false }
    return try file.bytes(at: size - 1, count: 1) != [UInt8(ascii: "\n")]
  }

  /// All entries, each once, and the lines that cannot be read.
  package static func read(
    of consumer: String, in directory: borrowing Directory
  ) throws(LogError) -> (entries: [Entry], corrupted: [[UInt8]]) {
    let name = fileName(of: consumer)
    do {
      guard let file = try directory.openOwnIfThere(name) else { return ([], []) }
      return try read(file)
    } catch {
      throw LogError(
        error, while: "Reading what was refused failed", path: directory.path(of: name))
    }
  }

  private static func read(
    _ file: borrowing File
  ) throws(SystemError) -> (entries: [Entry], corrupted: [[UInt8]]) {
    var (entries, corrupted, seen) = ([Entry](), [[UInt8]](), Set<String>())
    var (offset, line) = (0, [UInt8]())
    func takeLine() {
      defer { line.removeAll(keepingCapacity: true) }
      if line.isEmpty { return }
      guard let entry = entry(line[...]) else { return corrupted.append(line) }
      // A batch that was sent again after a crash may have been put aside twice.
      if seen.insert("\(entry.batch) \(entry.record)").inserted { entries.append(entry) }
    }
    while true {
      let bytes = try file.bytes(at: offset, count: 1 << 18)
      offset += bytes.count
      var rest = bytes[...]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        line += rest[..<end]
        rest = rest[(end + 1)...]
        takeLine()
      }
      line += rest
      if bytes.isEmpty {
        takeLine()
        return (entries, corrupted)
      }
    }
  }

  /// Replaces all entries with other ones.
  ///
  /// - Parameter corrupted: The lines that cannot be read. They stay as they are.
  package static func replace(
    with entries: [Entry], _ corrupted: [[UInt8]] = [], of consumer: String,
    in directory: borrowing Directory
  ) throws(SystemError) {
    let name = fileName(of: consumer)
    if entries.isEmpty, corrupted.isEmpty {
      try directory.removeIfThere(name)
      return
    }
    let lines = corrupted.flatMap { $0 + [UInt8(ascii: "\n")] }
    try directory.replace(name, with: lines + Array(entries.map(line).joined().utf8))
  }

  // MARK: - Lines

  private static func line(_ entry: Entry) -> String {
    let fields = [
      "\(entry.time.nanosecondsSince1970)", entry.batch, entry.record, plain(entry.reason),
      plain(entry.content),
    ]
    let text = fields.joined(separator: "\t")
    let checksum = Array(text.utf8).withUnsafeBytes { crc32c($0) }
    return "\(checksum.allHexDigits)\t\(text)\n"
  }

  private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
    let parts = line.split(
      separator: UInt8(ascii: "\t"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let digits = String(validating: parts[0], as: UTF8.self),
      let checksum = UInt32(digits, radix: 16),
      checksum == Array(parts[1]).withUnsafeBytes({ crc32c($0) }),
      let text = String(validating: parts[1], as: UTF8.self)
    else { return nil }
    let fields = text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 5, let time = Int64(fields[0]) else { return nil }
    let entry = Entry(
      time: Timestamp(nanosecondsSince1970: time), batch: fields[1],
      record: fields[2], reason: fields[3], content: fields[4])
    // The records are of one batch, and sums of such numbers do not overflow.
    return (0...Int(UInt32.max)).contains(entry.count) ? entry : nil
  }

  /// Returns a text in one line, without tabs.
  private static func plain(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 ? " " : $0 }))
  }
}
