import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogSystem

/// What is known of an archive before it is sent: its bytes' checksum, and what its headers say.
struct ArchiveUpload {
  let path: String
  let size: Int
  let checksum: UInt32

  /// Reads the whole archive once.
  ///
  /// - Throws: ``SystemError`` where it cannot be read.
  init(_ archive: SealedArchive) async throws {
    path = archive.info.path
    size = archive.info.size
    checksum = try await Self.checksum(ofFile: path, 0..<size)
  }

  /// The CRC32C of a part of a file.
  ///
  /// - Throws: ``SystemError`` where it cannot be read.
  static func checksum(ofFile path: String, _ range: Range<Int>) async throws -> UInt32 {
    try await onOwnThread("mmlog-checksum") { _ in try readChecksum(ofFile: path, range) }
  }

  private static func readChecksum(
    ofFile path: String, _ range: Range<Int>
  ) throws(SystemError) -> UInt32 {
    let file = try File.openFollowingLinks(path)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var (state, place) = (UInt32.max, range.lowerBound)
    while place < range.upperBound {
      let wanted = min(buffer.count, range.upperBound - place)
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
      let count = try file.readFully(into: part, at: place)
      if count == 0 { break }
      state = crc32cState(state, UnsafeRawBufferPointer(rebasing: part[..<count]))
      place += count
    }
    return ~state
  }

  /// What is known of an archive, as headers, each name with a prefix. Values are ASCII.
  static func metadata(
    of archive: SealedArchive, prefix: String
  ) -> [(name: String, value: String)] {
    let (info, identity) = (archive.info, archive.identity)
    var all = [
      ("service", identity.storeName), ("host", identity.hostName),
      ("session", info.session.description), ("archive", "\(info.number)"),
      ("process", identity.processName), ("pid", "\(identity.processID)"),
    ]
    if let contents = info.contents {
      all.append(("records", "\(contents.count)"))
      if let times = contents.times {
        all.append(("first-time", times.lowerBound.description))
        all.append(("last-time", times.upperBound.description))
      }
    }
    if let head = info.head { all.append(("head", head.description)) }
    return all.map { ("\(prefix)\($0)", $1.headerValue) }
  }
}

extension UInt32 {
  /// The four bytes, the highest first, in base64, as S3 has checksums.
  var base64: String {
    var output = TextBuffer()
    Swift.withUnsafeBytes(of: bigEndian) { output.append(base64: $0) }
    return output.text()
  }
}

extension String {
  /// With `%` and two digits for all that is no visible ASCII.
  fileprivate var headerValue: String {
    utf8.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "%") } ? self : percentEncoded
  }
}
