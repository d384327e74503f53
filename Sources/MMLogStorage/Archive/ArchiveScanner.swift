import MMLogFormat
import MMLogSystem

/// Finds what stands in an archive's file: file headers, frames and trailers whose checksums are
/// right, of whatever archive, in the order of the file.
///
/// The length in a frame's header is believed if that frame has to come next. Of any other frame,
/// such as the beginning of a block in a wrong place, the payload must be there, too: otherwise
/// what stands behind the header would be passed over.
final class ArchiveScanner {
  let file: File
  private(set) var size = 0
  /// The elements that were found and that no archive has taken yet.
  private(set) var elements: [ArchiveElement] = []
  /// Where the last element ends: where the search goes on when the file has grown.
  private(set) var end = 0
  private var window = FileWindow(size: 0)
  private var budget = CheckBudget(0)
  /// The frame that has to come next of the archive that stands here.
  private var expected: (archive: ArchiveID, ordinal: UInt64)?
  private var isBehindTrailer = true

  init(_ file: consuming File) { self.file = file }

  /// Finds the elements of the file, or those that were added to it.
  ///
  /// - Returns: False if the file's size is the same as before.
  /// - Complexity: O(elements) if nothing is corrupted; bounded by the file's size otherwise.
  @discardableResult
  func scan() throws(SystemError) -> Bool {
    // Small enough that sums with offsets near it do not overflow.
    let newSize = min(try file.status().size, 1 << 62)
    if newSize == size { return false }
    (size, window, budget) = (newSize, FileWindow(size: newSize), CheckBudget(newSize))
    var offset = end
    while offset < size {
      if let found = try element(at: offset) {
        take(found)
        offset = end
      } else {
        offset = try nextMarker(behind: offset)
      }
    }
    return true
  }

  /// Takes out the elements that were found, up to and including the first one that `isLast` is
  /// true for.
  func takeElements(upTo isLast: (ArchiveElement) -> Bool = { _ in false }) -> [ArchiveElement] {
    let end = elements.firstIndex(where: isLast).map { $0 + 1 } ?? elements.endIndex
    defer { elements.removeFirst(end) }
    return Array(elements[..<end])
  }

  /// `count` bytes at an offset, or nil if the file ends before.
  func bytes(at offset: Int, count: Int) throws(SystemError) -> ArraySlice<UInt8>? {
    try window.bytes(file, offset, count)
  }

  /// The bytes of elements, with the zeros behind the last payload that the file may lack.
  func bytes(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
    var bytes = try file.bytes(at: range.lowerBound, count: range.count)
    let missing = range.count - bytes.count
    if range.upperBound == end, 0..<wordSize ~= missing {
      bytes += repeatElement(0, count: missing)
    }
    return bytes
  }

  /// Whether a frame's payload is what its header says.
  func hasPayload(_ header: FrameHeader, at offset: Int) throws(SystemError) -> Bool {
    let stored = try file.bytes(at: offset + header.headerSize, count: header.payloadSize)
    return stored.count == header.payloadSize
      && stored.withUnsafeBytes { crc32c($0) } == header.payloadChecksum
  }

  private func take(_ element: ArchiveElement) {
    elements.append(element)
    end = element.end
    isBehindTrailer = element.isTrailer
    switch element.kind {
    case .fileHeader(let fileHeader): expected = (fileHeader.id, 0)
    // A frame of another archive got there by a fault. The one behind it may be there in part only.
    case .frame(let header) where expected.map { $0.archive != header.archive } ?? false: break
    case .frame(let header): expected = (header.archive, header.ordinal &+ 1)
    case .trailer: expected = nil
    }
  }

  // MARK: - Elements

  private static let trailerMarker = word(TrailerLayout.magicValue)
  private static let fileHeaderMarker = word(FileHeaderLayout.archiveMagic)

  private static func word(_ magic: StaticString) -> UInt64 {
    magic.withUTF8Buffer { UnsafeRawBufferPointer($0).load(0, as: UInt64.self) }
  }

  private func element(at offset: Int) throws(SystemError) -> ArchiveElement? {
    guard let bytes = try bytes(at: offset, count: wordSize) else { return nil }
    switch bytes.withUnsafeBytes({ $0.load(0, as: UInt64.self) }) {
    case FrameLayout.markerValue: return try frame(at: offset)
    case Self.trailerMarker: return try trailer(at: offset)
    case Self.fileHeaderMarker: return try fileHeader(at: offset)
    // Where a file header has to be, one bit of its marker may be wrong.
    default: return offset == end && isBehindTrailer ? try fileHeader(at: offset) : nil
    }
  }

  private func fileHeader(at offset: Int) throws(SystemError) -> ArchiveElement? {
    let size = FileHeaderLayout.size
    guard budget.spend(size), let bytes = try bytes(at: offset, count: size),
      let fileHeader = bytes.withUnsafeBytes({ try? ArchiveHeader($0) })
    else { return nil }
    return ArchiveElement(kind: .fileHeader(fileHeader), offset: offset, size: size)
  }

  private func trailer(at offset: Int) throws(SystemError) -> ArchiveElement? {
    let size = TrailerLayout.size
    guard let bytes = try bytes(at: offset, count: size),
      let trailer = bytes.withUnsafeBytes({ Trailer($0) })
    else { return nil }
    return ArchiveElement(kind: .trailer(trailer), offset: offset, size: size)
  }

  private func frame(at offset: Int) throws(SystemError) -> ArchiveElement? {
    // Bytes of zero behind the payload may be missing at the end of the file.
    guard let header = try frameHeader(at: offset),
      header.headerSize + header.payloadSize <= size - offset
    else { return nil }
    let isExpected = expected.map { $0 == (header.archive, header.ordinal) } ?? false
    if !isExpected {
      guard budget.spend(header.payloadSize), try hasPayload(header, at: offset) else {
        return nil
      }
    }
    return ArchiveElement(kind: .frame(header), offset: offset, size: header.frameSize)
  }

  /// The header of a frame at an offset, however long the header is; nil if it is not right.
  func frameHeader(at offset: Int) throws(SystemError) -> FrameHeader? {
    guard let fixed = try bytes(at: offset, count: FrameLayout.size),
      let size = fixed.withUnsafeBytes({ FrameHeader.size($0) }), budget.spend(size),
      let whole = try bytes(at: offset, count: size)
    else { return nil }
    return whole.withUnsafeBytes { FrameHeader($0) }
  }

  /// The offset of what may be the next element, or the file's end.
  private func nextMarker(behind offset: Int) throws(SystemError) -> Int {
    var offset = offset + wordSize
    let step = 1 << 16
    while offset < size {
      let count = min(step, size - offset) & ~(wordSize - 1)
      guard count > 0, let bytes = try bytes(at: offset, count: count) else { return size }
      let found = bytes.withUnsafeBytes { bytes in
        stride(from: 0, to: bytes.count, by: wordSize).first {
          let word = bytes.load($0, as: UInt64.self)
          return word == FrameLayout.markerValue || word == Self.trailerMarker
            || word == Self.fileHeaderMarker
        }
      }
      if let found { return offset + found }
      offset += count
      // A file of nothing but a hole may be larger than any disk.
      if bytes.allSatisfy({ $0 == 0 }) {
        guard let data = try file.nextData(from: offset) else { return size }
        offset = max(offset, data & ~(wordSize - 1))
      }
    }
    return size
  }
}
