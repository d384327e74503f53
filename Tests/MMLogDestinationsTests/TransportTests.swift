import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Programs between `mmlog-ship` and receivers: Debian's stunnel and nginx.
@Suite("stunnel and nginx") struct TransportTests {
  private let authority: TestAuthority

  init() throws { authority = try TestAuthority() }

  private func send(_ url: String, _ change: (inout HTTPSettings) -> Void) async throws {
    var settings = HTTPSettings()
    change(&settings)
    _ = try await LinesDestination(url: url, settings: settings).send(TestBatch().batch)
  }

  private func show(_ settings: inout HTTPSettings, of authority: TestAuthority) {
    settings.certificate = authority("client.pem")
    settings.certificateKey = authority("client.key")
  }

  @Test(
    "stunnel lets a client of its authority through, and no other; a server of another is refused",
    .enabled(if: Program.path("stunnel") != nil, "there is no stunnel: Tools/setup --receivers"))
  func stunnel() async throws {
    let receiver = try TestReceiver()
    let held = try HeldPort()
    let port = held.number
    let configuration = receiver.folder.put(
      "stunnel.conf",
      """
      foreground = yes
      pid =
      [logs]
      accept = 127.0.0.1:\(port)
      connect = 127.0.0.1:\(receiver.port)
      cert = \(authority("server.pem"))
      key = \(authority("server.key"))
      CAfile = \(authority("ca.pem"))
      verifyChain = yes

      """)
    let stunnel = try ChildProcess(
      "stunnel", [configuration], output: receiver.folder("stunnel.log"))
    try stunnel.wait { isListening(held.number) }
    let url = "https://127.0.0.1:\(port)/logs"
    try await send(url) {
      $0.trustedCertificates = authority("ca.pem")
      show(&$0, of: authority)
    }
    let other = try TestAuthority()
    for (name, change) in [
      ("no certificate", { (_: inout HTTPSettings) in }),
      ("a certificate of another authority", { show(&$0, of: other) }),
      ("a server of another authority", { $0.trustedCertificates = other("ca.pem") }),
      ("a certificate that is not there", { $0.certificate = "/nowhere.pem" }),
    ] {
      var error: DeliveryError?
      // A reset of the connection may overtake the alert with the reason. Then the test tries
      // again.
      for _ in 0..<20 {
        error = await #expect(throws: DeliveryError.self) {
          try await send(url) {
            $0.trustedCertificates = authority("ca.pem")
            change(&$0)
          }
        }
        if error?.remedy == .waitForAction { break }
      }
      #expect(error?.remedy == .waitForAction, "\(name): \(error as Any)")
    }
    #expect(try receiver.requests.count == 1)
  }

  /// Starts nginx with a configuration that has these servers.
  private func nginx(_ servers: String, in folder: TemporaryDirectory) throws -> ChildProcess {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: " ")
    // Without this, nginx's workers could not write into the folder.
    let user = getuid() == 0 ? "user root;" : ""
    let path = folder.put(
      "nginx.conf",
      """
      \(user) daemon off; master_process off; pid \(folder.path)/nginx.pid;
      error_log \(folder.path)/nginx.log; events {}
      http { access_log off; \(temporary)
      \(servers)
      }
      """)
    return try ChildProcess("nginx", ["-c", path], output: folder("nginx.out"))
  }

  private func tls(_ port: UInt16) -> String {
    """
    listen 127.0.0.1:\(port) ssl; ssl_certificate \(authority("server.pem"));
    ssl_certificate_key \(authority("server.key"));
    ssl_client_certificate \(authority("ca.pem")); ssl_verify_client on;
    """
  }

  @Test(
    "what nginx says of a connection stops all, where what it says of a body stops that; redirects too",
    .enabled(if: Program.path("nginx") != nil, "there is no nginx: Tools/setup --receivers"))
  func nginxInFront() async throws {
    let receiver = try TestReceiver()
    let folder = receiver.folder
    let (held, other) = (try HeldPort(), try TestAuthority())
    let port = held.number
    let nginx = try nginx(
      """
      server {
        \(tls(port))
        location / { proxy_pass \(receiver.url); }
        location /moved { return 308 \(receiver.url)/; }
        location /small { client_max_body_size 10; proxy_pass \(receiver.url); }
      }
      server { listen unix:\(folder.path)/socket; location / { proxy_pass \(receiver.url); } }
      """, in: folder)
    try nginx.wait { isListening(held.number) }
    let url = "https://127.0.0.1:\(port)"
    try await send("\(url)/logs") {
      $0.trustedCertificates = authority("ca.pem")
      show(&$0, of: authority)
    }
    try await send("http://logs/") { $0.unixSocket = folder("socket") }
    #expect(try receiver.requests.count == 2)
    let cases: [(String, TestAuthority?, DeliveryError.Remedy)] = [
      ("\(url)/logs", nil, .waitForAction), ("\(url)/logs", other, .waitForAction),
      ("http://127.0.0.1:\(port)/logs", authority, .waitForAction),
      ("\(url)/moved", authority, .waitForAction), ("\(url)/small", authority, .makeSmaller),
    ]
    for (url, client, remedy) in cases {
      let error = await #expect(throws: DeliveryError.self) {
        try await send(url) {
          $0.trustedCertificates = authority("ca.pem")
          if let client { show(&$0, of: client) }
        }
      }
      #expect(error?.remedy == remedy, "\(url): \(error as Any)")
    }
    #expect(try receiver.requests.count == 2)
  }

  @Test(
    "mmlog-receive behind nginx, as the documentation has it, goes on with an upload that was cut",
    .enabled(if: Program.path("nginx") != nil, "there is no nginx: Tools/setup --receivers"))
  func receiveBehindNginx() async throws {
    let folder = TemporaryDirectory()
    let receive = try ChildProcess(
      ChildProcess.path(of: "mmlog-receive"),
      [
        "-d", folder("received"), "--listen", "unix:\(folder("socket"))", "--keep-free", "0",
        "--timeout", "86400",
      ], errors: folder("errors"))
    try receive.wait { receive.complaints.contains("listening on ") }
    let held = try HeldPort()
    let port = held.number
    let location = try #require(Guide.blocks(of: "nginx").first)
    let nginx = try nginx(
      """
      server {
        \(tls(port))
        \(location.replacing("/run/mmlog-receive/socket", with: folder("socket")))
      }
      """, in: folder)
    try nginx.wait { isListening(held.number) }
    var settings = HTTPSettings()
    settings.trustedCertificates = authority("ca.pem")
    show(&settings, of: authority)
    let url = "https://127.0.0.1:\(port)/archives"
    let bytes = (1...300).flatMap { TestLog.sealed(session: $0) }
    let name = TestLog.sealedName()
    try FileManager.default.createDirectory(
      atPath: folder("sent"), withIntermediateDirectories: false)
    folder.put("sent/\(name)", bytes)
    // The first half has arrived, as if the connection had broken then.
    let half = bytes.count / 2
    let range = "bytes 0-\(half - 1)/\(bytes.count)"
    let begun = try await HTTPClient(settings).send(
      HTTPRequest(
        "PUT", "\(url)/\(name)", headers: [("Content-Range", range)],
        body: .file(SentFile(File.open(folder("sent/\(name)"), .read)), range: 0..<half)))
    #expect(begun.status == 202, "\(begun.text)")
    let info = try #require(try Catalog(of: folder("sent"), store: nil).scan().first)
    let identity = try ArchiveInfo.identity(ofArchiveAt: info.path)
    let destination = PutDestination(url: url, resumeSize: 1, settings: settings)
    let receipt = try await destination.send(SealedArchive(info: info, identity: identity))
    #expect(receipt?.hasPrefix("crc32c=") == true)
    #expect(try folder.bytes("received/orders/tokyo/\(name)") == bytes)
  }
}
