package import MMLogFormat
import MMLogSystem

/// What follows the last element of an archive's file.
package enum ArchiveTail: Equatable, Sendable {
  case nothing
  /// The beginning of a frame that was being written when its process died, with its header if that
  /// is whole; or bytes that never reached the disk.
  case frame(Range<Int>, FrameHeader?)
  /// Behind a trailer, the beginning of another archive's header, or bytes that never reached the
  /// disk.
  case fileHeader(Range<Int>)
  case corrupted(Corruption)

  /// Bytes that are neither.
  package var corruption: Corruption? {
    if case .corrupted(let corruption) = self { corruption } else { nil }
  }

  /// How many bytes of an unfinished frame there are.
  package var tornBytes: Int {
    if case .frame(let range, _) = self { range.count } else { 0 }
  }
}

extension ArchiveScanner {
  /// What the file has from an offset on, behind its last element.
  ///
  /// - Parameter archive: The archive that would go on there; nil if it was closed.
  func tail(from start: Int, behind archive: ArchiveID?) throws(SystemError) -> ArchiveTail {
    // Somebody may have cut the file since its frames were found.
    if start >= size { return .nothing }
    let rest = start..<size
    // Whether elements that stand there by a fault were found, and passed over.
    let isKnown = end > start
    guard let archive else {
      let isFileHeader = try isTornFileHeader(rest)
      if isFileHeader && !isKnown { return .fileHeader(rest) }
      return .corrupted(Corruption(rest, "behind the end of the archive", in: file.path))
    }
    let corrupted = ArchiveTail.corrupted(
      Corruption(rest, "behind the last frame", in: file.path))
    if isKnown { return corrupted }
    guard let fixed = try bytes(at: start, count: FrameLayout.size) else {
      return .frame(rest, nil)
    }
    if fixed.prefix(wordSize).allSatisfy({ $0 == 0 }) { return .frame(rest, nil) }
    guard let size = fixed.withUnsafeBytes({ FrameHeader.size($0) }) else { return corrupted }
    guard let whole = try bytes(at: start, count: size) else { return .frame(rest, nil) }
    guard let header = whole.withUnsafeBytes({ FrameHeader($0) }), header.archive == archive,
      header.headerSize + header.payloadSize > rest.count
    else { return corrupted }
    return .frame(rest, header)
  }

  private func isTornFileHeader(_ rest: Range<Int>) throws(SystemError) -> Bool {
    let count = min(wordSize, rest.count)
    guard let bytes = try bytes(at: rest.lowerBound, count: count) else { return true }
    if bytes.allSatisfy({ $0 == 0 }) { return true }
    let isBeginning = FileHeaderLayout.archiveMagic.withUTF8Buffer {
      bytes.elementsEqual($0.prefix(count))
    }
    return isBeginning && rest.count < FileHeaderLayout.size
  }

  /// Why the file header that the file begins with cannot be read; nil if it can.
  ///
  /// - Throws: ``FormatError`` if it is of another version: then nothing of the file can be read.
  func problemOfFirstFileHeader() throws -> FormatError? {
    let bytes = try file.bytes(at: 0, count: FileHeaderLayout.size)
    do {
      _ = try bytes.withUnsafeBytes { try ArchiveHeader($0) }
      return nil
    } catch let error as FormatError {
      if error == .newerFormat || error == .olderFormat { throw error }
      return error
    }
  }
}
