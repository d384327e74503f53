import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogStorage
import MMLogSystem

/// Sends whole archives to any server that takes PUT, such as `mmlog-receive`. Each archive goes as
/// it is to the URL with the archive's name behind it, with its CRC32C as `Repr-Digest` (RFC 9530),
/// and with `If-None-Match: *`, so that nothing is overwritten.
///
/// The headers `Mmlog-Session` and others describe the archive. A server that has a file of the
/// name answers 412; if that file has the same size, it counts as the same archive. An upload that
/// was cut goes on where it ended, if the server says where by `Upload-Offset`, as `mmlog-receive`
/// does.
package final class PutDestination: ArchiveDestination {
  private let receiver: Receiver
  private let url: String
  /// Before an archive of this size or more is sent, the server is asked what it has of it.
  private let resumeSize: Int

  /// How often an archive that is damaged on its way is sent.
  private static let tries = 3

  /// What a server answers to bytes that do not have their checksum.
  private static let damaged = [400, 422]

  /// Names a server by the URL behind which the names of archives are put.
  ///
  /// - Parameter resumeSize: The size from which it is worth asking whether a part of an archive is
  ///   there. Default: 1 MiB.
  package init(
    url: String, resumeSize: Int = 1 << 20, settings: HTTPSettings = HTTPSettings()
  ) {
    self.url = url.hasSuffix("/") ? url : url + "/"
    self.resumeSize = resumeSize
    receiver = Receiver(settings)
  }

  package func send(_ archive: SealedArchive) async throws -> String? {
    let upload = try await ArchiveUpload(archive)
    let target = url + archive.info.fileName.percentEncoded
    let headers =
      [("Content-Type", "application/octet-stream")]
      + [("Repr-Digest", ArchiveChecksum.digest(upload.checksum))]
      + ArchiveUpload.metadata(of: archive, prefix: "Mmlog-")
    // A server that does not answer HEAD may take PUT.
    let begun = upload.size < resumeSize ? nil : Present(try await head(target))
    var response: HTTPResponse?
    if let begun, !begun.isComplete, 1..<upload.size ~= begun.size {
      response = try await put(upload, from: begun.size, target, headers)
      // The part that the server has is of another file, or is gone.
      if let status = response?.status, (Self.damaged + [409, 416]).contains(status) {
        response = nil
      }
    }
    let answer =
      if let response { response } else { try await putWhole(upload, target, headers) }
    if answer.status == 412 { return try await settle(upload, target, headers) }
    try check(answer, target)
    return Self.receipt(answer, upload)
  }

  package func check() async throws {
    let response = try await receiver.send(HTTPRequest("HEAD", url))
    // It does not matter whether there is something to get.
    if [401, 403, 407].contains(response.status) || response.status >= 500 {
      throw response.error(from: url)
    }
  }

  /// Sends all of an archive, and again if it was damaged on its way. If the server says so each
  /// time, the archive is damaged here, or the server means something else.
  private func putWhole(
    _ upload: ArchiveUpload, isNew: Bool = true, _ target: String,
    _ headers: [(name: String, value: String)]
  ) async throws -> HTTPResponse {
    var answer = try await put(upload, from: 0, isNew: isNew, target, headers)
    for _ in 1..<Self.tries where Self.damaged.contains(answer.status) {
      // An error that somebody has to act on is not about the bytes.
      if case .waitForAction = answer.error(from: target).remedy { break }
      answer = try await put(upload, from: 0, isNew: isNew, target, headers)
    }
    return answer
  }

  private func put(
    _ upload: ArchiveUpload, from start: Int, isNew: Bool = true, _ target: String,
    _ headers: [(name: String, value: String)]
  ) async throws -> HTTPResponse {
    var headers = headers
    if isNew { headers.append(("If-None-Match", "*")) }
    if start > 0 {
      headers.append(("Content-Range", "bytes \(start)-\(upload.size - 1)/\(upload.size)"))
    }
    return try await receiver.send(
      HTTPRequest(
        "PUT", target, headers: headers, body: upload.body(start..<upload.size)))
  }

  /// What a server has of a file.
  private struct Present {
    let size: Int
    /// False if the rest is missing.
    let isComplete: Bool
    /// Whether the server knows that the file is an archive, and can go on with it.
    let isArchive: Bool
    let answer: HTTPResponse

    /// Reads an answer to HEAD; nil if the answer is not a success.
    init?(_ answer: HTTPResponse) {
      guard answer.isSuccess else { return nil }
      let complete = answer.header("upload-complete")
      let count = answer.header(complete == nil ? "content-length" : "upload-offset")
      size = count.flatMap(Int.init) ?? 0
      (isComplete, isArchive) = (complete != "?0", complete != nil)
      self.answer = answer
    }
  }

  private func head(_ target: String) async throws -> HTTPResponse {
    try await receiver.send(HTTPRequest("HEAD", target))
  }

  /// Finds out what is stored under the archive's name.
  private func settle(
    _ upload: ArchiveUpload, _ target: String, _ headers: [(name: String, value: String)]
  ) async throws -> String? {
    let answer = try await head(target)
    guard let present = Present(answer) else {
      let answers = "412 to PUT and \(answer.status) to HEAD"
      // Somebody may have removed the file in between.
      if answer.status == 404 { throw DeliveryError.unavailable("\(target) answers \(answers)") }
      let error = answer.error(from: target, answers: answers)
      // The answer to HEAD says nothing about the archive.
      if case .tryAgain = error.remedy { throw error }
      throw DeliveryError.blocked(error.message)
    }
    // Another session may have gone on with the archive. A server that knows archives takes this
    // one if it begins with what is stored.
    if present.isArchive {
      let answer = try await putWhole(upload, isNew: false, target, headers)
      try check(answer, target)
      return Self.receipt(answer, upload)
    }
    guard present.size == upload.size else {
      throw DeliveryError.refused("\(target) is there already, and is not this archive")
    }
    return Self.receipt(present.answer, upload)
  }

  private func check(_ response: HTTPResponse, _ target: String) throws {
    if response.isSuccess, response.status != 202 { return }
    if response.status == 202 {
      throw DeliveryError.unavailable("\(target) answers 202: it does not have all of it yet")
    }
    let error = response.error(from: target)
    if response.status == 409, response.header("retry-after") == nil {
      throw DeliveryError.refused(error.message)
    }
    if response.status == 413 {
      throw DeliveryError.tooLarge(
        "\(error.message); raise what it takes (nginx: client_max_body_size, mmlog-receive: "
          + "--max-archive)")
    }
    throw error
  }

  private static func receipt(_ response: HTTPResponse, _ upload: ArchiveUpload) -> String {
    let tag = response.header("etag").map { " etag=\($0.excerpt)" } ?? ""
    return "crc32c=\(ArchiveChecksum.base64(upload.checksum))\(tag)"
  }
}
