import Foundation
import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

/// `mmlog-receive` as clients see it.
@Suite struct ReceiveTests {
  private let archive = TestLog.sealed()
  private let name = TestLog.sealedName()

  @Test("curl sends an archive, sends it again, and asks for it")
  func curl() throws {
    let receiver = try ReceiverProcess()
    let folder = receiver.folder
    let path = folder.put(name, archive)
    let target = "\(receiver.address)/archives/"
    let arguments = ["--silent", "--include", "--header", "If-None-Match: *"]
    let first = Response(try run("curl", arguments + ["-T", path, target], in: folder).output)
    #expect(first.status == 201 && first["records"] as? Int == 80, "\(first)")
    #expect(first["archive"] as? String == "orders/tokyo/\(name)")
    let again = Response(try run("curl", arguments + ["-T", path, target], in: folder).output)
    #expect(again.status == 200 && again["outcome"] as? String == "unchanged", "\(again)")
    #expect(again.fields["repr-digest"] == first.fields["repr-digest"])
    let head = Response(try run("curl", ["-sI", target + name], in: folder).output)
    #expect(head.status == 200 && head.fields["upload-complete"] == "?1", "\(head)")
    #expect(head.fields["upload-offset"] == "\(archive.count)")
    // curl sends input of unknown size in chunks.
    let chunked = ["--silent", "--include", "-T", "-", target + "x"]
    let other = TestLog.sealed(session: 2)
    let piped = try ChildProcess(
      "curl", chunked, input: folder.put("two", other), output: folder("out"))
    #expect(piped.wait() == .success)
    #expect(Response(Folder.text(folder("out"))).status == 201)
    #expect(receiver.files.count == 2)
    #expect(receiver.stop() == .success)
    #expect(receiver.log.contains("stored orders/tokyo/\(name)"), "\(receiver.log)")
  }

  @Test("the largest number that there is can be the limit of an archive")
  func largestLimit() throws {
    let receiver = try ReceiverProcess(["--max-archive", "\(Int.max)"])
    let arguments = ["-s", "-i", "-T", receiver.folder.put(name, archive)]
    let sent = try run("curl", arguments + ["\(receiver.address)/archives/"], in: receiver.folder)
    #expect(Response(sent.output).status == 201, "\(sent)")
    #expect(receiver.stop() == .success)
  }

  @Test("an upload that was cut, by the client or by kill -9, goes on")
  func cut() throws {
    let receiver = try ReceiverProcess()
    let places = archivePlaces(in: archive)
    let cuts = [100, 512, places[2] + 20, places[3] - 9, places[3], archive.count - 20]
    for (index, cut) in cuts.enumerated() {
      var wire: Wire? = try receiver.wire()
      wire?.put("x", size: archive.count)
      wire?.send(archive[..<cut])
      try receiver.process.wait {
        try receiver.head("x").fields["upload-offset"] == "\(cut)"
      }
      if index % 2 == 0 {
        receiver.process.kill()
        #expect(receiver.process.wait() == .killed(SIGKILL))
        try receiver.restart()
      }
      wire = nil
      let response = try receiver.send(archive, from: cut, as: "x")
      #expect(response.status == 201, "\(cut): \(response)")
      #expect(receiver.files == ["orders/tokyo/\(name)"], "\(cut)")
      #expect(try receiver.folder.bytes("received/orders/tokyo/\(name)") == archive)
      Folder.remove(receiver.folder("received/orders"))
    }
    #expect(receiver.stop() == .success)
  }

  @Test("corruption is reported with its place")
  func corrupted() throws {
    let receiver = try ReceiverProcess()
    var wrong = archive
    wrong[archivePlaces(in: archive)[3] - 12] ^= 5
    let response = try receiver.send(wrong, as: "x")
    #expect(response.status == 422, "\(response)")
    #expect(response.fields["content-type"] == "application/problem+json")
    let places = response["corruption"] as? [[String: Any]]
    #expect(places?.first?["offset"] as? Int == archivePlaces(in: archive)[2], "\(response)")
    #expect((places?.first?["reason"] as? String)?.contains("payload") == true)
    #expect(receiver.files == [])
    #expect(receiver.log.contains("refused a request of anyone: 422"))
  }

  @Test("two that send the same archive at once both learn that it is there")
  func atOnce() throws {
    let receiver = try ReceiverProcess()
    for round in 0..<5 {
      let wires = try (0..<2).map { _ in try receiver.wire() }
      for (index, wire) in wires.enumerated() {
        wire.put("\(round).\(index)", size: archive.count)
        wire.send(archive.dropLast())
      }
      for wire in wires { wire.send(archive.suffix(1)) }
      let statuses = wires.map { $0.response().status }.sorted()
      #expect(statuses == (round == 0 ? [200, 201] : [200, 200]))
    }
    // An upload has one request at a time.
    let (first, second) = (try receiver.wire(), try receiver.wire())
    first.put("x", size: archive.count)
    try receiver.process.wait {
      first.send([])
      return receiver.files.contains { $0.hasPrefix(".mmlog-receive/") }
    }
    second.put("x", size: archive.count)
    second.send(archive)
    #expect(second.response().status == 409)
    first.send(archive)
    #expect(first.response().status == 200)
    #expect(receiver.files == ["orders/tokyo/\(name)"])
  }

  @Test("a service manager is notified when connections are taken, and of the end")
  func notification() throws {
    let folder = TemporaryDirectory()
    let socket = try DatagramSocket(folder("notify"))
    let program = ChildProcess.path(of: "mmlog-receive")
    let process = try ChildProcess(
      "env",
      [
        "NOTIFY_SOCKET=\(folder("notify"))", program, "-d", folder("received"), "-l",
        "127.0.0.1:0",
      ], errors: folder("errors"))
    #expect(socket.receive() == "READY=1")
    #expect(process.complaints.contains("listening on http://127.0.0.1:"))
    process.signal(SIGTERM)
    #expect(socket.receive() == "STOPPING=1")
    #expect(process.wait() == .success)
  }

  // MARK: - Who may send

  @Test("without a token that is known nothing is received, and a token that is removed is not")
  func tokens() throws {
    let folder = TemporaryDirectory()
    let tokens = folder.put("tokens", "orders 0123456789abcdef\n")
    chmod(tokens, 0o600)
    let receiver = try ReceiverProcess(["--tokens", tokens], in: folder)
    for authorization in ["X: y", "Authorization: Bearer 0123456789abcdeF", "Authorization: x"] {
      let response = try receiver.send(archive, as: "x", authorization)
      #expect(response.status == 401 && response.fields["www-authenticate"] != nil)
    }
    let right = "Authorization: Bearer 0123456789abcdef"
    #expect(try receiver.send(archive, as: "x", right).status == 201)
    // A program that monitors the receiver needs no token.
    let health = try receiver.wire()
    health.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(health.response().status == 200)
    #expect(try receiver.head("x").status == 401)
    folder.put("tokens", "orders fedcba9876543210\n")
    #expect(try receiver.send(archive, as: "x", right).status == 401)
    chmod(tokens, 0o644)
    #expect(try receiver.send(archive, as: "x", right).status == 503)
    #expect(receiver.log.contains("can be read by every user"))
    #expect(!receiver.log.contains("0123456789abcdef"))
  }

  @Test("who can be reached from elsewhere needs tokens, and a command line that is wrong is said")
  func usage() throws {
    let folder = TemporaryDirectory()
    let program = ChildProcess.path(of: "mmlog-receive")
    let large = folder.put("large", [UInt8](repeating: 0x20, count: (1 << 20) + 1))
    let cases: [([String], Int32, String)] = [
      (["--listen", "0.0.0.0:0"], 2, "add '--tokens FILE'"),
      (["--listen", "nowhere"], 2, "HOST:PORT or unix:PATH"),
      (["--tls-key", "x"], 2, "belong together"),
      (["--max-archive", "much"], 2, "a size as 500M"),
      (["--tokens", folder("none")], 1, "Reading the tokens failed"),
      (["--listen", "unix:\(folder("none/socket"))"], 1, "Listening failed"),
      (["--listen", "nosuch.invalid:80"], 1, "no address is known for 'nosuch.invalid'"),
      (["--tls-certificate", large, "--tls-key", large], 1, "is larger than 1048576 bytes"),
    ]
    for (arguments, status, complaint) in cases {
      let result = try run(program, ["-d", folder("received")] + arguments, in: folder)
      #expect(result.ending == .exited(status), "\(arguments): \(result.errors)")
      #expect(result.errors.contains(complaint), "\(result.errors)")
    }
    let file = folder.put("file", "precious")
    let refused = try run(program, ["-d", folder("received"), "-l", "unix:\(file)"], in: folder)
    #expect(refused.ending == .exited(1) && refused.errors.contains("Listening failed"))
    #expect(try folder.bytes("file") == Array("precious".utf8))
    let receiver = try ReceiverProcess(in: folder)
    let second = try run(program, ["-d", folder("received"), "-l", "127.0.0.1:0"], in: folder)
    #expect(second.ending == .exited(1) && second.errors.contains("has a receiver already"))
    #expect(receiver.stop() == .success)
  }

  @Test("archives come over TLS, and over a Unix socket")
  func tlsAndUnixSocket() throws {
    let folder = TemporaryDirectory()
    let (certificate, key) = (folder("certificate"), folder("key"))
    let made = try run(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout", key, "-out", certificate,
      ], in: folder)
    try #require(made.ending == .success, "\(made.errors)")
    let path = folder.put(name, archive)
    let secure = try ReceiverProcess(
      ["--tls-certificate", certificate, "--tls-key", key], in: folder)
    #expect(secure.address.hasPrefix("https://"))
    let target = "\(secure.address)/archives/"
    let arguments = ["-s", "-i", "-T", path]
    let refused = try run("curl", arguments + [target], in: folder)
    #expect(refused.ending == .exited(60))
    let sent = try run("curl", arguments + ["--cacert", certificate, target], in: folder)
    #expect(sent.output.contains(" 201 "), "\(sent)")
    #expect(secure.stop() == .success)

    let socket = folder("socket")
    let local = try ReceiverProcess(in: folder, listen: "unix:\(socket)")
    let status = try File.status(ofPath: socket)
    #expect(status.permissions & 0o777 == 0o660)
    let throughSocket = ["--unix-socket", socket, "http://x/archives/"]
    let again = try run("curl", arguments + throughSocket, in: folder)
    #expect(Response(again.output).status == 200, "\(again)")
    local.process.kill()
    #expect(local.process.wait() == .killed(SIGKILL))
    // The socket that the killed receiver has left does no harm.
    try local.restart()
    let once = try run("curl", arguments + throughSocket, in: folder)
    #expect(Response(once.output).status == 200, "\(once)")
    #expect(local.stop() == .success)
    #expect(!FileManager.default.fileExists(atPath: socket))
  }

  // MARK: - Hostile clients

  @Test("requests that no client sends are answered, and the next one is served")
  func hostile() throws {
    let receiver = try ReceiverProcess(["--max-archive", "1M", "--timeout", "30"])
    let long = String(repeating: "x", count: 100_000)
    let many = (0..<100_000).map { "h\($0): x\r\n" }.joined()
    func put(_ name: String, _ fields: String..., body: String = "abc") -> String {
      let lines = ["PUT /archives/\(name) HTTP/1.1", "Host: x"] + fields
      return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }
    let three = "Content-Length: 3"
    let cases: [(String, ClosedRange<Int>)] = [
      ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404...404),
      (put("../../etc/passwd", three), 422...422),
      (put("%2e%2e%2f%2e%2e%2fx", three), 422...422),
      (put("%00%0a", three), 400...404),
      (put("%ff", three), 400...400),
      ("DELETE /archives/x HTTP/1.1\r\nHost: x\r\n\r\n", 405...405),
      ("POST /archives/x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 405...405),
      (put("x", "Content-Length: 1073741824", body: ""), 413...413),
      (put("x", "Content-Length: 99999999999999999999", body: ""), 400...413),
      (put("x", "Content-Length: -5", body: ""), 400...400),
      (put("x", three, "Content-Length: 5", body: "abcde"), 400...400),
      (put("x", three, "Content-Range: bytes 5-7/8"), 409...409),
      (
        put("x", three, "Content-Range: bytes 0-2/8", "Content-Range: bytes 0-2/9"), 400...400
      ),
      (
        put("x", three, "Transfer-Encoding: chunked", body: "3\r\nabc\r\n0\r\n\r\n"), 400...400
      ),
      (put("x", three, "Content-Encoding: gzip"), 415...415),
      (put(long, body: ""), 400...431),
      ("GET /health HTTP/1.1\r\nHost: x\r\n\(many)\r\n", 400...431),
      ("GET /health HTTP/1.1\r\nHost: x\r\nx: \(long)\(long)\r\n\r\n", 400...431),
      ("\u{0}\u{1}\u{2} nonsense\r\n\r\n", 0...505),
    ]
    for (text, statuses) in cases {
      let wire = try receiver.wire()
      wire.send(text)
      // The answer may be lost if much of the request is still unread.
      let status = wire.response().status
      let isLost = status == 0 && text.utf8.count > 90_000
      #expect(statuses ~= status || isLost, "\(text.prefix(99)): \(status)")
    }
    #expect(receiver.files == [])
    #expect(try receiver.send(archive, as: "x").status == 201)
    #expect(receiver.stop() == .success)
  }

  @Test("who cannot listen, because another program does, learns what to do")
  func takenAddress() throws {
    let receiver = try ReceiverProcess()
    let folder = TemporaryDirectory()
    let arguments = ["-d", folder("received"), "--listen", "127.0.0.1:\(receiver.port)"]
    let second = try run(ChildProcess.path(of: "mmlog-receive"), arguments, in: folder)
    #expect(second.ending == .exited(1) || second.ending == .exited(2), "\(second)")
    #expect(second.errors.contains("Address already in use"), "\(second)")
    #expect(second.errors.contains("choose another --listen"), "\(second)")
    #expect(!second.errors.contains("open the socket"), "\(second)")
    #expect(receiver.stop() == .success)
  }

  @Test("clients that send nothing, or a byte now and then, do not keep others out")
  func slow() throws {
    let receiver = try ReceiverProcess(["--connections", "3", "--timeout", "1"])
    let silent = try receiver.wire()
    let trickling = try receiver.wire()
    let body = try receiver.wire()
    body.put("slow", size: archive.count)
    body.send(archive[..<600])
    let ends = LockedValue(0)
    DispatchQueue.concurrentPerform(iterations: 3) { index in
      switch index {
      case 0: _ = silent.waitForEnd()
      case 1: while trickling.send("a") { usleep(50_000) }
      default: while body.send([archive[600]]) { usleep(50_000) }
      }
      ends.withLock { $0 += 1 }
    }
    #expect(ends.withLock { $0 } == 3)
    // If the machine is busy, this client may be too slow, too.
    var status = 0
    for _ in 0..<100 where status == 0 { status = try receiver.send(archive, as: "x").status }
    #expect(status == 201)
    #expect(receiver.stop() == .success)
  }

  @Test(
    "memory does not grow with what is sent",
    .disabled(if: isSanitized, "A sanitizer takes memory of its own for each byte."))
  func memory() throws {
    let receiver = try ReceiverProcess()
    let fileHeader = Array(archive[..<FileHeaderLayout.size])
    let frame = try frame(of: try ArchiveID(fileHeader), payloadSize: 4 << 20)
    let peak = { () -> Int in
      let path = "/proc/\(receiver.process.id)/status"
      let status = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
      return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }
    #expect(try receiver.send(archive, as: "x").status == 201)
    let before = peak()
    let wire = try receiver.wire()
    wire.put("large", size: fileHeader.count + 64 * frame.count)
    wire.send(fileHeader)
    for _ in 0..<64 { wire.send(frame) }
    let response = wire.response()
    #expect(response.status == 422 && response.body.contains("not sealed"), "\(response)")
    #expect(before > 0 && peak() - before < 16 << 10, "\(before) to \(peak()) KiB")
  }

  /// A valid frame that is larger than other frames of its type.
  private func frame(of archive: ArchiveID, payloadSize: Int) throws -> [UInt8] {
    let payload = [UInt8](repeating: 7, count: payloadSize)
    var header = FrameHeader(.losses)
    (header.payloadSize, header.rawSize) = (payloadSize, payloadSize)
    header.payloadChecksum = payload.withUnsafeBytes { crc32c($0) }
    header.archive = archive
    var bytes: [UInt8] = []
    header.encode(into: &bytes)
    return bytes + payload
  }

  @Test(
    "a full disk is said, and what came goes on when there is room",
    .enabled(if: mountsCanBeMade, "no file system can be mounted"))
  func fullDisk() throws {
    let folder = TemporaryDirectory()
    let disk = folder("received")
    mkdir(disk, 0o700)
    try #require(mount("tmpfs", disk, "tmpfs", 0, "size=2m") == 0)
    defer { umount2(disk, CInt(MNT_DETACH)) }
    let receiver = try ReceiverProcess(in: folder)
    // The archive needs more than the page that its beginning takes.
    let archive = TestLog.sealed(frames: 30)
    // This upload is too large for the file system.
    let large = try receiver.wire()
    large.put("large", size: 3 << 20)
    #expect(large.response().status == 507)
    // The file system is filled while an archive arrives.
    let wire = try receiver.wire()
    wire.put("x", size: archive.count)
    wire.send(archive[..<600])
    try receiver.process.wait { try receiver.head("x").fields["upload-offset"] == "600" }
    let filler = disk + "/filler"
    try fill(filler)
    wire.send(archive[600...])
    let response = wire.response()
    #expect(response.status == 507, "\(response)")
    unlink(filler)
    let offset = try Int(#require(receiver.head("x").fields["upload-offset"]))
    let rest = try receiver.send(archive, from: #require(offset), as: "x")
    #expect(rest.status == 201, "\(rest)")
    #expect(receiver.stop() == .success)
  }

  /// Makes a file that takes all free space.
  private func fill(_ path: String) throws {
    let file = try File.open(path, [.write, .create])
    let page = [UInt8](repeating: 1, count: 4096)
    var size = 0
    while (try? page.withUnsafeBytes({ try file.writeFully($0, at: size) })) != nil { size += 4096 }
  }

  // MARK: - What is stored

  @Test("mmlog-decode reads what came of many services and hosts, and mmlogctl prunes it")
  func reading() throws {
    let receiver = try ReceiverProcess()
    let folder = receiver.folder
    var session = 0 as UInt64
    for service in ["orders", "billing", ".hidden"] {
      for host in ["tokyo", "osaka", "../../kyoto"] {
        for _ in 0..<3 {
          session += 1
          let archive = TestLog.sealed(session: session, store: service, host: host)
          #expect(try receiver.send(archive, as: "\(session)").status == 201)
        }
      }
    }
    #expect(receiver.stop() == .success)
    let decode = ChildProcess.path(of: "mmlog-decode")
    let count = try run(decode, ["-R", "-c", folder("received")], in: folder)
    #expect(count.ending == .success && count.errors == "", "\(count.errors)")
    #expect(count.output.trimmingCharacters(in: .whitespacesAndNewlines) == "\(27 * 80)")
    let verify = try run(decode, ["verify", "-R", folder("received")], in: folder)
    #expect(verify.ending == .success, "\(verify.output)")
    let report = try run(
      decode, ["report", "-R", "-o", folder("report.html"), folder("received")], in: folder)
    #expect(report.ending == .success, "\(report.errors)")
    #expect(Folder.text(folder("report.html")).contains("tokyo"))
    let places = ["orders/tokyo", "billing/%2E.%2F..%2Fkyoto", "%2Ehidden/osaka"]
    let pruned = try run(
      ChildProcess.path(of: "mmlogctl"),
      ["prune", "--count", "1", "--crashes", "0"] + places.map { folder("received/\($0)") },
      in: folder)
    #expect(pruned.ending == .success, "\(pruned.errors)")
    for place in places {
      let left = try folder.names("received/\(place)").filter { $0.hasSuffix(".mmlog") }
      #expect(left.count == 1, "\(place): \(left)")
    }
  }
}

extension ArchiveID {
  /// The id of the archive that begins with this file header.
  fileprivate init(_ fileHeader: [UInt8]) throws {
    self = try fileHeader.withUnsafeBytes { try ArchiveHeader($0) }.id
  }
}
