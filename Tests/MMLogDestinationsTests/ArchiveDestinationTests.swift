import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import MMLogStorage
import TestSupport
import Testing

@Suite("Whole archives") struct ArchiveDestinationTests {
  /// A sealed archive of some megabytes of what compresses badly.
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
        // Further away than what zlib remembers.
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
    // It is there, the same.
    #expect(try await destination.send(sealed.archive) == "crc32c=\(checksum)")
    // Something else is there.
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(sealed.archive)
    }
    #expect(error?.remedy == .halve)
  }

  @Test(
    "S3 has the archive once, in one piece or in parts, and an upload goes on where it was killed",
    .enabled(
      if: Python.has("moto.server"), "python3 has no module moto: pip install 'moto[server]'"))
  func s3() async throws {
    let folder = TemporaryDirectory()
    let port = Int.random(in: 20_000..<30_000)
    let server = try ChildProcess(
      "python3", ["-m", "moto.server", "-H", "127.0.0.1", "-p", "\(port)"],
      output: "\(folder.path)/output")
    let keys = "\(folder.path)/keys"
    try Data("AKIDEXAMPLE:hunter2\n".utf8).write(to: URL(filePath: keys))
    var settings = HTTPSettings()
    settings.credentials = .aws(keys: Secret(path: keys), region: "us-east-1", service: "s3")
    settings.maximumResponse = 64 << 20
    let client = HTTPClient(settings)
    let bucket = "http://127.0.0.1:\(port)/logs"
    while true {
      #expect(server.isRunning)
      if let made = try? await client.send(HTTPRequest("PUT", bucket)), made.isSuccess { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    let small = try Sealed()
    let destination = S3Destination(bucket: bucket, prefix: "a b", settings: settings)
    try await destination.check()
    let first = try await destination.send(small.archive)
    #expect(first?.hasPrefix("crc32c=") == true && first?.contains("etag=") == true)
    #expect(try await destination.send(small.archive)?.hasPrefix("crc32c=") == true)

    // The first part is there, as after a crash.
    let large = try Sealed(megabytes: 16)
    #expect(large.bytes.count > 11 << 20)
    let (host, file) = (large.archive.identity.hostName, large.archive.info.fileName)
    let url = "\(bucket)/orders/\(host)/\(file)"
    let begun = try await client.send(
      HTTPRequest("POST", "\(url)?uploads=", headers: [("x-amz-checksum-algorithm", "CRC32C")]))
    #expect(begun.isSuccess, "\(begun.text)")
    let parts = S3Destination(
      bucket: bucket, multipartSize: 1 << 20, partSize: 5 << 20, settings: settings)
    #expect(try await parts.send(large.archive)?.hasPrefix("crc32c=") == true)
    let stored = try await client.send(HTTPRequest("GET", url))
    #expect(stored.isSuccess && Data(stored.body) == large.bytes)
    // Again: it is there.
    #expect(try await parts.send(large.archive)?.hasPrefix("crc32c=") == true)
    let left = try await client.send(HTTPRequest("GET", "\(bucket)?uploads="))
    #expect(!left.text.contains("<UploadId>"), "\(left.text)")
  }
}
