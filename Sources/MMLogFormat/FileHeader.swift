/// The kind of an mmlog file, known by its first eight bytes.
package enum FileKind: Sendable {
  case ring
  case archive

  package var magic: StaticString {
    self == .ring ? FileHeaderLayout.ringMagic : FileHeaderLayout.archiveMagic
  }

  /// The kind of the file that begins with `bytes`, or nil.
  ///
  /// One bit of the magic may be wrong: the file header's checksum says whether it is.
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

/// Checks the bytes of a file header for what every file header must have, and reads its fields.
///
/// - Parameter fields: Reads them.
/// - Returns: The fields, and whether one bit was wrong, and was corrected.
private func readFileHeader<Fields>(
  _ bytes: UnsafeRawBufferPointer, of kind: FileKind,
  _ fields: (UnsafeRawBufferPointer) throws(FormatError) -> Fields
) throws(FormatError) -> (fields: Fields, isCorrected: Bool) {
  guard FileKind(bytes) == kind else { throw .foreign }
  guard bytes.count >= FileHeaderLayout.size else { throw .truncated }
  var copy = Array(bytes.prefix(FileHeaderLayout.size))
  let isCorrected = copy.withUnsafeMutableBytes { $0.correctFileHeader() }
  // `withUnsafeBytes` of an array forgets the type of what is thrown.
  let result = copy.withUnsafeBytes { copy in
    Result { () throws(FormatError) in
      try checkFileHeader(copy, of: kind)
      return try fields(copy)
    }
  }
  return (try result.get(), isCorrected)
}

private func checkFileHeader(
  _ bytes: UnsafeRawBufferPointer, of kind: FileKind
) throws(FormatError) {
  // Before the checksum: a newer version may have moved it.
  guard bytes.load(FileHeaderLayout.version, as: UInt32.self) <= formatVersion else {
    throw .newerFormat
  }
  guard bytes.checksumDifference(at: FileHeaderLayout.checksum) == 0 else { throw .wrongChecksum }
  // The checksum covers the magic, too: this is a file of another kind, and has no wrong bit.
  guard bytes.starts(with: kind.magic) else { throw .foreign }
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
    out.storeChecksum(at: FileHeaderLayout.checksum)
  }
  return bytes
}

/// What a ring begins with, which never changes: its file header, and the table of its areas.
package struct RingHeader: Equatable, Sendable {
  package var identity: SessionIdentity
  package var geometry: RingGeometry
  /// Records below this level are flight records: no archive has them before they are captured.
  package var archiveLevel: Level
  /// Whether the frames of the session's archives are chained: see ``FrameChain``.
  package var isChained: Bool
  /// Which spans have their flight records captured when they end; nil: spans decide nothing.
  package var spanCapture: SpanCapture?
  package var areas: RingAreas
  /// What is wrong with the area table, as a part of a sentence; nil: nothing.
  package let areaProblem: String?
  /// Whether one bit of the file header was wrong when it was read, and was corrected.
  package let isCorrected: Bool

  package init(
    identity: SessionIdentity, geometry: RingGeometry, archiveLevel: Level = .trace,
    isChained: Bool = false, spanCapture: SpanCapture? = nil, areas: RingAreas = .usual
  ) {
    self.identity = identity
    self.geometry = geometry
    self.archiveLevel = archiveLevel
    self.isChained = isChained
    self.spanCapture = spanCapture
    self.areas = areas
    areaProblem = nil
    isCorrected = false
  }

  /// The ring's first ``RingLayout/fileHeaderSize`` bytes.
  package func encoded(pageSize: UInt32) -> [UInt8] {
    encodeFileHeader(.ring, identity, pageSize: pageSize) { out in
      geometry.encode(into: out)
      out.store(archiveLevel.rawValue, RingLayout.archiveLevel)
      out.store(UInt8(isChained ? 1 : 0), RingLayout.isChained)
      spanCapture?.encode(into: out)
    } + areas.encoded
  }

  /// Reads and checks a file header. After that, every offset of its geometry lies within the file
  /// size that the file header states, and every area lies before the dictionary. The caller
  /// compares the stated file size with the real one.
  package init(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    let (fields, isCorrected) = try readFileHeader(bytes, of: .ring) {
      (bytes) throws(FormatError) in
      (
        SessionIdentity(bytes), try RingGeometry(checking: bytes),
        Level(fromFile: bytes[RingLayout.archiveLevel]), bytes[RingLayout.isChained] != 0,
        SpanCapture(bytes)
      )
    }
    (identity, geometry, archiveLevel, isChained, spanCapture) = fields
    self.isCorrected = isCorrected
    (areas, areaProblem) = RingAreas.read(from: bytes, before: geometry.dictionaryOffset)
  }
}

/// The header of an archive.
package struct ArchiveHeader: Equatable, Sendable {
  package var identity: SessionIdentity
  /// Counts the session's archives from 1.
  package var number: UInt32
  /// When the archive was begun.
  package var created: Timestamp
  /// If its frames are chained, the head of the session's archive before it, or ``FrameHash/none``;
  /// nil: they are not chained.
  package var previousHead: FrameHash?
  /// Whether one bit of the header was wrong when it was read, and was corrected.
  package let isCorrected: Bool

  /// The archive that the header begins.
  package var id: ArchiveID { ArchiveID(session: identity.session, number: number) }

  package init(
    identity: SessionIdentity, number: UInt32, created: Timestamp, previousHead: FrameHash? = nil
  ) {
    self.identity = identity
    self.number = number
    self.created = created
    self.previousHead = previousHead
    isCorrected = false
  }

  package func encoded(pageSize: UInt32) -> [UInt8] {
    encodeFileHeader(.archive, identity, pageSize: pageSize) { out in
      out.store(number, FileHeaderLayout.archiveNumber)
      out.store(created, FileHeaderLayout.archiveCreated)
      previousHead?.encode(into: out, at: FileHeaderLayout.previousHead)
      out.store(UInt8(previousHead == nil ? 0 : 1), FileHeaderLayout.isChained)
    }
  }

  package init(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    let (fields, isCorrected) = try readFileHeader(bytes, of: .archive) { bytes in
      (
        SessionIdentity(bytes), bytes.load(FileHeaderLayout.archiveNumber, as: UInt32.self),
        bytes.load(FileHeaderLayout.archiveCreated, as: Timestamp.self),
        bytes[FileHeaderLayout.isChained] == 0
          ? nil : FrameHash(bytes, at: FileHeaderLayout.previousHead)
      )
    }
    (identity, number, created, previousHead) = fields
    self.isCorrected = isCorrected
  }
}
