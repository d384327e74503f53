import TestSupport
import CrashCampaign
import CrashRecords
import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem

/// A log whose bits are flipped: its files in memory, and what reading them whole gives.
struct Specimen {
  /// What kind of files it has.
  enum Kind: String, CaseIterable {
    /// An archive of 64 KiB and a little.
    case archive
    /// The smallest ring that a store can have.
    case ring
    /// A larger archive, and beside it the ring that it was filled from.
    case pair
    /// An archive that is encrypted, and whose frames are chained.
    case sealed

    /// The kinds that this build can write.
    static var available: [Kind] {
      allCases.filter { $0 != .sealed || !CampaignIdentity.recipients.isEmpty }
    }

    var isArchive: Bool { self == .archive || self == .sealed }
  }

  struct File {
    let name: String
    let bytes: [UInt8]
    let parts: [Part]
  }

  let files: [File]
  /// The records that reading gives, in order.
  let records: [LoggedRecord]

  /// How many bits there are to flip.
  var bitCount: Int { files.reduce(0) { $0 + $1.bytes.count * 8 } }

  /// Reads a log that ``make(_:in:)`` has made.
  init(in folder: String) throws {
    let records = LogReader(CampaignIdentity.files([folder])).compactMap { item -> LoggedRecord? in
      guard case .record(let record) = item else { return nil }
      return LoggedRecord(record)
    }
    let numbers = Dictionary(records.enumerated().map { ($1.ticks, $0) }) { first, _ in first }
    files = try Folder.names(folder).map { name in
      let bytes = try Folder.read("\(folder)/\(name)")
      let parts =
        try name.hasSuffix(".ring") ? Part.ofRing(bytes, numbers) : Part.ofArchive(bytes, records)
      return File(name: name, bytes: bytes, parts: parts)
    }
    self.records = records
  }

  /// Logs, and leaves a folder with the files of one kind of specimen.
  ///
  /// - Throws: errors of making the files; ``Failure`` if reading them does not give what was
  ///   logged.
  static func make(_ kind: Kind, in folder: String) throws {
    let (store, rings) = ("\(folder).store", "\(folder).rings")
    defer {
      Folder.remove(store)
      Folder.remove(rings)
    }
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    configuration.level = .trace
    configuration.drainInterval = .seconds(3600)
    configuration.rotation.size = nil
    configuration.ringDirectory = rings
    configuration.dictionarySize = 4 << 10
    if kind == .sealed {
      configuration.recipients = CampaignIdentity.recipients
      configuration.hashChain = true
    }
    let log = try LogStore(directory: store, name: "flips", configuration: configuration)
    if kind == .ring {
      // With a file in place of the directory, nothing can be archived: the store would make a
      // missing directory anew.
      Folder.remove(store)
      try Folder.write([], to: store)
    }
    let lane = Lane(1, sizes: 8...2048, seed: 1)
    let loggers = (1...3).map { log.logger(label: "label \($0)") }
    let (count, batch) = kind == .ring ? (300, Int.max) : kind.isArchive ? (450, 20) : (4000, 50)
    for sequence in 1...count {
      lane.logInContext(sequence, to: loggers[sequence % 3])
      // The last records of a pair stay in its ring.
      if sequence % batch == 0 && (kind.isArchive || sequence < count - 200) {
        try log.flush(.archive)
      }
    }
    try Folder.make(folder)
    if kind.isArchive { try log.close() }
    // Copies the ring first: the drainer may be at work.
    for name in try Folder.names(rings) { try copy(name, from: rings, to: folder) }
    if kind == .ring {
      try? log.close()
    } else {
      for name in try Folder.names(store) { try copy(name, from: store, to: folder) }
      try log.close()
    }
    let whole = try Specimen(in: folder)
    guard whole.records.indices.allSatisfy({ lane.logged(whole.records[$0].message, as: $0 + 1) }),
      whole.records.count == count
    else { throw Failure("reading \(kind) does not give what was logged") }
  }

  private static func copy(_ name: String, from store: String, to folder: String) throws {
    try Folder.write(try Folder.read("\(store)/\(name)"), to: "\(folder)/\(name)")
  }
}

/// What has to be the same of a record.
struct LoggedRecord: Equatable {
  let session: SessionID
  let ticks: UInt64
  let level: Level
  var label: String
  let thread: UInt32
  let threadName: String
  let file: String
  let line: Int
  let message: [UInt8]
  let fieldNames: [String]
  let fieldValues: [Value]
  let span: UInt64?
  let trace: TraceContext?
  let isFlight: Bool

  init(_ record: LogReader.Record) {
    session = record.session.id
    ticks = record.ticks
    level = record.level
    label = record.label
    (thread, threadName) = (record.thread.ordinal, record.thread.name)
    (file, line) = (record.file, record.line)
    message = record.messageBytes
    let fields = record.fields
    (fieldNames, fieldValues) = (fields.map(\.name), fields.map(\.value))
    (span, trace) = (record.spanNumber, record.trace)
    isFlight = record.isFlight
  }
}
