import Foundation
@testable import MMLogDestinations
import MMLogSystem
import TestSupport
import Testing

@Suite("HTTP") struct HTTPClientTests {
  @Test("a request has its method, headers and body, and the answer its status, headers and body")
  func roundTrip() async throws {
    let server = try TestReceiver([
      PlannedAnswer(status: 201, headers: ["X-Some": "a value"], body: Data("done".utf8))
    ])
    let client = HTTPClient(HTTPSettings())
    let answer = try await client.send(
      HTTPRequest(
        "PUT", "\(server.url)/./x/../a%20b?c=d", headers: [("X-Key", "1")],
        body: .bytes(Array("some bytes".utf8))))
    #expect(answer.status == 201)
    #expect(answer.header("x-some") == "a value")
    #expect(answer.text == "done")
    let request = try #require(try server.requests.first)
    #expect(request.method == "PUT" && request.path == "/./x/../a%20b?c=d")
    #expect(request.text == "some bytes" && request.headers["x-key"] == "1")
    #expect(request.headers["expect"] == nil)
  }

  @Test("a part of a file is sent as it is")
  func file() async throws {
    let server = try TestReceiver()
    let path = try server.file("sent", "0123456789")
    let client = HTTPClient(HTTPSettings())
    _ = try await client.send(
      HTTPRequest("PUT", server.url, body: .file(SentFile(File.open(path, .read)), range: 2..<7)))
    #expect(try server.requests.map(\.text) == ["23456"])
    let error = await #expect(throws: HTTPFailure.self) {
      let file = SentFile(try File.open(path, .read))
      return try await client.send(HTTPRequest("PUT", server.url, body: .file(file, range: 2..<11)))
    }
    #expect(error?.kind == .unreadable && error?.description.contains("byte 11") == true)
  }

  @Test("HEAD, GET, DELETE and a POST without a body work")
  func withoutBody() async throws {
    let server = try TestReceiver([PlannedAnswer(body: Data("abc".utf8))])
    let client = HTTPClient(HTTPSettings())
    for method in ["HEAD", "GET", "DELETE", "POST"] {
      let answer = try await client.send(HTTPRequest(method, server.url))
      #expect(answer.text == (method == "HEAD" ? "" : "abc"))
    }
    #expect(try server.requests.map(\.method) == ["HEAD", "GET", "DELETE", "POST"])
    #expect(try server.requests.allSatisfy { $0.body.isEmpty })
  }

  @Test(
    "an error quotes the beginning of a long answer, and takes no memory for each word",
    .disabled(if: isSanitized, "Sanitizers take memory of their own for each byte."))
  func longAnswer() async {
    await #expect(processExitsWith: .success) {
      let text = String(repeating: "a  b\n", count: 2 << 20)
      let before = peakMemory()
      let said = text.excerpt
      require(said == String(repeating: "a b ", count: 75).dropLast() + "…", said)
      require(peakMemory() < before + (16 << 20), "\(before >> 20), \(peakMemory() >> 20) MiB")
    }
    #expect(" \ta  b \n".excerpt == "a b" && "".excerpt.isEmpty)
  }

  @Test("redirects are answers, and are not followed")
  func redirect() async throws {
    let server = try TestReceiver([
      PlannedAnswer(status: 307, headers: ["Location": "http://127.0.0.1:1/"])
    ])
    let answer = try await HTTPClient(HTTPSettings()).send(HTTPRequest("GET", server.url))
    #expect(answer.status == 307)
  }

  @Test(
    "a server that breaks off, is slow, answers too much or not at all is an error",
    arguments: ["close", "half", "slow", "large", "never"])
  func faults(fault: String) async throws {
    let body = Data(repeating: 65, count: 1000)
    let server = try TestReceiver([PlannedAnswer(body: body, fault: fault)])
    var settings = HTTPSettings()
    settings.maximumResponse = 1 << 20
    // The other faults end without this timeout, however busy the machine is.
    if ["slow", "never"].contains(fault) { settings.timeout = .milliseconds(1500) }
    let error = await #expect(throws: HTTPFailure.self) {
      try await HTTPClient(settings).send(HTTPRequest("GET", server.url))
    }
    #expect(
      error?.kind == (fault == "large" ? .tooLarge : .unreachable), "\(String(describing: error))")
  }

  @Test("for an answer it waits as long as the timeout says; a body that stalls ends before")
  func stalled() async throws {
    let server = try TestReceiver([
      PlannedAnswer(fault: "late"), PlannedAnswer(fault: "late"), PlannedAnswer(fault: "late"),
      PlannedAnswer(body: Data(repeating: 65, count: 1000), fault: "stalled"),
    ])
    let path = try server.file("sent", String(repeating: "0123456789", count: 1000))
    var settings = HTTPSettings()
    (settings.timeout, settings.stallTimeout) = (.seconds(3600), .seconds(5))
    let client = HTTPClient(settings)
    let bodies: [HTTPRequest.Body] = [
      .none, .bytes(Array("some bytes".utf8)),
      .file(SentFile(try File.open(path, .read)), range: 0..<10_000),
    ]
    for body in bodies {
      #expect(try await client.send(HTTPRequest("PUT", server.url, body: body)).status == 200)
    }
    let error = await #expect(throws: HTTPFailure.self) {
      try await client.send(HTTPRequest("GET", server.url))
    }
    #expect(error?.kind == .unreachable)
    #expect(error?.description.contains("has moved") == true)
  }

  @Test("nobody there, a bad URL, and another protocol are errors of their kind")
  func unreachable() async throws {
    let client = HTTPClient(HTTPSettings())
    for (url, kind) in [
      ("http://127.0.0.1:1", HTTPFailure.Kind.unreachable), ("http://a b/", .configuration),
      ("file:///etc/passwd", .configuration),
    ] {
      let error = await #expect(throws: HTTPFailure.self) {
        try await client.send(HTTPRequest("GET", url))
      }
      #expect(error?.kind == kind, "\(url): \(String(describing: error))")
    }
  }

  @Test("a canceled task gets its error soon")
  func cancellation() async throws {
    let server = try TestReceiver([PlannedAnswer(fault: "never")])
    let url = server.url
    // On a busy machine, this task may not run for a minute.
    var settings = HTTPSettings()
    settings.timeout = .seconds(3600)
    let client = HTTPClient(settings)
    let task = Task { try await client.send(HTTPRequest("GET", url)) }
    while try server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    let error = await #expect(throws: HTTPFailure.self) { try await task.value }
    #expect(error?.kind == .canceled)
  }

  @Test("a Unix socket is connected to in place of the host")
  func unixSocket() async throws {
    let server = try TestReceiver(options: ["--unix"])
    var settings = HTTPSettings()
    settings.unixSocket = "\(server.folder.path)/socket"
    let answer = try await HTTPClient(settings).send(HTTPRequest("GET", "http://logs/x"))
    #expect(answer.status == 200)
    #expect(try server.requests.map { $0.headers["host"] } == ["logs"])
  }

  @Test("credentials are in headers, come anew from their file each time, and in no error")
  func credentials() async throws {
    let echo = Data("your token hunter2 is wrong, and hunter3 too".utf8)
    let server = try TestReceiver([PlannedAnswer(status: 401, body: echo)])
    let path = try server.file("token", "hunter2\n")
    var settings = HTTPSettings()
    settings.credentials = .bearer(Secret(path: path))
    let client = HTTPClient(settings)
    let first = try await client.send(HTTPRequest("GET", server.url))
    #expect(first.text == "your token ******* is wrong, and hunter3 too")
    _ = try server.file("token", "hunter3\n")
    let second = try await client.send(HTTPRequest("GET", server.url))
    #expect(second.text == "your token hunter2 is wrong, and ******* too")
    #expect(
      try server.requests.map { $0.headers["authorization"] }
        == ["Bearer hunter2", "Bearer hunter3"])
    settings.credentials = .basic(user: "me", password: Secret(path: path))
    _ = try await HTTPClient(settings).send(HTTPRequest("GET", server.url))
    #expect(
      try server.requests.last?.headers["authorization"]
        == "Basic \(Data("me:hunter3".utf8).base64EncodedString())")
  }

  @Test("a secret is not in an answer of success, either, whose other bytes stay as they are")
  func secretInSuccess() async throws {
    let body = Data([0x0A, 9, 0x12, 7]) + Data("hunter2".utf8) + Data([0xFF])
    let server = try TestReceiver([PlannedAnswer(body: body)])
    var settings = HTTPSettings()
    settings.credentials = .bearer(Secret(path: try server.file("token", "hunter2\n")))
    let answer = try await HTTPClient(settings).send(HTTPRequest("GET", server.url))
    #expect(answer.body == [0x0A, 9, 0x12, 7] + Array("*******".utf8) + [0xFF])
  }

  @Test("what libcurl does not take is an error, and nothing is sent without it")
  func refusedOption() async throws {
    let server = try TestReceiver()
    var settings = HTTPSettings()
    // The longest text that libcurl accepts is shorter.
    settings.proxy = "http://\(String(repeating: "a", count: 8_000_001))/"
    let error = await #expect(throws: HTTPFailure.self) {
      try await HTTPClient(settings).send(HTTPRequest("GET", server.url))
    }
    #expect(error?.kind == .configuration && error?.description.contains("option") == true)
    #expect(try server.requests.isEmpty)
  }

  @Test("what the header of Basic authentication has is in no error")
  func basicCredentials() async throws {
    let encoded = Data("me:hunter2".utf8).base64EncodedString()
    let server = try TestReceiver([
      PlannedAnswer(
        // These are the bytes of U+0301, which makes one character with the text before it.
        status: 401,
        headers: ["X-Refused": "Basic \(encoded)", "X-Other": "hunter2\u{CC}\u{81}"],
        body: Data("'Basic \(encoded)' is wrong, as hunter2 is".utf8))
    ])
    var settings = HTTPSettings()
    let password = Secret(path: try server.file("password", "hunter2\n"))
    settings.credentials = .basic(user: "me", password: password)
    let answer = try await HTTPClient(settings).send(HTTPRequest("GET", server.url))
    let stars = String(repeating: "*", count: encoded.count)
    #expect(answer.text == "'Basic \(stars)' is wrong, as ******* is")
    #expect(answer.header("x-refused") == "Basic ***")
    #expect(answer.header("x-other") == "***\u{301}")
  }

  @Test("of a header's secret, the key without its scheme is in no error, either")
  func keyWithoutScheme() async throws {
    let said = "bad key: c2VjcmV0 and 'ApiKey c2VjcmV0', for the user a"
    let server = try TestReceiver([PlannedAnswer(status: 401, body: Data(said.utf8))])
    var settings = HTTPSettings()
    let key = Secret(path: try server.file("key", "ApiKey c2VjcmV0 a\n"))
    settings.credentials = .header("Authorization", key)
    let answer = try await HTTPClient(settings).send(HTTPRequest("GET", server.url))
    #expect(answer.text == "bad key: ******** and 'ApiKey ********', for the user a")
  }

  @Test("a secret that is not there, is empty, or would add a header is an error that names it")
  func badSecrets() async throws {
    let server = try TestReceiver()
    for (name, text) in [("none", nil), ("empty", "\n"), ("two", "a\nX-Evil: b\n"), ("cr", "a\rb")]
    {
      let path = try text.map { try server.file(name, $0) } ?? "\(server.folder.path)/none"
      var settings = HTTPSettings()
      settings.credentials = .bearer(Secret(path: path))
      let error = await #expect(throws: HTTPFailure.self) {
        try await HTTPClient(settings).send(HTTPRequest("GET", server.url))
      }
      #expect(error?.kind == .configuration)
      #expect(error?.description.contains(path) == true)
    }
    #expect(try server.requests.isEmpty)
  }

  @Test("an encrypted key without its passphrase is an error that names the setting")
  func encryptedKey() async throws {
    let (authority, folder) = (try TestAuthority(), TemporaryDirectory())
    let key = folder("encrypted.key")
    try ChildProcess.run(
      "openssl",
      ["pkey", "-aes256", "-passout", "pass:secret", "-in", authority("client.key"), "-out", key],
      output: folder("said"))
    let server = try TestReceiver(options: authority.options(verifiesClients: true))
    var settings = HTTPSettings()
    settings.trustedCertificates = authority("ca.pem")
    settings.certificate = authority("client.pem")
    settings.certificateKey = key
    let request = HTTPRequest("GET", "https://127.0.0.1:\(server.port)/")
    let error = await #expect(throws: HTTPFailure.self) {
      _ = try await HTTPClient(settings).send(request)
    }
    #expect(error?.kind == .configuration && error?.description.contains("passphrase-file") == true)
    settings.certificatePassphrase = Secret(path: folder.put("passphrase", "secret\n"))
    #expect(try await HTTPClient(settings).send(request).isSuccess)
  }

  @Test("a file of trusted certificates that is replaced counts for the next request")
  func replacedAuthority() async throws {
    let (authority, other) = (try TestAuthority(), try TestAuthority())
    let folder = TemporaryDirectory()
    let server = try TestReceiver(options: authority.options())
    let request = HTTPRequest("GET", "https://127.0.0.1:\(server.port)/")
    var settings = HTTPSettings()
    settings.trustedCertificates = folder("trusted.pem")
    let client = HTTPClient(settings)
    folder.put("trusted.pem", Folder.text(other("ca.pem")))
    let error = await #expect(throws: HTTPFailure.self) { try await client.send(request) }
    #expect(error?.kind == .configuration, "\(error as Any)")
    folder.put("trusted.pem", Folder.text(authority("ca.pem")))
    #expect(try await client.send(request).isSuccess)
  }

  @Test("a server's certificate is verified, and a client's is shown")
  func certificates() async throws {
    let authority = try TestAuthority()
    let server = try TestReceiver(options: authority.options(verifiesClients: true))
    let url = "https://127.0.0.1:\(server.port)/"
    var settings = HTTPSettings()
    let unknown = await #expect(throws: HTTPFailure.self) {
      try await HTTPClient(settings).send(HTTPRequest("GET", url))
    }
    #expect(unknown?.kind == .configuration, "\(String(describing: unknown))")
    settings.trustedCertificates = authority("ca.pem")
    // A reset of the connection may overtake the server's alert. Then the test tries again.
    var uncertified: HTTPFailure?
    for _ in 0..<50 where uncertified?.kind != .configuration {
      uncertified = await #expect(throws: HTTPFailure.self) {
        try await HTTPClient(settings).send(HTTPRequest("GET", url))
      }
    }
    #expect(uncertified?.kind == .configuration, "\(String(describing: uncertified))")
    settings.certificate = authority("client.pem")
    settings.certificateKey = authority("client.key")
    #expect(try await HTTPClient(settings).send(HTTPRequest("GET", url)).status == 200)
    let otherName = await #expect(throws: HTTPFailure.self) {
      try await HTTPClient(settings).send(
        HTTPRequest("GET", "https://localhost:\(server.port)/"))
    }
    #expect(otherName?.kind == .configuration)
    #expect(try server.requests.count == 1)
  }
}
