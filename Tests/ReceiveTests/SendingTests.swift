import Foundation
import MMLogDestinations
import MMLogReader
import MMLogShipping
import MMLogStorage
import TestSupport
import Testing

/// `mmlog-receive` and the destination of `put+http:` URLs together.
@Suite struct SendingTests {
  private let receiver: ReceiverProcess
  private let name = TestLog.sealedName()

  init() throws {
    receiver = try ReceiverProcess()
    try FileManager.default.createDirectory(
      atPath: receiver.folder("sent"), withIntermediateDirectories: false)
  }

  /// An archive as a shipper finds it in a directory.
  private func archive(_ bytes: [UInt8], attempt: Int = 1) throws -> SealedArchive {
    receiver.folder.put("sent/\(name)", bytes)
    let info = try #require(
      try Catalog(of: receiver.folder("sent"), store: nil).scan().first { $0.fileName == name })
    let identity = try ArchiveInfo.identity(ofArchiveAt: info.path)
    return SealedArchive(info: info, identity: identity, attempt: attempt)
  }

  private func stored() throws -> [UInt8] {
    try receiver.folder.bytes("received/orders/tokyo/\(name)")
  }

  private func destination(resumeSize: Int = 1) -> PutDestination {
    PutDestination(url: "\(receiver.address)/archives", resumeSize: resumeSize)
  }

  @Test("an archive is stored once, its beginning is extended, and another one is refused")
  func sent() async throws {
    let bytes = TestLog.sealed()
    let destination = destination(resumeSize: .max)
    try await destination.check()
    let receipt = try await destination.send(try archive(bytes))
    #expect(receipt?.hasPrefix("crc32c=") == true)
    #expect(try await destination.send(try archive(bytes)) == receipt)
    let longer = bytes + TestLog.sealed(session: 2)
    #expect(try await destination.send(try archive(longer)) != receipt)
    #expect(try stored() == longer)
    #expect(try await destination.send(try archive(bytes)) == receipt)
    #expect(try stored() == longer)
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(try archive(TestLog.sealed(frames: 3)))
    }
    #expect(error?.remedy == .halve && error?.message.contains("differ") == true, "\(error as Any)")
    #expect(try stored() == longer && receiver.files.filter { $0.hasSuffix(".mmlog") }.count == 1)
    #expect(receiver.stop() == .success)
  }

  @Test("a large archive goes on where its upload was cut, and is not sent where it is there")
  func resumed() async throws {
    let bytes = (1...300).flatMap { TestLog.sealed(session: $0) }
    #expect(bytes.count > 1 << 20)
    let half = bytes.count / 2
    var wire: Wire? = try receiver.wire()
    wire?.put(name, size: bytes.count)
    wire?.send(bytes[..<half])
    try receiver.process.wait { try receiver.head(name).fields["upload-offset"] == "\(half)" }
    // The other client is still connected, so the archive is tried again later.
    let archive = try archive(bytes)
    let busy = await #expect(throws: DeliveryError.self) {
      _ = try await destination().send(archive)
    }
    if case .tryAgain(let delay?) = busy?.remedy {
      #expect(delay > .zero)
    } else {
      Issue.record("\(busy as Any)")
    }
    wire = nil
    var receipt: String?
    while receipt == nil {
      receipt = try? await destination().send(archive)
      try #require(receiver.process.isRunning)
    }
    #expect(try stored() == bytes)
    // The whole archive is sent again: the receiver answers before the body arrives.
    #expect(try await destination(resumeSize: .max).send(archive) == receipt)
    #expect(try await destination().send(archive) == receipt)
    #expect(receiver.stop() == .success)
  }

  @Test("bytes of another archive under the same name are sent over, from the beginning")
  func wrongBeginning() async throws {
    let (bytes, other) = (TestLog.sealed(frames: 9), TestLog.sealed(frames: 8))
    let wire = try receiver.wire()
    wire.put(name, size: 2000, "Content-Range: bytes 0-1999/\(other.count)")
    wire.send(other[..<2000])
    #expect(wire.response().status == 202)
    let archive = try archive(bytes)
    #expect(try await destination().send(archive)?.hasPrefix("crc32c=") == true)
    #expect(try stored() == bytes)
    #expect(receiver.stop() == .success)
  }
}
