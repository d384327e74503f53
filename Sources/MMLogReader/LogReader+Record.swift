public import MMLogFormat

extension LogReader {
  /// One log event, whole and checked.
  ///
  /// A record shares what it holds of its message with the records beside it. Keeping one record in
  /// memory keeps the frame of the archive, or the ring, that the record was in. Any thread.
  public struct Record: Sendable {
    /// Keeps what ``content`` refers to.
    let owner: RecordOwner
    /// Valid for as long as the record is.
    package internal(set) var content: RecordContent

    /// The session that logged the record.
    public var session: LogReader.Session { owner.session }
    /// The record's name, which no other record ever has; nil for a record in a ring, which gets
    /// its name when it is archived.
    public var id: RecordID? {
      owner.frame.map {
        RecordID(
          session: session.id, archive: $0.archive, frame: $0.ordinal, checksum: $0.checksum,
          row: content.row)
      }
    }
    /// Whether the record is in an archive, and therefore has its name.
    package var isArchived: Bool { owner.frame != nil }
    /// The thread that logged the record.
    public var thread: LogReader.Thread { content.thread }
    /// When the record was logged.
    public var time: Timestamp { content.time }
    /// The same time by the counter of the machine that logged the record; comparable within a
    /// session.
    public var ticks: UInt64 { content.ticks }
    /// The logger's label; empty if it had none.
    public var label: String { content.label.string }
    /// How much the record matters.
    public var level: Level { content.level }
    /// The source file of the log statement, as `Module/File.swift`; empty if there is none.
    public var file: String { content.site.file }
    /// The function of the log statement.
    public var function: String { content.site.function }
    /// The line of the log statement; 0 if there is none.
    public var line: Int { content.site.line }
    /// True if a value of the record was cut: it was longer than 16 MiB, or its process had no
    /// memory for it.
    public var isCut: Bool { content.flags.contains(.cut) }
    /// True if the record was below the level of the archives. Then it was only in the ring until
    /// it was captured, or its process died.
    public var isFlight: Bool { content.isFlight }
    /// True if the message is a piece of a line: no line end belongs after it.
    public var isUnterminated: Bool { content.flags.contains(.unterminated) }

    /// The message with its arguments in it, with U+FFFD for what is not UTF-8.
    ///
    /// - Complexity: O(bytes), at each call.
    public var message: String { String(decoding: messageBytes, as: UTF8.self) }

    /// The message with its arguments in it, byte for byte.
    ///
    /// - Complexity: O(bytes), at each call.
    public var messageBytes: [UInt8] {
      withExtendedLifetime(owner) {
        var buffer = TextBuffer()
        content.appendMessage(.raw, to: &buffer)
        return buffer.withUnsafeBytes { Array($0) }
      }
    }

    /// The named arguments and then the metadata, in the order in which they were logged. A name
    /// may occur more than once.
    ///
    /// - Complexity: O(bytes), at each call.
    public var fields: [(name: String, value: Value)] {
      withExtendedLifetime(owner) {
        var fields: [(name: String, value: Value)] = []
        content.forEachField { (name, value, reader) throws(FormatError) in
          fields.append((name.string, try reader.value(value)))
        }
        return fields
      }
    }
  }
}

extension LogReader {
  /// Consecutive records, with one reference to what keeps all of them in memory.
  ///
  /// Any thread.
  public struct Records: Sendable {
    let owner: RecordOwner
    var contents: ArraySlice<RecordContent>

    init(owner: RecordOwner, contents: ArraySlice<RecordContent>) {
      (self.owner, self.contents) = (owner, contents)
    }

    /// Makes a list of one record.
    public init(_ record: LogReader.Record) {
      self.init(owner: record.owner, contents: [record.content])
    }

    /// The number of records, which may be 0.
    public var count: Int { contents.count }

    /// The first record; nil if there is none.
    public var first: LogReader.Record? {
      contents.first.map { LogReader.Record(owner: owner, content: $0) }
    }

    /// The id of the first record; nil if there is none, or the record is in a ring.
    public var firstID: LogReader.RecordID? { contents.first.flatMap(id) }

    /// The id of the last record; nil if there is none, or the record is in a ring.
    public var lastID: LogReader.RecordID? { contents.last.flatMap(id) }

    private func id(of content: RecordContent) -> LogReader.RecordID? {
      LogReader.Record(owner: owner, content: content).id
    }

    /// How many bytes the values of all records take before an archive compresses them.
    ///
    /// - Complexity: O(records).
    public var size: Int { contents.reduce(0) { $0 + $1.size } }

    /// About how many bytes all records take as text or JSON.
    ///
    /// - Complexity: O(bytes of the records).
    package var textSize: Int {
      let session = owner.session.fieldSize
      return contents.reduce(0) { $0 + $1.textSize + session }
    }

    /// How many of the first records take about `maximum` bytes as text or JSON; at least one.
    func count(ofTextSize maximum: Int) -> Int {
      let session = owner.session.fieldSize
      var (count, size) = (0, 0)
      for content in contents {
        size += content.textSize + session
        if count > 0, size > maximum { break }
        count += 1
      }
      return count
    }

    /// When the last record was logged; nil if there is none.
    public var lastTime: Timestamp? { contents.last?.time }

    /// Calls `body` with one record after the other. No reference is counted for a record, unless
    /// `body` keeps the record.
    ///
    /// - Parameter body: Takes a record.
    /// - Throws: what `body` throws.
    @inline(__always)
    public func forEach<Failure: Error>(
      _ body: (LogReader.Record) throws(Failure) -> Void
    ) throws(Failure) {
      guard let first = contents.first else { return }
      var record = LogReader.Record(owner: owner, content: first)
      for content in contents {
        record.content = content
        try body(record)
      }
    }

    /// Returns the first records, at most `count`.
    public func prefix(_ count: Int) -> LogReader.Records {
      LogReader.Records(owner: owner, contents: contents.prefix(count))
    }

    /// Returns the records with the last one first.
    package func reversed() -> LogReader.Records {
      LogReader.Records(owner: owner, contents: contents.reversed()[...])
    }

    /// Returns all records except the first `count`.
    public func dropFirst(_ count: Int) -> LogReader.Records {
      LogReader.Records(owner: owner, contents: contents.dropFirst(count))
    }
  }
}
