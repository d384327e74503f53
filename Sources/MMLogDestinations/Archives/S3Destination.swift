import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogStorage
import MMLogSystem

/// Sends whole archives to S3, or to a server with the same protocol. Each archive becomes an
/// object. Its request is signed with Signature Version 4, and has the CRC32C, which the server
/// verifies, and `If-None-Match: *`, so that nothing is overwritten.
///
/// An archive above 64 MiB goes in parts of 16 MiB. After a crash, the destination finds the
/// unfinished upload at the server, and sends only the parts that are missing.
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
  ///   - bucket: The bucket's URL, such as `https://logs.s3.eu-central-1.amazonaws.com`, or
  ///     `https://minio:9000/logs`.
  ///   - prefix: How the names of objects begin. Behind the prefix come service and host, as a
  ///     receiver names folders after them, and the archive's name, with slashes between them.
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
    // Without this, all parts would be sent before the server says that it has the object.
    let present = try await request("HEAD", url)
    if present.isSuccess { return HTTPResponse(status: 412) }
    let old = try await uploadUnderWay(key)
    let id = if let old { old } else { try await begin(url, metadata) }
    let known = old == nil ? [:] : try await parts(url, id)
    // The service takes at most 10,000 parts.
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
    // Another shipper was first: nobody needs these parts.
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

  /// Returns the id of an upload that an earlier process has not completed.
  private func uploadUnderWay(_ key: String) async throws -> String? {
    let url = "\(bucket)?prefix=\(key.percentEncoded)&uploads="
    let response = try await request("GET", url)
    // Without permission to ask, a new upload is begun.
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
        // Without a checksum, nobody knows what is in the part: it is sent again.
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
    // An error that occurs late comes with status 200.
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
    // Amazon wants this header with each request, and not every libcurl adds it. The hash of a body
    // would be known too late; the connection or the checksum protects the body.
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
    // Something happened to the bytes on their way, or to the upload.
    case "BadDigest", "RequestTimeout", "NoSuchUpload", "InvalidPart", "OperationAborted",
      "ConditionalRequestConflict", "XAmzContentChecksumMismatch", "IncompleteBody":
      throw .unavailable("\(url.withoutQuery) answers \(response.status) \(words ?? "")")
    case "RequestTimeTooSkewed":
      throw .blocked("\(url.withoutQuery): \(words ?? ""); set this machine's clock")
    case "NotImplemented":
      throw .blocked("\(url.withoutQuery): \(words ?? "")")
    // The keys were valid for some hours: their file will have new ones.
    case "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestExpired":
      throw .blocked("\(url.withoutQuery): \(words ?? ""); renew the keys and their token")
    // S3 answers HEAD with bad credentials like this, and gives no reason.
    case "" where response.status == 400 && response.body.isEmpty:
      throw .blocked("\(url.withoutQuery) answers 400 without a reason; check keys and token")
    case "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed",
      "InvalidBucketName", "IllegalLocationConstraintException":
      throw .blocked("\(url.withoutQuery): \(words ?? ""); check keys, region and bucket")
    // With anything else, the request, the bucket or its key is wrong, and each archive would get
    // the same answer.
    case let code where response.status == 400 && !Self.aboutObjects.contains(String(code)):
      throw .blocked("\(url.withoutQuery) answers 400 \(words ?? response.text.excerpt)")
    default: throw response.error(from: url, words)
    }
  }

  /// What status 400 says about an object. The names of `KeyTooLong` and `XMinioInvalidObjectName`
  /// are those of other servers than Amazon's.
  private static let aboutObjects = [
    "EntityTooLarge", "EntityTooSmall", "KeyTooLongError", "KeyTooLong", "MetadataTooLarge",
    "InvalidURI", "XMinioInvalidObjectName",
  ]

  private func receiptOfExisting(_ url: String, _ upload: ArchiveUpload) async throws -> String? {
    let response = try await request(
      "HEAD", url, headers: [("x-amz-checksum-mode", "ENABLED")])
    // Somebody may have removed the object in between.
    if response.status == 404 {
      throw DeliveryError.unavailable("\(url) answers 412 to PUT and 404 to HEAD")
    }
    try check(response, url)
    let checksum = response.header("x-amz-checksum-crc32c")
    // For an object in parts, the server has a checksum of checksums.
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

// These work on bytes: `>` or `;` may form one character with what follows.
extension StringProtocol {
  fileprivate var unescapingXML: String {
    let entities = [
      ("&quot;", "\""), ("&#34;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"),
    ]
    let bytes = entities.reduce(Array(utf8)) { $0.replacing($1.0.utf8, with: $1.1.utf8) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
