import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem

/// What is known of an archive before it is sent: its bytes' checksum, and what its headers say.
///
/// The file is opened once, so that the bytes that were checked are sent, even if another file has
/// the name by then.
struct ArchiveUpload: Sendable {
  let file: SentFile
  let size: Int
  let checksum: UInt32

  /// Opens an archive, and reads all of it once.
  ///
  /// - Throws: ``LogError`` if the archive cannot be read, or has changed since it was listed.
  init(_ archive: SealedArchive) async throws {
    file = SentFile(try Self.open(archive.info))
    size = archive.info.size
    checksum = try await Self.checksum(of: file, 0..<size)
  }

  private static func open(_ info: ArchiveInfo) throws(LogError) -> File {
    do throws(SystemError) {
      let file = try File.open(info.path, [.read, .nonBlocking])
      let status = try file.status()
      let bytes = try file.bytes(at: 0, count: FileHeaderLayout.size)
      let header = bytes.withUnsafeBytes { try? ArchiveHeader($0) }
      if status.isRegularFile, status.size == info.size, header?.identity.session == info.session {
        return file
      }
    } catch  where error.isNotFound {
      throw LogError.missingArchive(info.path)
    } catch {
      throw LogError(error, while: "Reading an archive failed")
    }
    throw LogError(
      .changedArchive, "\(info.path) is not the archive any more that was listed", path: info.path)
  }

  /// The CRC32C of a part of the archive.
  ///
  /// - Throws: ``LogError`` if the archive cannot be read.
  func checksum(_ range: Range<Int>) async throws -> UInt32 {
    try await Self.checksum(of: file, range)
  }

  private static func checksum(of file: SentFile, _ range: Range<Int>) async throws -> UInt32 {
    do {
      return try await onOwnThread("mmlog-checksum") { _ in
        ~(try file.file.checksumState(of: range))
      }
    } catch {
      throw LogError(error, while: "Reading an archive failed", path: file.file.path)
    }
  }

  /// A part of the archive as a request's body.
  func body(_ range: Range<Int>) -> HTTPRequest.Body { .file(file, range: range) }

  /// Returns what is known of an archive as headers, each name with a prefix. Values are ASCII, and
  /// none is blank: libcurl signs a header without a value, and does not send it.
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
    return all.filter { !$1.trimmed().isEmpty }.map { ("\(prefix)\($0)", $1.headerValue) }
  }
}

extension String {
  /// The text as a header's value: as it is if all of it is printable ASCII without `%`, else with
  /// percent encoding.
  fileprivate var headerValue: String {
    utf8.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "%") } ? self : percentEncoded
  }
}
