import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogStorage
import MMLogSystem

/// Whole archives to S3, or to what speaks its protocol: each an object, signed with Signature
/// Version 4, with its CRC32C, which the server verifies, and with `If-None-Match: *`, so that
/// nothing is overwritten.
///
/// An archive above 64 MiB goes in parts of 16 MiB. After a crash, the upload that is under way is
/// found at the server, and goes on behind the parts that are there.
package final class S3Destination: ArchiveDestination {
  /// Larger archives go in parts.
  private let multipartSize: Int
  private let partSize: Int
  private let receiver: Receiver
  /// The bucket's URL, with a slash at the end.
  private let bucket: String
  private let prefix: String

  /// Names a bucket.
  ///
  /// - Parameters:
  ///   - bucket: Its URL, such as `https://logs.s3.eu-central-1.amazonaws.com`, or
  ///     `https://minio:9000/logs`.
  ///   - prefix: What names of objects begin with. After it come service and host, as a receiver
  ///     has them for names of folders, and the archive's name, with slashes between them.
  ///   - multipartSize: Larger archives go in parts. Default: 64 MiB.
  ///   - partSize: The size of a part; 5 MiB is the smallest that S3 takes. Default: 16 MiB.
  package init(
    bucket: String, prefix: String = "", multipartSize: Int = 64 << 20, partSize: Int = 16 << 20,
    settings: HTTPSettings
  ) {
    self.bucket = bucket.hasSuffix("/") ? bucket : bucket + "/"
    self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
    (self.multipartSize, self.partSize) = (multipartSize, partSize)
    receiver = Receiver(settings)
  }

  package func send(_ archive: SealedArchive) async throws -> String? {
    let upload = try await ArchiveUpload(archive)
    let (identity, file) = (archive.identity, archive.info.fileName)
    let folders = "\(FileNames.folder(identity.storeName))/\(FileNames.folder(identity.hostName))"
    let key = "\(prefix)\(folders)/\(file)"
    let parts = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let url = bucket + parts.map { String(Substring($0)).percentEncoded }.joined(separator: "/")
    let metadata = ArchiveUpload.metadata(of: archive, prefix: "x-amz-meta-mmlog-")
    let response =
      upload.size > multipartSize
      ? try await sendParts(upload, url, key, metadata)
      : try await request(
        "PUT", url,
        headers: [
          ("If-None-Match", "*"),
          ("x-amz-checksum-crc32c", ArchiveChecksum.base64(upload.checksum)),
        ] + metadata, body: upload.body(0..<upload.size))
    if response.status == 412 { return try await receiptOfExisting(url, upload) }
    try check(response, url)
    return receipt(response, upload)
  }

  package func check() async throws {
    let url = "\(bucket)?list-type=2&max-keys=0&prefix=\(prefix.percentEncoded)"
    try check(try await request("GET", url), url)
  }

  // MARK: - In parts

  private func sendParts(
    _ upload: ArchiveUpload, _ url: String, _ key: String,
    _ metadata: [(name: String, value: String)]
  ) async throws -> HTTPResponse {
    // Else all of it would go before the server says so.
    let present = try await request("HEAD", url)
    if present.isSuccess { return HTTPResponse(status: 412) }
    let old = try await uploadUnderWay(key)
    let id = if let old { old } else { try await begin(url, metadata) }
    let known = old == nil ? [:] : try await parts(url, id)
    // The service takes 10,000 parts.
    let partSize = max(partSize, (upload.size + 9_999) / 10_000)
    var list = ""
    for (index, start) in stride(from: 0, to: upload.size, by: partSize).enumerated() {
      let range = start..<min(start + partSize, upload.size)
      let number = index + 1
      let checksum = ArchiveChecksum.base64(try await upload.checksum(range))
      let tag: String
      if let part = known[number], part.size == range.count, part.checksum == checksum {
        tag = part.tag
      } else {
        let target = "\(url)?partNumber=\(number)&uploadId=\(id)"
        tag = try await send(upload.body(range), checksum, target)
      }
      list +=
        "<Part><PartNumber>\(number)</PartNumber><ETag>\(tag)</ETag>"
        + "<ChecksumCRC32C>\(checksum)</ChecksumCRC32C></Part>"
    }
    let response = try await complete(url, id, list)
    // Another was first: the parts are nobody's.
    if response.status == 412 { _ = try await request("DELETE", "\(url)?uploadId=\(id)") }
    return response
  }

  private func send(
    _ part: HTTPRequest.Body, _ checksum: String, _ url: String
  ) async throws -> String {
    let response = try await request(
      "PUT", url, headers: [("x-amz-checksum-crc32c", checksum)], body: part)
    try check(response, url)
    guard let tag = response.header("etag") else {
      throw DeliveryError.unavailable("\(url.withoutQuery) answers to a part without its ETag")
    }
    return tag
  }

  private func begin(
    _ url: String, _ metadata: [(name: String, value: String)]
  ) async throws -> String {
    let response = try await request(
      "POST", "\(url)?uploads=", headers: [("x-amz-checksum-algorithm", "CRC32C")] + metadata)
    try check(response, url)
    guard let id = response.text.elements("UploadId").first else {
      throw DeliveryError.unavailable("\(url) does not say under which id parts are sent")
    }
    return String(id).percentEncoded
  }

  /// The upload of an earlier process that has not been completed.
  private func uploadUnderWay(_ key: String) async throws -> String? {
    let url = "\(bucket)?prefix=\(key.percentEncoded)&uploads="
    let response = try await request("GET", url)
    // Who may not ask begins a new one.
    if response.status == 403 { return nil }
    try check(response, url)
    return response.text.elements("Upload").last { upload in
      upload.elements("Key").first?.unescapingXML.utf8.elementsEqual(key.utf8) == true
    }?.elements("UploadId").first.map { String($0).percentEncoded }
  }

  private struct Part {
    let size: Int
    let tag: String
    let checksum: String
  }

  private func parts(_ url: String, _ id: String) async throws -> [Int: Part] {
    var parts: [Int: Part] = [:]
    var last = 0
    while true {
      let page = "\(url)?part-number-marker=\(last)&uploadId=\(id)"
      let response = try await request("GET", page)
      if response.status == 403 { return parts }
      try check(response, url)
      let before = parts.count
      for part in response.text.elements("Part") {
        guard let number = part.elements("PartNumber").first.flatMap({ Int($0) }),
          let size = part.elements("Size").first.flatMap({ Int($0) }),
          let tag = part.elements("ETag").first
        else { continue }
        // Without a checksum, nobody knows what is in it: it goes once more.
        let checksum = part.elements("ChecksumCRC32C").first.map(String.init) ?? ""
        parts[number] = Part(size: size, tag: tag.unescapingXML, checksum: checksum)
        last = max(last, number)
      }
      guard response.text.elements("IsTruncated").first == "true", parts.count > before else {
        return parts
      }
    }
  }

  private func complete(_ url: String, _ id: String, _ list: String) async throws -> HTTPResponse {
    let body = "<CompleteMultipartUpload>\(list)</CompleteMultipartUpload>"
    let response = try await request(
      "POST", "\(url)?uploadId=\(id)",
      headers: [("If-None-Match", "*"), ("Content-Type", "application/xml")],
      body: .bytes(Array(body.utf8)))
    // What goes wrong late comes with status 200.
    if response.isSuccess, response.text.contains("<Error>") {
      throw DeliveryError.unavailable("\(url): \(response.text.excerpt)")
    }
    return response
  }

  // MARK: - Answers

  /// SHA-256 of no bytes.
  private static let digestOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  private func request(
    _ method: String, _ url: String, headers: [(name: String, value: String)] = [],
    body: HTTPRequest.Body = .none
  ) async throws -> HTTPResponse {
    // Amazon wants it with each request, and not every libcurl adds it. The connection or the
    // checksum protects a body; its hash would be known too late.
    let digest = if case .none = body { Self.digestOfNothing } else { "UNSIGNED-PAYLOAD" }
    let headers = headers + [("x-amz-content-sha256", digest)]
    return try await receiver.send(HTTPRequest(method, url, headers: headers, body: body))
  }

  private func check(_ response: HTTPResponse, _ url: String) throws(DeliveryError) {
    if response.isSuccess { return }
    let code = response.text.elements("Code").first ?? ""
    let message = response.text.elements("Message").first ?? ""
    let words = code.isEmpty ? nil : "\(code): \(message)"
    switch code {
    // Something happened to the bytes on their way, or to the upload; and other clocks.
    case "BadDigest", "RequestTimeout", "NoSuchUpload", "InvalidPart", "OperationAborted",
      "ConditionalRequestConflict", "XAmzContentChecksumMismatch", "IncompleteBody":
      throw .unavailable("\(url.withoutQuery) answers \(response.status) \(words ?? "")")
    case "RequestTimeTooSkewed":
      throw .blocked("\(url.withoutQuery): \(words ?? ""); set this machine's clock")
    case "NotImplemented":
      throw .blocked("\(url.withoutQuery): \(words ?? "")")
    // Keys that are valid for some hours: others will be in their file.
    case "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestExpired":
      throw .blocked("\(url.withoutQuery): \(words ?? ""); renew the keys and their token")
    // To HEAD, S3 says so of credentials, and gives no reason.
    case "" where response.status == 400 && response.body.isEmpty:
      throw .blocked("\(url.withoutQuery) answers 400 without a reason; check keys and token")
    case "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed",
      "InvalidBucketName", "IllegalLocationConstraintException":
      throw .blocked("\(url.withoutQuery): \(words ?? ""); check keys, region and bucket")
    default: throw response.error(from: url, words)
    }
  }

  private func receiptOfExisting(_ url: String, _ upload: ArchiveUpload) async throws -> String? {
    let response = try await request(
      "HEAD", url, headers: [("x-amz-checksum-mode", "ENABLED")])
    try check(response, url)
    let checksum = response.header("x-amz-checksum-crc32c")
    // Of an object in parts, it is a checksum of checksums.
    let isSame =
      checksum == nil || checksum?.contains("-") == true || upload.size > multipartSize
      || checksum == ArchiveChecksum.base64(upload.checksum)
    guard isSame, response.header("content-length").flatMap(Int.init) == upload.size else {
      throw DeliveryError.refused("\(url) is there already, and is not this archive")
    }
    return receipt(response, upload)
  }

  private func receipt(_ response: HTTPResponse, _ upload: ArchiveUpload) -> String {
    let tag = response.header("etag") ?? response.text.elements("ETag").first.map(String.init)
    let version = response.header("x-amz-version-id")
    return "crc32c=\(ArchiveChecksum.base64(upload.checksum))"
      + (tag.map { " etag=\($0.unescapingXML.excerpt)" } ?? "")
      + (version.map { " version=\($0.excerpt)" } ?? "")
  }
}

// By bytes: `>` or `;` may be one character with what is behind it.
extension StringProtocol {
  /// What stands between the tags of each element of a name: the answers of S3 have neither
  /// attributes nor an element in one of the same name.
  fileprivate func elements(_ name: String) -> [Substring] {
    var (found, rest) = ([Substring](), Substring(self).utf8)
    while let start = rest.firstRange(of: "<\(name)>".utf8),
      let end = rest[start.upperBound...].firstRange(of: "</\(name)>".utf8)
    {
      found.append(Substring(rest[start.upperBound..<end.lowerBound]))
      rest = rest[end.upperBound...]
    }
    return found
  }

  fileprivate var unescapingXML: String {
    let entities = [
      ("&quot;", "\""), ("&#34;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"),
    ]
    let bytes = entities.reduce(Array(utf8)) { $0.replacing($1.0.utf8, with: $1.1.utf8) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
