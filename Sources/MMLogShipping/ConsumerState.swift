package import MMLogFormat
package import MMLogReader
import MMLogStorage
import MMLogSystem

/// What a consumer keeps from one life of its process to the next: what was acknowledged, the
/// batches that are on their way, and what became of each session's records. See FORMAT.md, 9.
package struct ConsumerState: Equatable, Sendable {
  package typealias Progress = LogReader.Cursor.Progress

  /// A batch that was sent, or is to be sent: a range of a session's rows.
  package struct Note: Equatable, Sendable {
    package var id: String
    package var session: SessionID
    /// What was acknowledged before the batch; nil if nothing of the session was.
    package var from: Progress?
    package var to: Progress
    /// How many records it has.
    package var count: Int
    /// Whether a gap in the batch stands for records that may have been sent.
    package var mayBeSent = false
    /// How many archives of the range were gone when the batch was made. If more are gone now, the
    /// batch cannot be made again.
    package var goneArchives = 0
  }

  /// What became of a session's rows, up to the cursor.
  package struct Balance: Equatable, Sendable {
    /// Rows that the cursor has passed in archives that were there.
    package var rows = 0
    /// Records that the receiver has acknowledged.
    package var acknowledged = 0
    /// Records that the receiver has refused; they were put aside.
    package var refused = 0
    /// Records that edits have left out.
    package var dropped = 0
    /// Records that edits have added: two where one record became three.
    package var added = 0
    /// Rows that were deleted before they were sent, as far as their number is known.
    package var missed = 0
    /// How many of these may have been sent all the same.
    package var maybeSent = 0
    /// How many rows the cursor has passed in the archive that it is in.
    package var rowsOfArchive = 0
    /// How many whole records these rows are, as far as that is known. With a filter that leaves
    /// records out, the number of rows.
    package var recordsOfArchive = 0
  }

  /// When the consumer began.
  package var created: Timestamp
  /// Whether the consumer ships only some records that somebody has asked for once: then no archive
  /// waits for it.
  package var isSelection = false
  /// The consumer's destination, as a hash; nil if it is not known.
  package var target: String?
  package var cursor = LogReader.Cursor()
  /// The batches that are on their way: at most one of each session.
  package var batches: [SessionID: Note] = [:]
  package var balances: [SessionID: Balance] = [:]

  package init(created: Timestamp) { self.created = created }

  /// Reads the noted state of a consumer in a directory, without the consumer's lock.
  ///
  /// - Throws: also if nothing is noted: then nothing was shipped for that name.
  init(of consumer: String, in directory: String) throws(LogError) {
    guard let state = try Self.noted(of: consumer, in: directory) else {
      throw LogError(
        .corruptedFile,
        "\(directory) has no state of the consumer \(consumer): nothing was shipped for it",
        path: directory)
    }
    self = state
  }

  /// Reads the same; nil if nothing is noted.
  ///
  /// - Throws: The errors that also keep a shipper from sending.
  package static func noted(
    of consumer: String, in path: String
  ) throws(LogError) -> ConsumerState? {
    let directory = try explaining("Opening the directory failed") { () throws(SystemError) in
      try Directory.open(path)
    }
    guard let text = try ConsumerFile.notedState(of: consumer, in: directory) else { return nil }
    return try ConsumerState(noted: text, in: ConsumerFile.fileName(of: consumer), of: directory)
  }

  /// Sets the consumer's destination, if it is not known yet.
  ///
  /// - Parameter other: The destination, as a hash; nil if the user has named the consumer, and may
  ///   well send elsewhere now.
  /// - Throws: If the consumer is of another destination: this one would not get the records that
  ///   the other one has.
  mutating func take(
    _ other: String?, of consumer: String, in path: String
  ) throws(LogError) {
    guard let other else { return }
    guard let target, target != other else { return self.target = other }
    throw LogError(
      .invalidConfiguration,
      "The cursor '\(consumer)' of \(path) is of another destination, on the same host: what that "
        + "one has would not be sent. Name this one, as by 'mmlog-ship --as'", path: path)
  }

  /// Reads the state in a file of a directory.
  init(
    noted text: String, in name: String, of directory: borrowing Directory
  ) throws(LogError) {
    guard let state = ConsumerState(text) else {
      let path = directory.path(of: name)
      throw LogError(
        .newerFormat, "\(path) was written by a newer version of mmlog: use that one", path: path)
    }
    self = state
  }
}

// MARK: - Text

extension ConsumerState {
  private static let title = "mmlog-consumer 1"

  /// Lines of a key and a value.
  package var text: String {
    var lines = [Self.title, "created \(created.nanosecondsSince1970)", "cursor \(cursor)"]
    if isSelection { lines.append(UnsentArchives.selection) }
    if let target { lines.append("target \(target)") }
    for (_, batch) in batches.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      let from = batch.from.map { Self.text(of: $0, batch.session) } ?? "-"
      lines.append(
        "batch \(batch.id) \(batch.session) \(batch.count) \(from) "
          + Self.text(of: batch.to, batch.session) + " \(batch.goneArchives)"
          + (batch.mayBeSent ? " ?" : ""))
    }
    for (session, balance) in balances.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      lines.append("session \(session) \(balance.numbers.map { "\($0)" }.joined(separator: " "))")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Reads a text that ``text`` gives; nil for any other text. Skips lines of a later version.
  package init?(_ text: String) {
    let lines = text.split(separator: "\n")
    guard lines.first.map(String.init) == Self.title else { return nil }
    self.init(created: .zero)
    for line in lines.dropFirst() {
      let words = line.split(separator: " ").map(String.init)
      switch (words.first, words.count) {
      case ("created", 2):
        guard let time = Int64(words[1]) else { return nil }
        created = Timestamp(nanosecondsSince1970: time)
      case ("selection", 2): isSelection = true
      case ("target", 2): target = words[1]
      case ("cursor", 2):
        guard let cursor = LogReader.Cursor(words[1]) else { return nil }
        self.cursor = cursor
      case ("batch", 7), ("batch", 8):
        guard let note = Note(words) else { return nil }
        batches[note.session] = note
      case ("session", _):
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        guard words.count > 2, let session = SessionID(words[1]),
          let balance = Balance(numbers), numbers.count == words.count - 2
        else { return nil }
        balances[session] = balance
      default: continue
      }
    }
  }

  fileprivate static func text(of progress: Progress, _ session: SessionID) -> String {
    var cursor = LogReader.Cursor()
    cursor.sessions[session] = progress
    return cursor.description
  }
}

extension ConsumerState.Note {
  fileprivate init?(_ words: [String]) {
    guard let session = SessionID(words[2]), let count = Int(words[3]), count >= 0,
      let to = LogReader.Cursor(words[5])?.sessions[session], let gone = Int(words[6]), gone >= 0
    else { return nil }
    var from: ConsumerState.Progress?
    if words[4] != "-" {
      guard let progress = LogReader.Cursor(words[4])?.sessions[session] else { return nil }
      from = progress
    }
    self.init(
      id: words[1], session: session, from: from, to: to, count: count,
      mayBeSent: words.count == 8, goneArchives: gone)
  }
}

extension ConsumerState.Balance {
  /// The numbers as they are written, within bounds: a number that the reader does not accept would
  /// make the whole state unreadable.
  fileprivate var numbers: [Int] {
    [
      rows, acknowledged, refused, dropped, added, missed, maybeSent, rowsOfArchive,
      recordsOfArchive,
    ].map { min(max(0, $0), Self.maximum) }
  }

  /// No session has more records, and sums of such numbers do not overflow.
  private static let maximum = 1 << 56

  fileprivate init?(_ numbers: [Int]) {
    guard numbers.count >= 9, numbers.allSatisfy((0...Self.maximum).contains) else { return nil }
    self.init()
    (rows, acknowledged, refused, dropped) = (numbers[0], numbers[1], numbers[2], numbers[3])
    (added, missed, maybeSent) = (numbers[4], numbers[5], numbers[6])
    (rowsOfArchive, recordsOfArchive) = (numbers[7], numbers[8])
  }
}

// MARK: - Names of batches

extension ConsumerState.Note {
  /// Returns the id of a range of a session's rows. The id is the same for the same range, so that
  /// a process finds it again without having kept it.
  ///
  /// - Parameter mayBeSent: Whether records of the range may have been sent before they were
  ///   deleted. What is left of the range is then another batch.
  package static func id(
    of consumer: String, _ session: SessionID, from: ConsumerState.Progress?,
    to: ConsumerState.Progress, mayBeSent: Bool
  ) -> String {
    let first = from.map { ConsumerState.text(of: $0, session) } ?? ""
    let range = "\(consumer)\n\(first)\n\(ConsumerState.text(of: to, session))"
    return hash(range + (mayBeSent ? "\n?" : ""))
  }

  /// The id of a batch of records that were put aside.
  static func id(of consumer: String, records: [String]) -> String {
    hash("\(consumer)\n\(records.joined(separator: "\n"))")
  }

  private static func hash(_ text: String) -> String {
    // FNV-1a with 128 bits.
    var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
    let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
    for byte in text.utf8 { hash = (hash ^ UInt128(byte)) &* prime }
    return hash.allHexDigits
  }
}
