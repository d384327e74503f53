import MMLogFormat
import MMLogStorage

/// What a client asks for: the header of its request, checked.
package struct ReceiverRequest: Equatable, Sendable {
  package enum Target: Equatable, Sendable {
    /// Whether the receiver is alive.
    case health
    /// An archive, by what the client calls it.
    case archive(String)
  }

  package enum Method: String, Sendable {
    case get = "GET"
    case head = "HEAD"
    case put = "PUT"
  }

  package let method: Method
  package let target: Target
  /// How many bytes follow; nil: the client does not say.
  package let length: Int?
  /// Which part of the archive follows; nil: all of it.
  package let range: ContentRange?
  /// The CRC32C of the whole archive; nil: the client does not say.
  package let checksum: UInt32?
  /// Whether the client wants nothing to be done if an archive has the name: `If-None-Match: *`.
  package let isForNewArchive: Bool

  /// How large the whole archive is; nil if the client does not say.
  package var archiveSize: Int? { range?.total ?? length }

  /// Where in the archive the bytes that follow end; nil if the client does not say.
  package var end: Int? { range.map { $0.first + $0.count } ?? length }

  /// Reads the header of a request.
  ///
  /// - Parameters:
  ///   - path: The request's target without the query, with percent-encoding undone.
  ///   - field: Gives the value of a field by its name in lower case.
  package init(
    method: String, path: String, field: (String) -> String?
  ) throws(Refusal) {
    target = try Self.target(path)
    guard let known = Method(rawValue: method), known != .put || target != .health else {
      throw Refusal(
        .methodNotAllowed, "\(path) takes \(target == .health ? "" : "PUT, ")GET and HEAD.")
    }
    self.method = known
    let coding = field("content-encoding") ?? "identity"
    guard coding.lowercased() == "identity" else {
      throw Refusal(
        .unsupportedMediaType,
        "Archives are compressed already. Send the archive without a Content-Encoding.")
    }
    length = try field("content-length").map { (text) throws(Refusal) in
      guard let length = decimal(text[...]) else {
        throw Refusal(.badRequest, "Content-Length is no number.")
      }
      return length
    }
    range = try field("content-range").map { (text) throws(Refusal) in try ContentRange(text) }
    if let range, let length, range.count != length {
      throw Refusal(
        .badRequest,
        "Content-Range is of \(range.count) bytes, and Content-Length of \(length). Send the bytes "
          + "that Content-Range names.")
    }
    checksum = try ArchiveChecksum.value(field)
    isForNewArchive = field("if-none-match") == "*"
  }

  private static let longestName = 1024

  private static func target(_ path: String) throws(Refusal) -> Target {
    if path == "/health" { return .health }
    // This works on bytes: the slash may form one character with what follows.
    let (bytes, prefix) = (path.utf8, "/archives/".utf8)
    guard bytes.starts(with: prefix), bytes.count > prefix.count else {
      throw Refusal(
        .notFound, "There is nothing here. Archives are sent to /archives/ and a name of theirs.")
    }
    let name = Substring(bytes.dropFirst(prefix.count))
    guard name.utf8.count <= longestName,
      !name.unicodeScalars.contains(where: { $0.value < 32 || (127..<160).contains($0.value) })
    else {
      throw Refusal(
        .badRequest,
        "The archive's name is longer than \(longestName) bytes, or has control characters.")
    }
    return .archive(String(name))
  }
}

/// The part of an archive that a request has: `Content-Range: bytes 0-99/200` (RFC 9110, 14.4).
package struct ContentRange: Equatable, Sendable {
  package let first: Int
  package let count: Int
  /// How large the whole archive is.
  package let total: Int

  /// Whether the archive ends with this part.
  package var isLast: Bool { first + count == total }

  package init(_ text: String) throws(Refusal) {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bytes",
      let (range, total) = pair(parts[1], "/"), let total = decimal(total),
      let (first, last) = pair(range, "-"), let first = decimal(first),
      let last = decimal(last), first <= last, last < total
    else {
      throw Refusal(
        .badRequest,
        "Content-Range is not as in 'bytes 0-99/200': the first byte, the last one, and the size "
          + "of the whole archive.")
    }
    (self.first, count, self.total) = (first, last - first + 1, total)
  }
}

extension ArchiveChecksum {
  /// Returns the checksum in `Repr-Digest` (RFC 9530) or `x-amz-checksum-crc32c`; nil without
  /// either.
  ///
  /// Ignores other digests, as RFC 9530 says.
  static func value(_ field: (String) -> String?) throws(Refusal) -> UInt32? {
    let digest = try field("repr-digest").flatMap { (text) throws(Refusal) in
      try member(of: text)
    }
    let amazon = try field("x-amz-checksum-crc32c").map { (text) throws(Refusal) in
      try number(text[...])
    }
    guard digest == nil || amazon == nil || digest == amazon else {
      throw Refusal(.badRequest, "Repr-Digest and x-amz-checksum-crc32c differ.")
    }
    return digest ?? amazon
  }

  /// Reads the member `crc32c` of a dictionary of structured fields (RFC 8941).
  private static func member(of text: String) throws(Refusal) -> UInt32? {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    for member in text.split(separator: ",") {
      guard let (key, value) = pair(member.trimmed(isSpace), "="), key == "crc32c" else { continue }
      let bytes = value.prefix { $0 != ";" }.trimmed(isSpace)
      guard bytes.count >= 2, bytes.first == ":", bytes.last == ":" else { throw malformed }
      return try number(bytes.dropFirst().dropLast())
    }
    return nil
  }

  private static var malformed: Refusal {
    Refusal(
      .badRequest,
      "The CRC32C is not as in 'Repr-Digest: crc32c=:4waSgw==:': four bytes in Base64.")
  }

  private static func number(_ text: Substring) throws(Refusal) -> UInt32 {
    guard let checksum = checksum(base64: text) else { throw malformed }
    return checksum
  }
}

/// Reads a number of bytes in decimal digits; nil for anything else.
private func decimal(_ text: Substring) -> Int? {
  let isDecimal = (1...18).contains(text.utf8.count) && text.utf8.allSatisfy { (48...57) ~= $0 }
  return isDecimal ? Int(text) : nil
}

/// Returns what stands before and behind the first separator.
private func pair(_ text: Substring, _ separator: Character) -> (Substring, Substring)? {
  guard let place = text.firstIndex(of: separator) else { return nil }
  return (text[..<place], text[text.index(after: place)...])
}
