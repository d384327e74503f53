import Foundation
import MMLogDestinations
import MMLogShipping
import TestSupport
import Testing

@Suite("Proxies of HTTP") struct ProxyTests {
  private struct Request: Decodable {
    let method: String
    let target: String
    let headers: [String: String]
  }

  private let folder = TemporaryDirectory()

  private func requests(_ proxy: TestServer) throws -> [Request] { try proxy.notes("requests") }

  @Test("http goes through a proxy as it is, https in a tunnel, and the proxy sees no token")
  func tunnel() async throws {
    let authority = try TestAuthority()
    let (plain, secure) = (
      try TestReceiver(), try TestReceiver(options: authority.options())
    )
    let proxy = try TestServer("proxy.py")
    var settings = HTTPSettings()
    settings.proxy = proxy.url
    settings.trustedCertificates = authority("ca.pem")
    settings.credentials = .bearer(Secret(path: folder.put("token", "hunter2")))
    let client = HTTPClient(settings)
    let first = try await client.send(HTTPRequest("GET", "\(plain.url)/a"))
    let second = try await client.send(HTTPRequest("GET", "https://127.0.0.1:\(secure.port)/b"))
    #expect(first.isSuccess && second.isSuccess)
    #expect(try secure.requests.map { $0.headers["authorization"] } == ["Bearer hunter2"])
    let seen = try requests(proxy)
    #expect(seen.map(\.method) == ["GET", "CONNECT"])
    #expect(seen.map(\.target) == ["\(plain.url)/a", "127.0.0.1:\(secure.port)"])
    #expect(seen[1].headers["authorization"] == nil)
  }

  @Test("a proxy's password comes from its file, and stands in no error, whatever the proxy says")
  func credentials() async throws {
    let authority = try TestAuthority()
    let (plain, secure) = (
      try TestReceiver(), try TestReceiver(options: authority.options())
    )
    let proxy = try TestServer("proxy.py", [folder.put("expected", "me:hunter2")])
    var settings = HTTPSettings()
    settings.proxy = proxy.url
    settings.trustedCertificates = authority("ca.pem")
    let password = Secret(path: folder("password"))
    settings.proxyCredentials = ("me", password)
    for (word, isRight) in [("hunter3", false), ("hunter2", true)] {
      folder.put("password", "\(word)\n")
      for url in [plain.url, "https://127.0.0.1:\(secure.port)"] {
        let destination = LinesDestination(url: url, settings: settings)
        if isRight {
          _ = try await destination.send(TestBatch().batch)
          continue
        }
        let error = await #expect(throws: DeliveryError.self) {
          _ = try await destination.send(TestBatch().batch)
        }
        #expect(error?.remedy == .waitForAction, "\(url): \(error as Any)")
        #expect(error?.message.contains("407") == true, "\(error as Any)")
        #expect(error?.message.contains("hunter") == false, "\(error as Any)")
      }
    }
    #expect(try plain.requests.count == 1 && secure.requests.count == 1)
  }

  @Test("http_proxy is followed but where no_proxy or 'proxy = none' says otherwise")
  func environment() throws {
    let receiver = try TestReceiver()
    let proxy = try TestServer("proxy.py")
    for (variables, settings, count) in [
      ("http_proxy=\(proxy.url)", "", 1),
      ("http_proxy=\(proxy.url) no_proxy=127.0.0.1", "", 1),
      ("http_proxy=\(proxy.url) NO_PROXY=example.com,127.0.0.0/8,127.0.0.1", "", 1),
      ("http_proxy=\(proxy.url)", "--set proxy=none", 1),
      ("no_proxy=example.com", "--set proxy=\(proxy.url)", 2),
    ] {
      let logs = folder("logs.\(UUID().uuidString)")
      try Folder.make(logs)
      let archive = "\(logs)/\(TestLog.sealedName())"
      try Folder.write(TestLog.sealed(), to: archive)
      let command = """
        unset http_proxy no_proxy NO_PROXY all_proxy ALL_PROXY
        exec env \(variables) '\(ChildProcess.path(of: "mmlog-ship"))' --once \
          --to \(receiver.url)/logs \(settings) '\(logs)'
        """
      try ChildProcess.run("sh", ["-ec", command], output: folder("output"))
      #expect(try requests(proxy).count == count, "\(variables) \(settings)")
    }
    #expect(try receiver.requests.count == 5)
  }

  @Test("the password of a proxy that the environment names is in no error")
  func passwordInEnvironment() throws {
    let logs = folder("logs")
    try Folder.make(logs)
    for proxy in [
      "socksx://me:hunter2@127.0.0.1:1", "http://me:hunter2@127.0.0.1:99999",
      "http://me:hunter2/@127.0.0.1:99999", "me:hunter2@127.0.0.1:99999",
      "http://me:hun'ter2@127.0.0.1:99999",
    ] {
      let program = try ChildProcess(
        "env",
        [
          "-u", "no_proxy", "-u", "NO_PROXY", "http_proxy=\(proxy)",
          ChildProcess.path(of: "mmlog-ship"), "--check", "--to", "http://127.0.0.1:1/logs", logs,
        ], output: folder("said"))
      #expect(program.wait() == .exited(1))
      let said = Folder.text(folder("said")) + program.complaints
      #expect(said.contains("***@127.0.0.1"), "\(said)")
      #expect(!said.contains("hun"), "\(said)")
    }
  }

  @Test("a header that names a page and an address is no secret")
  func pageAndAddress() throws {
    var settings = DestinationSettings(url: try DestinationURL("http://h/"))
    try settings.set("header", "User-Agent: mmlog (+https://example.com/bot; ops@example.com)")
  }

  @Test(
    "a secret on the command line or in the configuration is refused, and the error has it not",
    arguments: [
      ("http://h/", "proxy", "http://me:hunter2@proxy:3128"),
      ("s3://logs", "endpoint", "https://me:hunter2@minio"),
      ("http://h/", "header", "Authorization: Bearer hunter2"),
      ("http://h/", "header", "x-api-key:hunter2"),
      ("http://h/", "header", "uptrace-dsn: hunter2"),
      ("http://h/", "header", "X-Signature: hunter2"),
      ("http://h/", "header", "X-Credential: hunter2"),
      ("http://h/", "header", "X-Project: https://hunter2@api.example.com"),
      ("kafka://h:1/t", "property", "sasl.password=hunter2"),
      ("kafka://h:1/t", "property", "ssl.key.password = hunter2"),
      ("kafka://h:1/t", "property", "sasl.oauthbearer.client.secret=hunter2"),
      ("http://me:hunter2@h/", "", ""),
      ("clickhouse+http://h/?user=a&password=hunter2", "", ""),
    ])
  func secrets(url: String, name: String, value: String) throws {
    let error = #expect(throws: SettingError.self) {
      var settings = DestinationSettings(url: try DestinationURL(url))
      try settings.set(name, value)
    }
    #expect(error?.description.contains("-file") == true, "\(error as Any)")
    #expect(error?.description.contains("hunter") == false)
  }
}
