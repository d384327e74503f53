import MMLogFormat
import MMLogReader
import MMLogStorage

/// What the repaired archives of a session have in common.
final class RepairedSession {
  let identity: SessionIdentity
  /// The call sites, labels and key sets that the session's records refer to.
  let sites = SiteTable()
  /// The dictionary as it was found in the session's files.
  let entries: LogDictionary
  /// The encoded entries of the dictionary, as an archive has them.
  let dictionary: [UInt8]
  /// The encoded entries for an archive of which there is no key: its own entries stay encrypted.
  let notesDictionary: [UInt8]
  /// Whether the session has encrypted archives.
  let isEncrypted: Bool
  /// The number of the label `mmlog.repair`; 0 if all numbers are taken.
  private let label: UInt32
  let encoder: FrameEncoder

  /// - Parameter dictionary: The entries in the session's files.
  init(_ files: SessionFiles, _ dictionary: LogDictionary) {
    (identity, self.entries) = (files.identity, dictionary)
    isEncrypted = files.archives.contains(where: \.isEncrypted)
    var entries = dictionary
    // Sixteen bits, as in a record. No record whose label is lost has one of the last numbers.
    label = (1...UInt32(UInt16.max)).last { entries.labels[$0] == nil } ?? 0
    var own = LogDictionary()
    if label > 0 {
      entries.insert(.label(id: label, ArchiveFile.repairLabel))
      own.insert(.label(id: label, ArchiveFile.repairLabel))
    }
    sites.add(entries)
    let seed = checksumSeed(session: identity.session, generation: 0)
    self.dictionary = entries.encoded(seed: seed)
    notesDictionary = own.encoded(seed: seed)
    encoder = FrameEncoder(
      of: identity.session, compressionLevel: ArchiveSeries.Settings.usual.compressionLevel)
  }

  /// The entries of an archive with a ring's records. If the session's archives are encrypted and
  /// the ring has no recipients, these are only the entries that stand in clear in the ring.
  func dictionary(for ring: RingImage) -> [UInt8] {
    guard isEncrypted, ring.keySlots.isEmpty else { return dictionary }
    var entries = ring.entries.reduce(into: notesDictionary) { $0 += $1.bytes }
    if !ring.state.values.isEmpty {
      let seed = checksumSeed(session: identity.session, generation: 0)
      let state = DictionaryEntry.lastState(ring.state.fields).encoded(seed: seed)
      state.withUnsafeBytes { entries += $0 }
    }
    return entries
  }

  /// Encodes rows.
  func frame(_ rows: borrowing RowBuilder, _ header: FrameHeader) -> EncodedFrame {
    dictionary.withUnsafeBytes { encoder.encode(rows, dictionary: $0, header) }
  }

  /// A note of corruption, as a record. The record contains its call site, because the dictionary
  /// may be lost.
  func note(_ corruption: LogReader.Corruption, ticks: UInt64) -> [UInt64] {
    let seed = checksumSeed(session: identity.session, generation: 0)
    let entry = DictionaryEntry.callSite(id: 0, .corruption).encoded(seed: seed)
    var words = WordWriter()
    words.append(0)
    words.append(ticks)
    words.append(
      UInt64(label) << RecordLayout.labelShift
        | UInt64(Level.error.rawValue) << RecordLayout.levelShift
        | UInt64(RecordFlags.inlineCallSite.rawValue) << RecordLayout.flagsShift)
    words.append(UInt64(corruption.size))
    words.append(UInt64(corruption.offset))
    words.append(corruption.path)
    words.append(corruption.what)
    for word in entry { words.append(word) }
    words.append(UInt64(entry.count))
    words.set(UInt64(words.words.count) | RecordLayout.recordKind, at: 0)
    return words.words
  }
}

extension RowBuilder {
  /// Adds a note, whose time is not before that of the last row.
  ///
  /// - Parameter room: The maximum size of the payload.
  /// - Returns: Whether there was enough room.
  @discardableResult
  mutating func add(
    _ note: LogReader.Corruption, ticks: UInt64, of session: RepairedSession, room: Int = .max
  ) throws -> Bool {
    let ticks = max(ticks, isEmpty ? 0 : summary.lastTicks)
    let words = session.note(note, ticks: ticks)
    guard words.count * wordSize + FrameLayout.threadSize <= room - size else { return false }
    // A payload without threads, of one row.
    try ([0] + words).withUnsafeBytes { payload in
      var reader = try RowReader(payload)
      guard let row = try reader.next() else { return }
      add(row, thread: ThreadIdentity(ordinal: 0, id: 0, name: ""), ticks: ticks)
    }
    return true
  }
}

extension CallSite {
  /// `corrupted: 512 bytes at 4096 of a.mmlog: between frames`
  fileprivate static let corruption = CallSite(
    file: "", function: "", line: 0, column: 0,
    parts: [
      .literal(ArchiveFile.noteBeginning), .named("size", .int), .literal(" bytes at "),
      .named("offset", .int),
      .literal(" of "), .named("path", .string), .literal(": "), .named("what", .string),
    ])
}

extension CallSite.Part {
  fileprivate static func named(_ name: String, _ type: ValueType) -> Self {
    .argument(
      CallSite.Argument(
        type: type.rawValue, privacy: 0, width: 64, format: 0, alignment: 0, name: name))
  }
}

extension LogDictionary {
  /// All entries that a frame has room for, call sites first.
  fileprivate func encoded(seed: UInt32) -> [UInt8] {
    let sites = callSites.sorted { $0.key < $1.key }.map { DictionaryEntry.callSite(id: $0, $1) }
    let labels = labels.sorted { $0.key < $1.key }.map { DictionaryEntry.label(id: $0, $1) }
    let sets = keySets.sorted { $0.key < $1.key }.map { DictionaryEntry.keySet(id: $0, $1) }
    let fields = sessionFields.map { [DictionaryEntry.sessionFields($0)] } ?? []
    let state = lastState.map { [DictionaryEntry.lastState($0)] } ?? []
    return (sites + labels + sets + fields + state).reduce(into: []) { bytes, entry in
      entry.encoded(seed: seed).withUnsafeBytes {
        if $0.count <= FrameLayout.largestPayload - bytes.count { bytes += $0 }
      }
    }
  }
}
