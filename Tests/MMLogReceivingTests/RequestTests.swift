import Glibc
import MMLogReceiving
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// The header fields of requests, from clients and from attackers.
@Suite struct RequestTests {
  private func request(
    _ fields: [String: String], _ method: String = "PUT", _ path: String = "/archives/a"
  ) throws(Refusal) -> ReceiverRequest {
    try ReceiverRequest(method: method, path: path) { fields[$0] }
  }

  @Test("a part of an archive is named by its first and last byte and the archive's size")
  func ranges() throws {
    let part = try request([
      "content-range": "bytes 100-199/1000", "content-length": "100",
      "repr-digest": "sha-256=:AAAA:, crc32c=:4waSgw==:", "if-none-match": "*",
    ])
    #expect(part.range?.first == 100 && part.range?.count == 100 && part.archiveSize == 1000)
    #expect(part.range?.isLast == false && part.isForNewArchive)
    #expect(part.checksum == 0xE306_9283)
    let whole = try request(["content-length": "7", "x-amz-checksum-crc32c": "4waSgw=="])
    #expect(whole.archiveSize == 7 && whole.range == nil && whole.checksum == 0xE306_9283)
    #expect(try request([:]).archiveSize == nil)
  }

  @Test("what is malformed is refused")
  func malformed() {
    let wrong: [(Refusal.Status, [String: String])] =
      [
        "", "bytes", "bytes ", "bytes 0-9", "bytes 0-9/*", "bytes */10", "bytes 9-0/10",
        "bytes 0-10/10", "bytes -1-5/10", "bytes 0-9/99999999999999999999", "items 0-9/10",
        "bytes 0-9/10, bytes 0-9/10", "bytes +0-9/10", "bytes 0-9/10\u{0}", "bytes ٠-٩/١٠",
      ].map { (.badRequest, ["content-range": $0]) } + [
        (.badRequest, ["content-range": "bytes 0-9/10", "content-length": "9"]),
        (.badRequest, ["content-length": "-1"]),
        (.badRequest, ["content-length": "9223372036854775808"]),
        (.badRequest, ["repr-digest": "crc32c=4waSgw=="]),
        (.badRequest, ["repr-digest": "crc32c=:"]),
        (.badRequest, ["repr-digest": "crc32c=:4waSgw=:"]),
        (.badRequest, ["repr-digest": "crc32c=:4waSgx==:"]),
        (.badRequest, ["repr-digest": "crc32c=:4waSg ==:"]),
        (.badRequest, ["x-amz-checksum-crc32c": ""]),
        (.badRequest, ["x-amz-checksum-crc32c": "AAAAAA==", "repr-digest": "crc32c=:4waSgw==:"]),
        (.unsupportedMediaType, ["content-encoding": "gzip"]),
      ]
    for (status, fields) in wrong {
      #expect("\(fields)" as Comment) {
        _ = try request(fields)
      } throws: {
        ($0 as? Refusal)?.status == status
      }
    }
  }

  @Test("only archives can be sent, and they have names")
  func targets() throws {
    let long = String(repeating: "a", count: 1025)
    let wrong: [(Refusal.Status, String, String)] = [
      (.methodNotAllowed, "POST", "/archives/a"), (.methodNotAllowed, "DELETE", "/archives/a"),
      (.methodNotAllowed, "PUT", "/health"), (.notFound, "PUT", "/archives/"),
      (.notFound, "PUT", "/archives"), (.notFound, "PUT", "/"), (.notFound, "GET", ""),
      (.notFound, "PUT", "archives/a"), (.badRequest, "PUT", "/archives/a\nb"),
      (.badRequest, "PUT", "/archives/\(long)"), (.badRequest, "PUT", "/archives/a\u{85}"),
    ]
    for (status, method, path) in wrong {
      #expect("\(method) \(path)" as Comment) {
        _ = try request([:], method, path)
      } throws: {
        ($0 as? Refusal)?.status == status
      }
    }
    // The name is not used as a path, so it is a name like others.
    #expect(try request([:], "PUT", "/archives/../../x").target == .archive("../../x"))
  }

  @Test("checksums come back from Base64")
  func base64() throws {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<1000 {
      let checksum = UInt32.random(in: 0 ... .max, using: &random)
      let read = try request(["repr-digest": ArchiveChecksum.digest(checksum)])
      #expect(read.checksum == checksum)
    }
    // The checksum of the text "123456789", as RFC 9530 and S3 write it.
    #expect(ArchiveChecksum.base64(0xE306_9283) == "4waSgw==")
  }

  // MARK: - Tokens

  private let text = """
    # our services
    orders  0123456789abcdef

    orders  fedcba9876543210\r
    billing ABCDEFGHIJKLMNOPQ
    """

  @Test("a client is known by each of its tokens, and by nothing else")
  func tokens() throws {
    let tokens = try Tokens(Array(text.utf8), path: "tokens")
    #expect(tokens.client("Bearer 0123456789abcdef") == "orders")
    #expect(tokens.client("bearer fedcba9876543210") == "orders")
    #expect(tokens.client("Bearer  ABCDEFGHIJKLMNOPQ") == "billing")
    for wrong in [
      nil, "", "Bearer", "Bearer ", "Basic 0123456789abcdef", "Bearer 0123456789abcdeg",
      "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer 0123456789abcdef x", "orders",
      "Bearer 0123456789abcdef0123456789abcdef", "Bearer \u{0}123456789abcdef",
    ] as [String?] {
      #expect(tokens.client(wrong) == nil, "\(wrong ?? "none")")
    }
    #expect(try Tokens([], path: "tokens").client("Bearer ") == nil)
  }

  @Test("a file of tokens that is wrong, or that every user may read, is refused with the place")
  func wrongTokens() throws {
    let folder = TemporaryDirectory()
    for line in ["orders", "orders short", "a/b 0123456789abcdef", "a 0123456789abcdef c"] {
      #expect("\(line)" as Comment) {
        _ = try Tokens(Array("\n\(line)".utf8), path: "tokens")
      } throws: {
        "\($0)".contains("tokens, line 2")
      }
    }
    let path = folder.put("tokens", text)
    try FileAccessBits.set(0o644, of: path)
    #expect { _ = try Tokens.read(path) } throws: { "\($0)".contains("every user") }
    try FileAccessBits.set(0o640, of: path)
    #expect(try Tokens.read(path).client("Bearer 0123456789abcdef") == "orders")
  }
}

private enum FileAccessBits {
  static func set(_ mode: UInt32, of path: String) throws {
    guard chmod(path, mode) == 0 else { throw Failure("chmod \(path)") }
  }
}
