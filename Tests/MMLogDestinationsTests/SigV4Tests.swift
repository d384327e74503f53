import Foundation
import MMLogDestinations
import TestSupport
import Testing

/// Signature Version 4, checked by Amazon's published examples. Requests go to a server of the test
/// over a Unix socket. So they can name any host, and have the published time.
@Suite("Signature Version 4") struct SigV4Tests {
  private struct Example {
    var method: String
    var target: String
    var headers: [(name: String, value: String)] = []
    var body = ""
    var signed: String
    var signature: String
  }

  /// The signature of a request, and the headers that it covers.
  private func send(
    _ example: Example, host: String, time: String, _ credentials: HTTPSettings.Credentials,
    to server: TestReceiver
  ) async throws -> String {
    var settings = HTTPSettings()
    settings.unixSocket = server.folder("socket")
    settings.credentials = credentials
    var request = HTTPRequest(
      example.method, "http://\(host)\(example.target)",
      headers: [(name: "X-Amz-Date", value: time)] + example.headers)
    if !example.body.isEmpty { request.body = .bytes(Array(example.body.utf8)) }
    let before = try server.requests.count
    _ = try await HTTPClient(settings).send(request)
    let received = try #require(try server.requests.dropFirst(before).first)
    return received.headers["authorization"] ?? "nothing"
  }

  @Test("the examples of the S3 reference have the signatures that it gives")
  func published() async throws {
    // Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header (AWS
    // Signature Version 4)", "Examples: Signature calculations".
    let server = try TestReceiver(options: ["--unix"])
    let keys = server.folder.put(
      "keys", "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n")
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    let text = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
    let empty = [(name: "x-amz-content-sha256", value: nothing)]
    let examples = [
      Example(
        method: "GET", target: "/test.txt", headers: [(name: "Range", value: "bytes=0-9")] + empty,
        signed: "host;range;x-amz-content-sha256;x-amz-date",
        signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
      Example(
        method: "PUT", target: "/test%24file.text",
        headers: [
          ("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
          ("x-amz-content-sha256", text),
        ], body: "Welcome to Amazon S3.",
        signed: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
      Example(
        method: "GET", target: "/?lifecycle=", headers: empty,
        signed: "host;x-amz-content-sha256;x-amz-date",
        signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
      Example(
        method: "GET", target: "/?max-keys=2&prefix=J", headers: empty,
        signed: "host;x-amz-content-sha256;x-amz-date",
        signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]
    for example in examples {
      let authorization = try await send(
        example, host: "examplebucket.s3.amazonaws.com", time: "20130524T000000Z",
        .aws(keys: Secret(path: keys), region: "us-east-1", service: "s3"), to: server)
      #expect(
        authorization == """
          AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
          SignedHeaders=\(example.signed), Signature=\(example.signature)
          """, "\(example.target)")
    }
  }

  /// The path of the test suite of Signature Version 4: folders with `NAME/NAME.req` and
  /// `NAME.authz`.
  private static let suite = ProcessInfo.processInfo.environment["MMLOG_SIGV4_VECTORS"]

  /// Requests that no destination makes, and that libcurl changes or signs in another way.
  private static let others: Set = [
    // These have a header twice, or on several lines.
    "get-header-key-duplicate", "get-header-value-multiline", "get-header-value-order",
    // In these, paths and queries are not encoded or not in order. Those of the destinations are.
    "get-utf8", "get-vanilla-utf8-query", "get-space", "get-unreserved",
    "get-vanilla-query-order-key", "get-vanilla-query-order-key-case",
    "get-vanilla-query-order-value", "get-vanilla-query-order-encoded",
    "get-vanilla-query-unreserved", "normalize-path",
    // The token of this request is elsewhere in the suite.
    "get-vanilla-with-session-token",
  ]

  @Test(
    "Amazon's test suite",
    .enabled(if: suite != nil, "MMLOG_SIGV4_VECTORS does not say where a copy of it is"))
  func wholeSuite() async throws {
    let suite = try #require(Self.suite)
    let server = try TestReceiver(options: ["--unix"])
    var checked = 0
    for name in try Folder.names(suite).sorted() where !Self.others.contains(name) {
      let text = Folder.text("\(suite)/\(name)/\(name).req")
      let expected = Folder.text("\(suite)/\(name)/\(name).authz")
      if text.isEmpty || expected.isEmpty { continue }
      let parts = text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
      let lines = parts[0].split(separator: "\n")
      let words = lines[0].split(separator: " ")
      let headers = lines.dropFirst().map { line in
        let pair = line.split(separator: ":", maxSplits: 1)
        return (name: String(pair[0]), value: pair.count > 1 ? String(pair[1]) : "")
      }
      let token = headers.first { $0.name.lowercased() == "x-amz-security-token" }?.value
      let keys = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
      let path = server.folder.put("keys", keys + (token.map { ":\($0)" } ?? "") + "\n")
      let example = Example(
        method: String(words[0]), target: String(words[1]),
        headers: headers.filter {
          !["host", "x-amz-date", "x-amz-security-token"].contains($0.name.lowercased())
        }, body: parts.count > 1 ? String(parts[1]) : "", signed: "", signature: "")
      let authorization = try await send(
        example, host: "example.amazonaws.com", time: "20150830T123600Z",
        .aws(keys: Secret(path: path), region: "us-east-1", service: "service"), to: server)
      #expect(authorization == expected.trimmingCharacters(in: .newlines), "\(name)")
      checked += 1
    }
    #expect(checked > 5)
  }
}
