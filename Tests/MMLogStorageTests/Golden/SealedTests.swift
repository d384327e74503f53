import Foundation
import MMLogCrypto
import MMLogFormat
import MMLogReader
import MMLogStorage
import TestSupport
import Testing

/// An encrypted ring under `Tests/Golden/sealed`, and what a recovery without its key has made of
/// it. Builds with libcrypto read both.
///
/// Their keys are random: they were made once, and nobody makes them again but who deletes them
/// before: `MMLOG_WRITE_GOLDEN=1 swift test --traits Encryption --filter SealedTests`.
@Suite(.enabled(if: Cryptography.isAvailable)) struct SealedTests {
  private let folder = "\(testsFolder)/Golden/sealed"
  private var identity: String { "\(folder)/identity" }

  init() throws {
    guard ProcessInfo.processInfo.environment["MMLOG_WRITE_GOLDEN"] != nil,
      try paths(".ring").isEmpty
    else { return }
    let recipients = try LogIdentities(files: [identity]).all.map(\.recipient)
    let ring = GoldenFiles.ring(RingCipher(try SlottedKey(for: recipients)), for: recipients)
    let name = "golden.\(GoldenFiles.identity(20).session).ring"
    let left = TemporaryDirectory()
    left.put(name, ring)
    _ = try LogRecovery.recover(left.path) { Issue.record("\($0)") }
    for archive in try left.names(ending: ".mmlog") {
      try Folder.write(left.bytes(archive), to: "\(folder)/\(archive)")
    }
    try Folder.write(ring, to: "\(folder)/\(name)")
  }

  private func paths(_ suffix: String) throws -> [String] {
    try Folder.names(folder).filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
  }

  /// The records of the ring that is not encrypted, with the session of the encrypted one.
  private func expected() throws -> [ReadRecord] {
    let lines = try Data(contentsOf: URL(fileURLWithPath: "\(testsFolder)/Golden/v2/ring.jsonl"))
    return try ReadRecord.parse(Array(lines)).map { record in
      var record = record
      record.session = "\(GoldenFiles.identity(20).session)"
      return record
    }
  }

  @Test("with the key, the ring and what was recovered are read", arguments: [".ring", ".mmlog"])
  func withTheKey(suffix: String) throws {
    let paths = try paths(suffix)
    let read = readHere(paths, identities: try LogIdentities(files: [identity]))
    #expect(read.records == (try expected()) && !read.records.isEmpty)
    guard let other = try readEncryptedInPython(paths, identity: identity) else { return }
    // Only the records are compared: the independent reader does not report numbers that are
    // missing between them.
    #expect(other.records == read.records)
  }

  @Test("without the key, neither is", arguments: [".ring", ".mmlog"])
  func withoutTheKey(suffix: String) throws {
    let read = readHere(try paths(suffix))
    #expect(read.records.isEmpty && read.hasTrouble)
  }

  @Test("the ring is recovered as it was then")
  func theRingIsRecovered() throws {
    let left = TemporaryDirectory()
    let ring = try #require(try paths(".ring").first)
    left.put(String(ring.split(separator: "/").last ?? ""), try Folder.read(ring))
    _ = try LogRecovery.recover(left.path) { Issue.record("\($0)") }
    let read = readHere([left.path], identities: try LogIdentities(files: [identity]))
    #expect(read.records == (try expected()))
  }
}
