import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogSystem

/// Whole archives to any server that takes PUT, as `mmlog-receive` does: each as it is, to the URL
/// with its name behind it, with `If-None-Match: *`, so that nothing is overwritten.
///
/// The headers `Mmlog-Crc32c`, `Mmlog-Session` and others say what it is. A server that has a file
/// of the name answers 412; where that has the same size, it is the same.
package final class PutDestination: ArchiveDestination {
  private let receiver: Receiver
  private let url: String

  /// Names a server by the URL that names of archives are put behind.
  package init(url: String, settings: HTTPSettings = HTTPSettings()) {
    self.url = url.hasSuffix("/") ? url : url + "/"
    receiver = Receiver(settings)
  }

  package func send(_ archive: SealedArchive) async throws -> String? {
    let upload = try ArchiveUpload(archive)
    let target = url + archive.info.fileName.percentEncoded
    let checksum = String(upload.checksum, radix: 16)
    let headers =
      [("Content-Type", "application/octet-stream"), ("If-None-Match", "*")]
      + [("Mmlog-Crc32c", String(repeating: "0", count: 8 - checksum.count) + checksum)]
      + ArchiveUpload.metadata(of: archive, prefix: "Mmlog-")
    let response = try await receiver.send(
      HTTPRequest(
        "PUT", target, headers: headers, body: .file(path: upload.path, range: 0..<upload.size)))
    if response.status == 412 { return try await receiptOfExisting(target, upload, checksum) }
    guard response.isSuccess else { throw response.error(from: target) }
    return Self.receipt(response, checksum)
  }

  package func check() async throws {
    let response = try await receiver.send(HTTPRequest("HEAD", url))
    // Whether there is something to get does not matter.
    if [401, 403, 407].contains(response.status) || response.status >= 500 {
      throw response.error(from: url)
    }
  }

  private func receiptOfExisting(
    _ target: String, _ upload: ArchiveUpload, _ checksum: String
  ) async throws -> String? {
    let response = try await receiver.send(HTTPRequest("HEAD", target))
    guard response.isSuccess else { throw response.error(from: target) }
    guard response.header("content-length").flatMap(Int.init) == upload.size else {
      throw DeliveryError.refused("\(target) is there already, and is not this archive")
    }
    return Self.receipt(response, checksum)
  }

  private static func receipt(_ response: HTTPResponse, _ checksum: String) -> String {
    let tag = response.header("etag").map { " etag=\($0.excerpt)" } ?? ""
    return "crc32c=\(checksum)\(tag)"
  }
}
