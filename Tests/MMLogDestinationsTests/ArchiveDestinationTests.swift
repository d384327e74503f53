import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite("Whole archives") struct ArchiveDestinationTests {
  /// A sealed archive of some megabytes, with text that compresses badly.
  private struct Sealed {
    let made: TestBatch
    let archive: SealedArchive
    let bytes: Data

    init(megabytes: Int = 0) throws {
      var generator = SeededGenerator(seed: 7)
      let characters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
      let text = (0..<1 << 20).map { _ in
        characters[Int(UInt8.random(in: 0..<64, using: &generator))]
      }
      made = try TestBatch { log, _ in
        log.info("small")
        // Repeats the text only at distances beyond zlib's window.
        for index in 0..<megabytes {
          let turned = text[(index * 50_000)...] + text[..<(index * 50_000)]
          log.info("\(String(decoding: turned, as: UTF8.self))")
        }
      }
      let info = try #require(try Catalog(of: made.folder.path, store: nil).scan().first)
      archive = SealedArchive(info: info, identity: made.batch.session.identity)
      bytes = try Data(contentsOf: URL(filePath: info.path))
    }
  }

  @Test("a page of HTML, or that something is missing, is no success of an upload")
  func noSuccess() async throws {
    let sealed = try Sealed()
    let page = PlannedAnswer(
      headers: ["Content-Type": "text/html"], body: Data("<html>Sign in</html>".utf8))
    let server = try TestReceiver([page, PlannedAnswer(status: 202)])
    for words in ["a page of HTML", "202"] {
      let error = await #expect(throws: DeliveryError.self) {
        try await PutDestination(url: server.url).send(sealed.archive)
      }
      #expect(error?.remedy == .tryAgain(after: nil))
      #expect(error?.message.contains(words) == true)
    }
  }

  @Test("of a page that says that an archive is too large, its title is shown, and what to do")
  func tooLarge() async throws {
    let page = """
      <html><head><title>413 Request Entity Too Large</title></head><body>nginx</body></html>
      """
    let server = try TestReceiver([
      PlannedAnswer(status: 413, headers: ["Content-Type": "text/html"], body: Data(page.utf8))
    ])
    let sealed = try Sealed()
    let error = await #expect(throws: DeliveryError.self) {
      try await PutDestination(url: server.url).send(sealed.archive)
    }
    let message = error?.message ?? ""
    #expect(error?.remedy == .makeSmaller && !message.contains("<"), "\(message)")
    #expect(message.contains(" answers 413: 413 Request Entity Too Large; raise what"))
    #expect(message.contains("client_max_body_size"))
  }

  @Test("what has an archive's name and is another file, or a link to one, is not sent")
  func swapped() async throws {
    let sealed = try Sealed()
    let (server, folder) = (try TestReceiver(), TemporaryDirectory())
    let path = sealed.archive.info.path
    let (files, destination) = (FileManager.default, PutDestination(url: server.url))
    try files.moveItem(atPath: path, toPath: folder("archive"))
    for code in [LogError.Code.missingArchive, .system, .changedArchive] {
      if code == .system {
        try files.createSymbolicLink(atPath: path, withDestinationPath: folder("archive"))
      } else if code == .changedArchive {
        try files.removeItem(atPath: path)
        let bytes = [UInt8](repeating: 0, count: sealed.bytes.count)
        try Data(bytes).write(to: URL(filePath: path))
      }
      let error = await #expect(throws: LogError.self) {
        try await destination.send(sealed.archive)
      }
      #expect(error?.code == code && error?.path == path)
    }
    #expect(try server.requests.isEmpty)
  }

  @Test(
    "PUT has the archive's bytes, its name, its checksum and what it is, and overwrites nothing")
  func put() async throws {
    let sealed = try Sealed()
    let size = "\(sealed.bytes.count)"
    let server = try TestReceiver([
      PlannedAnswer(status: 201, headers: ["ETag": "\"1\""]), PlannedAnswer(status: 412),
      PlannedAnswer(body: sealed.bytes), PlannedAnswer(status: 412),
      PlannedAnswer(body: Data("other".utf8)),
    ])
    let destination = PutDestination(url: "\(server.url)/logs")
    let receipt = try await destination.send(sealed.archive)
    let request = try #require(try server.requests.first)
    #expect(request.method == "PUT" && request.body == sealed.bytes)
    #expect(request.path == "/logs/\(sealed.archive.info.fileName)")
    #expect(request.headers["if-none-match"] == "*" && request.headers["content-length"] == size)
    #expect(request.headers["mmlog-session"] == sealed.archive.info.session.description)
    let digest = try #require(request.headers["repr-digest"])
    let checksum = String(digest.dropFirst("crc32c=:".count).dropLast())
    #expect(digest == "crc32c=:\(checksum):" && receipt == "crc32c=\(checksum) etag=\"1\"")
    // The same archive is there already.
    #expect(try await destination.send(sealed.archive) == "crc32c=\(checksum)")
    // Something else is there.
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(sealed.archive)
    }
    #expect(error?.remedy == .halve)
  }

  @Test("PUT sends an archive again that was damaged on its way, and not for ever")
  func damaged() async throws {
    let sealed = try Sealed()
    for status in [400, 422] {
      let server = try TestReceiver([
        PlannedAnswer(status: status), PlannedAnswer(status: status), PlannedAnswer(status: 201),
        PlannedAnswer(status: status),
      ])
      let destination = PutDestination(url: server.url)
      #expect(try await destination.send(sealed.archive)?.hasPrefix("crc32c=") == true)
      #expect(try server.requests.map(\.body) == [Data](repeating: sealed.bytes, count: 3))
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(sealed.archive)
      }
      #expect(try error?.remedy == .halve && server.requests.count == 6)
    }
  }

  @Test("PUT says what HEAD is answered where a server answers 412 and gives nothing")
  func contradiction() async throws {
    let sealed = try Sealed()
    let remedies: [(Int, DeliveryError.Remedy)] = [
      (400, .waitForAction), (403, .waitForAction), (405, .waitForAction), (413, .waitForAction),
      (503, .tryAgain(after: nil)),
      (404, .tryAgain(after: nil)),
    ]
    for (status, remedy) in remedies {
      let server = try TestReceiver([PlannedAnswer(status: 412), PlannedAnswer(status: status)])
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await PutDestination(url: server.url).send(sealed.archive)
      }
      #expect(error?.remedy == remedy, "\(status): \(error as Any)")
      let message = error?.message ?? ""
      #expect(message.contains("answers 412 to PUT and \(status) to HEAD"), "\(message)")
    }
  }

  @Test("PUT sends nothing again where somebody has to act")
  func notDamaged() async throws {
    let sealed = try Sealed()
    let words = "The plain HTTP request was sent to HTTPS port"
    let server = try TestReceiver([PlannedAnswer(status: 400, body: Data(words.utf8))])
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await PutDestination(url: server.url).send(sealed.archive)
    }
    #expect(try error?.remedy == .waitForAction && server.requests.count == 1)
  }

  @Test(
    "S3's credentials that have expired are waited for",
    arguments: ["ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestTimeTooSkewed"])
  func expiredCredentials(code: String) async throws {
    let sealed = try Sealed()
    let body = "<Error><Code>\(code)</Code><Message>not now</Message></Error>"
    // The second status 400 answers a HEAD.
    let server = try TestReceiver([
      PlannedAnswer(status: 400, body: Data(body.utf8)), PlannedAnswer(status: 412),
      PlannedAnswer(status: 400),
    ])
    let destination = S3Destination(bucket: server.url, settings: HTTPSettings())
    for _ in 1...2 {
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(sealed.archive)
      }
      #expect(error?.remedy == .waitForAction, "\(error as Any)")
    }
    #expect(try server.requests.map(\.method) == ["PUT", "PUT", "HEAD"])
  }

  @Test("S3 has an archive in parts also of who may not ask for what is there")
  func rightToPutAlone() async throws {
    let sealed = try Sealed()
    let denied = PlannedAnswer(
      status: 403, body: Data("<Error><Code>AccessDenied</Code></Error>".utf8))
    let server = try TestReceiver([
      denied, denied, PlannedAnswer(body: Data("<UploadId>u</UploadId>".utf8)),
      PlannedAnswer(headers: ["ETag": "\"1\""]),
      PlannedAnswer(body: Data("<ETag>\"2\"</ETag>".utf8)),
    ])
    let destination = S3Destination(
      bucket: server.url, multipartSize: 1, settings: HTTPSettings())
    #expect(try await destination.send(sealed.archive)?.hasSuffix(" etag=\"2\"") == true)
    let requests = try server.requests
    #expect(requests.map(\.method) == ["HEAD", "GET", "POST", "PUT", "POST"])
    #expect(requests[3].body == sealed.bytes)
  }

  @Test("PUT has the head of an archive whose frames are chained, to be kept by the receiver")
  func head() async throws {
    let folder = TemporaryDirectory()
    let golden = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Golden/chained")
    let name = try #require(
      FileManager.default.contentsOfDirectory(atPath: golden.path).sorted()
        .first { $0.hasSuffix(".mmlog") })
    try Data(contentsOf: golden.appending(path: name)).write(
      to: URL(filePath: "\(folder.path)/\(name)"))
    let info = try #require(try Catalog(of: folder.path, store: nil).scan().first)
    let head = try #require(info.head)
    let identity = try ArchiveInfo.identity(ofArchiveAt: info.path)
    let server = try TestReceiver([PlannedAnswer(status: 201)])
    _ = try await PutDestination(url: server.url).send(
      SealedArchive(info: info, identity: identity))
    let request = try #require(try server.requests.first)
    #expect(request.headers["mmlog-head"].flatMap { ArchiveHead($0) } == head)
  }

  @Test(
    "S3 has the archive once, in one piece or in parts, and an upload goes on where it was killed",
    .enabled(if: S3Server.isThere, S3Server.missing))
  func s3() async throws {
    let server = try await S3Server()
    let (settings, bucket) = (server.settings, server.bucket)
    let small = try Sealed()
    let destination = S3Destination(bucket: bucket, prefix: "a b", settings: settings)
    try await destination.check()
    let first = try await destination.send(small.archive)
    #expect(first?.hasPrefix("crc32c=") == true && first?.contains("etag=") == true)
    #expect(try await destination.send(small.archive)?.hasPrefix("crc32c=") == true)

    // Begins an upload first, as a process does that crashes.
    let large = try Sealed(megabytes: 16)
    #expect(large.bytes.count > 11 << 20)
    let (host, file) = (large.archive.identity.hostName, large.archive.info.fileName)
    let url = "\(bucket)/orders/\(host)/\(file)"
    let begun = try await server.send(
      "POST", "\(url)?uploads=", headers: [("x-amz-checksum-algorithm", "CRC32C")])
    #expect(begun.isSuccess, "\(begun.text)")
    let parts = S3Destination(
      bucket: bucket, multipartSize: 1 << 20, partSize: 5 << 20, settings: settings)
    #expect(try await parts.send(large.archive)?.hasPrefix("crc32c=") == true)
    let stored = try await server.send("GET", url)
    #expect(stored.isSuccess && Data(stored.body) == large.bytes)
    // The archive is there already.
    #expect(try await parts.send(large.archive)?.hasPrefix("crc32c=") == true)
    let left = try await server.send("GET", "\(bucket)?uploads=")
    #expect(!left.text.contains("<UploadId>"), "\(left.text)")
  }

  @Test("a key of S3 is behind the prefix, whatever the file header has for names")
  func keys() async throws {
    let sealed = try Sealed()
    let (info, file) = (sealed.archive.info, sealed.archive.info.fileName)
    let server = try TestReceiver()
    var settings = HTTPSettings()
    let secret = Secret(path: try server.file("keys", "AKIDEXAMPLE:hunter2"))
    settings.credentials = .aws(keys: secret, region: "us-east-1", service: "s3")
    let destination = S3Destination(
      bucket: "\(server.url)/logs", prefix: "a/b", settings: settings)
    let cases = [
      ("orders", "tokyo", "orders/tokyo"), ("a b", "caf\u{E9}", "a%20b/caf%C3%A9"),
      ("..", "../../other", "%252E./%252E.%252F..%252Fother"), (".", "", "%252E/unknown"),
      ("x", "a/\u{301}b", "x/a%252F%CC%81b"),
    ]
    for (store, host, folders) in cases {
      var identity = sealed.archive.identity
      (identity.storeName, identity.hostName) = (store, host)
      _ = try await destination.send(SealedArchive(info: info, identity: identity))
      #expect(try server.requests.last?.path == "/logs/a/b/\(folders)/\(file)")
    }
  }

  private func s3(_ server: TestReceiver) throws -> S3Destination {
    var settings = HTTPSettings()
    let secret = Secret(path: try server.file("keys", "AKIDEXAMPLE:hunter2"))
    settings.credentials = .aws(keys: secret, region: "us-east-1", service: "s3")
    return S3Destination(bucket: "\(server.url)/logs", settings: settings)
  }

  @Test(
    "S3 refuses an archive for what is wrong with the object; with anything else, all wait",
    arguments: [
      ("KMS.DisabledException", DeliveryError.Remedy.waitForAction),
      ("KMS.NotFoundException", .waitForAction), ("InvalidRequest", .waitForAction),
      ("InvalidArgument", .waitForAction), ("NoCodeOfThisName", .waitForAction),
      ("EntityTooLarge", .halve), ("KeyTooLongError", .halve), ("MetadataTooLarge", .halve),
      ("BadDigest", .tryAgain(after: nil)),
    ])
  func refusals(code: String, remedy: DeliveryError.Remedy) async throws {
    let body = "<Error><Code>\(code)</Code><Message>why</Message></Error>"
    let server = try TestReceiver([PlannedAnswer(status: 400, body: Data(body.utf8))])
    let destination = try s3(server)
    let sealed = try Sealed()
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(sealed.archive)
    }
    #expect(error?.remedy == remedy, "\(error as Any)")
    #expect(error?.message.contains(code) == true, "\(error as Any)")
  }

  @Test("an object that is gone when S3 is asked about it is sent again")
  func goneObject() async throws {
    let server = try TestReceiver([PlannedAnswer(status: 412), PlannedAnswer(status: 404)])
    let destination = try s3(server)
    let sealed = try Sealed()
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(sealed.archive)
    }
    #expect(error?.remedy == .tryAgain(after: nil), "\(error as Any)")
  }

  @Test("of S3's metadata, what is blank is neither sent nor signed")
  func blankMetadata() async throws {
    let sealed = try Sealed()
    let server = try TestReceiver()
    var settings = HTTPSettings()
    let secret = Secret(path: try server.file("keys", "AKIDEXAMPLE:hunter2"))
    settings.credentials = .aws(keys: secret, region: "us-east-1", service: "s3")
    var identity = sealed.archive.identity
    (identity.storeName, identity.hostName, identity.processName) = ("orders", "  ", "")
    _ = try await S3Destination(bucket: "\(server.url)/logs", settings: settings)
      .send(SealedArchive(info: sealed.archive.info, identity: identity))
    let headers = try #require(try server.requests.last?.headers)
    let signed = try #require(
      headers["authorization"]?.split(separator: "SignedHeaders=").last?.prefix { $0 != "," })
    let names = signed.split(separator: ";").map(String.init)
    #expect(names.contains("x-amz-meta-mmlog-service"))
    #expect(names.filter { headers[$0] == nil } == [])
  }

  @Test(
    "S3 verifies checksums and signatures, and nothing is overwritten",
    .enabled(if: S3Server.isThere, S3Server.missing))
  func verified() async throws {
    let server = try await S3Server()
    let sealed = try Sealed()
    let destination = S3Destination(bucket: server.bucket, settings: server.settings)
    let folder = server.server.folder
    // A bit is damaged on the way.
    folder.put("damage")
    let damaged = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(sealed.archive)
    }
    #expect(damaged?.remedy == .tryAgain(after: nil), "\(damaged as Any)")
    #expect(damaged?.message.contains("BadDigest") == true)
    #expect(try await destination.send(sealed.archive)?.hasPrefix("crc32c=") == true)
    // Something else is there under the archive's name.
    let url = try #require(try server.requests.last { $0.method == "PUT" }?.target)
    let base = String(server.bucket.dropLast("/logs".count))
    let other = folder.put("other", "other")
    let file = SentFile(try File.open(other, .read))
    _ = try await server.send("PUT", base + url, .file(file, range: 0..<5))
    let taken = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(sealed.archive)
    }
    #expect(taken?.remedy == .halve && taken?.message.contains("is there already") == true)
    let stored = try await server.send("GET", base + url)
    #expect(stored.text == "other")
    // With a wrong key or an unknown user, shipping waits for somebody to act.
    let wrong = TemporaryDirectory()
    for keys in ["AKIDEXAMPLE:hunter3", "AKIDOTHER:hunter2"] {
      var settings = server.settings
      let file = Secret(path: wrong.put("keys", keys))
      settings.credentials = .aws(keys: file, region: "us-east-1", service: "s3")
      let error = await #expect(throws: DeliveryError.self) {
        try await S3Destination(bucket: server.bucket, settings: settings).check()
      }
      #expect(error?.remedy == .waitForAction, "\(error as Any)")
      #expect(error?.message.contains("hunter") == false)
    }
  }

  @Test(
    "mmlog-ship that is killed within an upload of more than 64 MiB goes on with it, and keeps the receipt",
    .enabled(if: S3Server.isThere, S3Server.missing))
  func killedUpload() async throws {
    let server = try await S3Server()
    let folder = server.server.folder
    try FileManager.default.createDirectory(
      atPath: folder("logs"), withIntermediateDirectories: false)
    let bytes = Self.largeArchive
    #expect(bytes.count > 64 << 20)
    let archive = folder.put("logs/\(TestLog.sealedName())", bytes)
    let configuration = folder.put(
      "ship.conf",
      """
      [destination bucket]
      url = s3://logs
      endpoint = \(server.server.url)
      credentials-file = \(server.keys.path)
      [directory \(folder("logs"))]
      to = bucket
      """)
    let arguments = ["--once", "--config", configuration]
    // The server takes two parts, and does not answer the third.
    folder.put("hold", "2")
    let killed = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("killed"))
    try killed.wait { try server.parts.count == 2 && folder.contents("held") != nil }
    killed.kill()
    killed.wait()
    try FileManager.default.removeItem(atPath: folder("hold"))
    // The lease of a dead process is void. A lease of another one is waited for, and reported.
    let catalog = Catalog(of: folder("logs"), store: nil)
    let left = try #require(try catalog.scan().first)
    #expect(left.state.lease != nil)
    let lease = try #require(
      try catalog.acquireLease(on: left, by: "another", for: .seconds(3600)))
    let waiting = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("waiting"))
    #expect(waiting.wait() == .exited(1))
    #expect(waiting.complaints.contains("leased"), "\(waiting.complaints)")
    try catalog.release(lease, on: left)
    let shipped = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("shipped"))
    #expect(shipped.wait() == .success, "\(shipped.complaints)")
    let sent = try server.parts.map(\.target).map { $0.prefix { $0 != "&" } }
    for number in 1...2 {
      #expect(sent.count { $0.hasSuffix("partNumber=\(number)") } == 1, "\(sent)")
    }
    let target = try #require(sent.first?.prefix { $0 != "?" })
    let base = String(server.bucket.dropLast("/logs".count))
    let stored = try await server.send("GET", base + target)
    #expect(stored.isSuccess && stored.body == bytes)
    let state = try #require(try catalog.scan().first).state
    #expect(state.isUploaded && state.receipt?.contains("crc32c=") == true, "\(archive)")
  }

  /// A valid archive with many sessions.
  private static var largeArchive: [UInt8] {
    // A store that goes on with the archive of its last session makes such files.
    let one = (1...400).flatMap { TestLog.sealed(session: $0) }
    var bytes = one
    while bytes.count <= 64 << 20 { bytes += one }
    return bytes
  }
}

/// S3 by moto, with signatures and checksums verified.
struct S3Server {
  static let isThere = Python.has("moto.server", "crc32c")
  static let missing: Comment =
    "python3 has no modules moto and crc32c: Tools/setup --receivers"

  struct Request: Decodable {
    let method: String
    let target: String
    let size: Int
    let status: String
    let problem: String
  }

  let server: TestServer
  let keys: Secret
  let settings: HTTPSettings
  /// The URL of an empty bucket.
  let bucket: String

  init(_ options: [String] = []) async throws {
    let folder = TemporaryDirectory()
    keys = Secret(path: folder.put("keys", "AKIDEXAMPLE:hunter2\n"))
    server = try TestServer("s3.py", [keys.path] + options, in: folder)
    var settings = HTTPSettings()
    settings.credentials = .aws(keys: keys, region: "us-east-1", service: "s3")
    settings.maximumResponse = 128 << 20
    self.settings = settings
    bucket = "\(server.url)/logs"
    if !options.isEmpty { return }
    let made = try await send("PUT", bucket)
    guard made.isSuccess else { throw Failure("no bucket: \(made.text)") }
  }

  func send(
    _ method: String, _ url: String, headers: [(name: String, value: String)] = [],
    _ body: HTTPRequest.Body = .none
  ) async throws -> HTTPResponse {
    try await Client(settings).send(method, url, headers: headers, body)
  }

  /// A client that signs the tests' own requests.
  struct Client: Sendable {
    let client: HTTPClient
    let base: String

    init(_ settings: HTTPSettings, _ base: String = "") {
      (client, self.base) = (HTTPClient(settings), base)
    }

    func send(
      _ method: String, _ url: String, headers: [(name: String, value: String)] = [],
      _ body: HTTPRequest.Body = .none
    ) async throws -> HTTPResponse {
      let headers = headers + [(name: "x-amz-content-sha256", value: "UNSIGNED-PAYLOAD")]
      return try await client.send(HTTPRequest(method, base + url, headers: headers, body: body))
    }
  }

  var requests: [Request] { get throws { try server.notes("requests") } }

  /// The upload parts that were taken.
  var parts: [Request] {
    get throws {
      try requests.filter { $0.method == "PUT" && $0.target.contains("partNumber=") }
    }
  }
}
