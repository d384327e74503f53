import MMLogFormat

/// A part of a log's file that has an end of its own. Corruption is aimed at such parts.
struct FilePart: Sendable {
  enum Kind: Equatable, Sendable {
    case fileHeader
    /// A frame, with its type as it stands on disk.
    case frame(UInt8)
    case trailer
    /// A part of a ring: its file header, its dictionary or a segment that is in use.
    case area
  }

  let kind: Kind
  let range: Range<Int>
  /// The number of the archive in the file that it is a part of, from 0; 0 in a ring.
  var archive = 0

  var isFrame: Bool {
    if case .frame = kind { true } else { false }
  }

  /// The parts of a whole file, in order.
  static func all(of bytes: [UInt8], isRing: Bool) -> [FilePart] {
    bytes.withUnsafeBytes { isRing ? ofRing($0) : ofArchives($0) }
  }

  private static func ofRing(_ bytes: UnsafeRawBufferPointer) -> [FilePart] {
    guard let fileHeader = try? RingHeader(bytes) else { return [] }
    let geometry = fileHeader.geometry
    let used = (0..<geometry.segmentCount).map { geometry.offset(ofSegment: $0) }.filter {
      bytes.load($0 + SegmentLayout.generation, as: UInt64.self) != 0
    }
    return [
      FilePart(kind: .fileHeader, range: 0..<geometry.dictionaryOffset),
      FilePart(kind: .area, range: geometry.dictionaryOffset..<geometry.segmentsOffset),
    ] + used.map { FilePart(kind: .area, range: $0..<$0 + geometry.segmentSize) }
  }

  private static func ofArchives(_ bytes: UnsafeRawBufferPointer) -> [FilePart] {
    var (parts, offset, archive) = ([FilePart](), 0, -1)
    while let (kind, size) = part(UnsafeRawBufferPointer(rebasing: bytes[offset...])) {
      if kind == .fileHeader { archive += 1 }
      parts.append(FilePart(kind: kind, range: offset..<offset + size, archive: archive))
      offset += size
    }
    return parts
  }

  /// The kind and the size of the part that begins here. The file is whole but for a torn frame at
  /// its end.
  private static func part(_ rest: UnsafeRawBufferPointer) -> (Kind, Int)? {
    if begins(rest, FileHeaderLayout.archiveMagic) { return (.fileHeader, FileHeaderLayout.size) }
    if begins(rest, TrailerLayout.magicValue) { return (.trailer, TrailerLayout.size) }
    guard let header = FrameHeader.size(rest) else { return nil }
    let payload = Int(rest.load(FrameLayout.payloadSize, as: UInt32.self))
    let size = min(paddedSize(header + payload), rest.count)
    return (.frame(rest[FrameLayout.type]), size)
  }

  private static func begins(_ bytes: UnsafeRawBufferPointer, _ magic: StaticString) -> Bool {
    let magic = UnsafeRawBufferPointer(start: magic.utf8Start, count: magic.utf8CodeUnitCount)
    return bytes.starts(with: magic)
  }
}
