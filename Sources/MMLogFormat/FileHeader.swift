/// Who wrote a file: what the file headers of ring and archive have in common.
public struct SessionIdentity: Equatable, Sendable {
  /// The session.
  public var session: SessionID
  /// The boot of the machine, 16 bytes; zeros if unknown.
  package var bootID: [UInt8]
  /// The process's id.
  public var processID: UInt32
  /// When the session started, in nanoseconds since 1970.
  public var startTime: Int64
  /// The process's name, cut to 64 bytes.
  public var processName: String
  /// The machine's name, cut to 64 bytes.
  public var hostName: String
  /// The time zone of the process, such as `Europe/Berlin`, cut to 64 bytes.
  public var timeZone: String
  /// The store's name.
  public var storeName: String

  package init(
    session: SessionID, bootID: [UInt8], processID: UInt32, startTime: Int64, processName: String,
    hostName: String, timeZone: String, storeName: String
  ) {
    self.session = session
    self.bootID = bootID
    self.processID = processID
    self.startTime = startTime
    self.processName = processName
    self.hostName = hostName
    self.timeZone = timeZone
    self.storeName = storeName
  }

  /// Whether the machine has been running ever since, if it was last started as `bootID` says.
  ///
  /// Zeros: that is not known, and then it may have been down meanwhile.
  package func isOfBoot(_ bootID: [UInt8]) -> Bool {
    self.bootID == bootID && bootID.contains { $0 != 0 }
  }

  fileprivate func encode(
    magic: StaticString, pageSize: UInt32, into out: UnsafeMutableRawBufferPointer
  ) {
    magic.withUTF8Buffer { out.store(bytes: $0, FileHeaderLayout.magic) }
    out.store(formatVersion, FileHeaderLayout.version)
    out.store(UInt32(FileHeaderLayout.size), FileHeaderLayout.fileHeaderSize)
    out.store(FileHeaderLayout.byteOrderProbeValue, FileHeaderLayout.byteOrderProbe)
    out.store(pageSize, FileHeaderLayout.pageSize)
    out.store(bytes: session.bytes, FileHeaderLayout.session)
    out.store(bytes: bootID.prefix(16), FileHeaderLayout.bootID)
    out.store(processID, FileHeaderLayout.processID)
    out.store(startTime, FileHeaderLayout.startTime)
    out.store(text: processName, FileHeaderLayout.processName, FileHeaderLayout.processNameSize)
    out.store(text: hostName, FileHeaderLayout.hostName, FileHeaderLayout.hostNameSize)
    out.store(text: timeZone, FileHeaderLayout.timeZone, FileHeaderLayout.timeZoneSize)
    out.store(text: storeName, FileHeaderLayout.storeName, FileHeaderLayout.storeNameSize)
  }

  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    session = SessionID(bytes, at: FileHeaderLayout.session)
    bootID = Array(bytes.slice(FileHeaderLayout.bootID, 16))
    processID = bytes.load(FileHeaderLayout.processID, as: UInt32.self)
    startTime = bytes.load(FileHeaderLayout.startTime, as: Int64.self)
    processName = bytes.text(FileHeaderLayout.processName, FileHeaderLayout.processNameSize)
    hostName = bytes.text(FileHeaderLayout.hostName, FileHeaderLayout.hostNameSize)
    timeZone = bytes.text(FileHeaderLayout.timeZone, FileHeaderLayout.timeZoneSize)
    storeName = bytes.text(FileHeaderLayout.storeName, FileHeaderLayout.storeNameSize)
  }
}

/// Which kind of mmlog file bytes are, known by their first eight.
package enum FileKind: Sendable {
  case ring
  case archive

  package var magic: StaticString {
    self == .ring ? FileHeaderLayout.ringMagic : FileHeaderLayout.archiveMagic
  }

  /// The kind of the file that begins with `bytes`, or nil.
  ///
  /// One bit of the magic may be wrong: whether it is, the file header's checksum says.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    if bytes.nearlyStarts(with: FileHeaderLayout.ringMagic) {
      self = .ring
    } else if bytes.nearlyStarts(with: FileHeaderLayout.archiveMagic) {
      self = .archive
    } else {
      return nil
    }
  }
}

extension UnsafeRawBufferPointer {
  package func starts(with magic: StaticString) -> Bool {
    magic.withUTF8Buffer { count >= $0.count && self.prefix($0.count).elementsEqual($0) }
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func nearlyStarts(with magic: StaticString) -> Bool {
    magic.withUTF8Buffer { magic in
      guard count >= magic.count else { return false }
      return zip(self, magic).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount } <= 1
    }
  }
}

/// A file header's bytes, checked for what every one must be before any field of it is used.
private struct CheckedFileHeader {
  private let bytes: [UInt8]
  /// Whether one bit was wrong, and was corrected.
  let isCorrected: Bool

  init(_ bytes: UnsafeRawBufferPointer, is kind: FileKind) throws(FormatError) {
    guard FileKind(bytes) == kind else { throw .foreign }
    guard bytes.count >= FileHeaderLayout.size else { throw .truncated }
    var fileHeader = Array(bytes.prefix(FileHeaderLayout.size))
    isCorrected = fileHeader.withUnsafeMutableBytes { $0.correctFileHeader() }
    self.bytes = fileHeader
    try read(checkFileHeader)
  }

  /// What `body` makes of the bytes.
  func read<T>(
    _ body: (UnsafeRawBufferPointer) throws(FormatError) -> T
  ) throws(FormatError) -> T {
    // `withUnsafeBytes` of an array forgets the type of what is thrown.
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(FormatError) in try body(bytes) }
    }
    return try result.get()
  }
}

private func checkFileHeader(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
  // Before the checksum: a newer version may have moved it.
  guard bytes.load(FileHeaderLayout.version, as: UInt32.self) <= formatVersion else {
    throw .newerFormat
  }
  guard
    crc32c(bytes.slice(0, FileHeaderLayout.checksum))
      == bytes.load(FileHeaderLayout.checksum, as: UInt32.self)
  else { throw .wrongChecksum }
  guard bytes.load(FileHeaderLayout.incompatibleFeatures, as: UInt64.self) == 0 else {
    throw .newerFormat
  }
  guard bytes.load(FileHeaderLayout.version, as: UInt32.self) == formatVersion else {
    throw .olderFormat
  }
  guard
    bytes.load(FileHeaderLayout.fileHeaderSize, as: UInt32.self) == FileHeaderLayout.size,
    bytes.load(FileHeaderLayout.byteOrderProbe, as: UInt32.self)
      == FileHeaderLayout.byteOrderProbeValue
  else { throw .invalid("file header") }
}

private func encodeFileHeader(
  _ kind: FileKind, _ identity: SessionIdentity, pageSize: UInt32,
  specific: (UnsafeMutableRawBufferPointer) -> Void
) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: FileHeaderLayout.size)
  bytes.withUnsafeMutableBytes { out in
    identity.encode(magic: kind.magic, pageSize: pageSize, into: out)
    specific(out)
    out.store(
      crc32c(UnsafeRawBufferPointer(out).slice(0, FileHeaderLayout.checksum)),
      FileHeaderLayout.checksum)
  }
  return bytes
}

/// Where the areas of a ring are. Sizes in bytes.
package struct RingGeometry: Equatable, Sendable {
  package var dictionaryOffset: Int
  package var dictionarySize: Int
  /// Where the segments' uses are.
  package var usesOffset: Int
  package var segmentsOffset: Int
  package var segmentSize: Int
  package var segmentCount: Int

  /// The geometry of a new ring: dictionary after the file header, then the
  /// segments' uses, segments at a page's edge after them.
  package init(dictionarySize: Int, segmentSize: Int, segmentCount: Int) {
    dictionaryOffset = RingLayout.dictionary
    self.dictionarySize = dictionarySize
    usesOffset = RingLayout.dictionary + paddedSize(dictionarySize)
    segmentsOffset = (usesOffset + segmentCount * wordSize + 4095) & ~4095
    self.segmentSize = segmentSize
    self.segmentCount = segmentCount
  }

  package var fileSize: Int { segmentsOffset + segmentSize * segmentCount }

  /// Where the segments' uses are.
  package var uses: Range<Int> { usesOffset..<usesOffset + segmentCount * wordSize }

  /// The offset of the word that says a segment's use.
  package func use(ofSegment index: Int) -> Int { usesOffset + index * wordSize }

  /// The offset of a segment, which must be one of the ring's.
  package func offset(ofSegment index: Int) -> Int {
    precondition(index >= 0 && index < segmentCount)
    return segmentsOffset + index * segmentSize
  }

  fileprivate init(checking bytes: UnsafeRawBufferPointer) throws(FormatError) {
    let size = bytes.load(RingLayout.fileSize, as: UInt64.self)
    let fields = [
      RingLayout.dictionaryOffset, RingLayout.dictionarySize, RingLayout.segmentsOffset,
      RingLayout.segmentSize,
    ].map { bytes.load($0, as: UInt64.self) }
    let uses = bytes.load(RingLayout.usesOffset, as: UInt64.self)
    let count = UInt64(bytes.load(RingLayout.segmentCount, as: UInt32.self))
    let header = bytes.load(RingLayout.segmentHeaderSize, as: UInt32.self)
    // Small enough that no sum and product below overflows.
    guard size <= RingLayout.largestFile, fields.allSatisfy({ $0 <= size && $0 % 8 == 0 }),
      header == SegmentLayout.size, fields[0] >= RingLayout.dictionary,
      fields[0] + fields[1] <= fields[2], fields[1] <= RingLayout.largestDictionary,
      fields[3] > UInt64(SegmentLayout.size), fields[3] <= RingLayout.largestSegment,
      count > 0, count <= RingLayout.maximumSegments, count <= (size - fields[2]) / fields[3],
      uses % 8 == 0, uses >= fields[0] + fields[1], uses <= fields[2],
      count * UInt64(wordSize) <= fields[2] - uses
    else { throw .invalid("geometry") }
    dictionaryOffset = Int(fields[0])
    dictionarySize = Int(fields[1])
    usesOffset = Int(uses)
    segmentsOffset = Int(fields[2])
    segmentSize = Int(fields[3])
    segmentCount = Int(count)
  }

  fileprivate func encode(into out: UnsafeMutableRawBufferPointer) {
    out.store(UInt64(fileSize), RingLayout.fileSize)
    out.store(UInt64(dictionaryOffset), RingLayout.dictionaryOffset)
    out.store(UInt64(dictionarySize), RingLayout.dictionarySize)
    out.store(UInt64(segmentsOffset), RingLayout.segmentsOffset)
    out.store(UInt64(segmentSize), RingLayout.segmentSize)
    out.store(UInt32(segmentCount), RingLayout.segmentCount)
    out.store(UInt32(SegmentLayout.size), RingLayout.segmentHeaderSize)
    out.store(UInt64(usesOffset), RingLayout.usesOffset)
  }
}

/// What a ring begins with, which never changes: its file header, and the table of its areas.
package struct RingHeader: Equatable, Sendable {
  package var identity: SessionIdentity
  package var geometry: RingGeometry
  /// Records below this level are flight records: no archive has them before they are captured.
  package var archiveLevel: Level
  package var areas: RingAreas
  /// What is wrong with the table of the areas, part of a sentence; nil: nothing.
  package let areaProblem: String?
  /// Whether one bit of the file header was wrong when it was read, and was corrected.
  package let isCorrected: Bool

  package init(
    identity: SessionIdentity, geometry: RingGeometry, archiveLevel: Level = .trace,
    areas: RingAreas = .usual
  ) {
    self.identity = identity
    self.geometry = geometry
    self.archiveLevel = archiveLevel
    self.areas = areas
    areaProblem = nil
    isCorrected = false
  }

  /// The ring's first ``RingLayout/fileHeaderSize`` bytes.
  package func encoded(pageSize: UInt32) -> [UInt8] {
    encodeFileHeader(.ring, identity, pageSize: pageSize) { out in
      geometry.encode(into: out)
      out.store(archiveLevel.rawValue, RingLayout.archiveLevel)
    } + areas.encoded
  }

  /// Reads and checks a file header; after that, every offset of its geometry lies within the file
  /// size that the file header states, which the caller compares with the real one, and every area
  /// lies before the dictionary.
  package init(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    let fileHeader = try CheckedFileHeader(bytes, is: .ring)
    isCorrected = fileHeader.isCorrected
    (identity, geometry, archiveLevel) = try fileHeader.read { (bytes) throws(FormatError) in
      (
        SessionIdentity(bytes), try RingGeometry(checking: bytes),
        Level(fromFile: bytes[RingLayout.archiveLevel])
      )
    }
    (areas, areaProblem) = RingAreas.read(from: bytes, before: geometry.dictionaryOffset)
  }
}

/// The header of an archive.
package struct ArchiveHeader: Equatable, Sendable {
  package var identity: SessionIdentity
  /// Counts the session's archives from 1.
  package var number: UInt32
  /// When it was begun, in nanoseconds since 1970.
  package var created: Int64
  /// Whether one bit of it was wrong when it was read, and was corrected.
  package let isCorrected: Bool

  /// Which archive it begins.
  package var id: ArchiveID { ArchiveID(session: identity.session, number: number) }

  package init(identity: SessionIdentity, number: UInt32, created: Int64) {
    self.identity = identity
    self.number = number
    self.created = created
    isCorrected = false
  }

  package func encoded(pageSize: UInt32) -> [UInt8] {
    encodeFileHeader(.archive, identity, pageSize: pageSize) { out in
      out.store(number, ArchiveLayout.number)
      out.store(created, ArchiveLayout.created)
    }
  }

  package init(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    let fileHeader = try CheckedFileHeader(bytes, is: .archive)
    isCorrected = fileHeader.isCorrected
    (identity, number, created) = try fileHeader.read { (bytes) throws(FormatError) in
      (
        SessionIdentity(bytes), bytes.load(ArchiveLayout.number, as: UInt32.self),
        bytes.load(ArchiveLayout.created, as: Int64.self)
      )
    }
  }
}
