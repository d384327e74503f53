import Foundation
import Glibc
import MMLog
import MMLogReader
import MMLogTaps
import Testing
import TestSupport

/// Fields of an entry as a receiver of the journal's native protocol takes it apart.
private func fields(of bytes: [UInt8]) throws -> [(String, [UInt8])] {
  var (fields, rest) = ([(String, [UInt8])](), bytes[...])
  while !rest.isEmpty {
    let end = try #require(rest.firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") })
    let name = String(decoding: rest[..<end], as: UTF8.self)
    let isText = rest[end] == UInt8(ascii: "=")
    rest = rest[(end + 1)...]
    let value: ArraySlice<UInt8>
    if isText {
      let end = try #require(rest.firstIndex(of: UInt8(ascii: "\n")))
      value = rest[..<end]
    } else {
      try #require(rest.count > 8)
      let size = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(8)
      try #require(rest.count > size)
      value = rest.prefix(size)
    }
    fields.append((name, Array(value)))
    rest = rest[value.endIndex...]
    #expect(rest.first == UInt8(ascii: "\n"))
    rest = rest.dropFirst()
  }
  return fields
}

@Suite("Records in the journal")
struct JournalTests {
  private func text(_ name: String, _ fields: [(String, [UInt8])]) -> String? {
    fields.first { $0.0 == name }.map { String(decoding: $0.1, as: UTF8.self) }
  }

  @Test("each record is an entry, and what it has are fields; bytes and line ends go as they are")
  func entries() throws {
    let folder = TemporaryDirectory()
    let path = folder("socket")
    let receiver = try TestReceiver(path: path)
    let test = try TestStore { $0.taps = [LogTap(Journal(path: path), from: .info)] }
    test.log.debug("not sent")
    test.log.warning(
      "order \(7, name: "order.id")\nPRIORITY=0",
      metadata: ["priority": "0", "_UID": "0", "9": .bytes([0, 10, 255]), "venue": "XETR"])
    try test.store.close()
    let messages = receiver.stop()
    try #require(messages.count == 1)
    let entry = try fields(of: messages[0].bytes)
    #expect(text("MESSAGE", entry) == "order 7\nPRIORITY=0")
    #expect(entry.filter { $0.0 == "PRIORITY" }.map(\.1) == [[UInt8(ascii: "4")]])
    #expect(text("SYSLOG_IDENTIFIER", entry) == "test")
    #expect(text("SYSLOG_PID", entry) == "\(getpid())")
    #expect(text("CODE_FILE", entry) == "MMLogTests/JournalTests.swift")
    #expect(text("MMLOG_LABEL", entry) == "test" && text("MMLOG_LEVEL", entry) == "warning")
    #expect(text("ORDER_ID", entry) == "7" && text("VENUE", entry) == "XETR")
    #expect(text("FIELD_PRIORITY", entry) == "0" && text("FIELD__UID", entry) == "0")
    #expect(entry.first { $0.0 == "FIELD_9" }?.1 == [0, 10, 255])
    let isValid = entry.allSatisfy { name, _ in
      name.utf8.first.map { (65...90).contains($0) } == true && name.utf8.count <= 64
        && name.utf8.allSatisfy { (65...90).contains($0) || (48...57).contains($0) || $0 == 95 }
    }
    #expect(isValid)
  }

  @Test("the entry that says what is missing is the store's whose records came before")
  func missing() throws {
    let folder = TemporaryDirectory()
    let path = folder("socket")
    let receiver = try TestReceiver(path: path)
    let test = try TestStore()
    test.log.info("one")
    let records = try test.closeAndRead().records
    var journal = Journal(path: path)
    #expect(try journal.write(records[...]) == 1)
    try journal.write(missing: 7)
    let messages = receiver.stop()
    try #require(messages.count == 2)
    let entry = try fields(of: messages[1].bytes)
    #expect(text("MESSAGE", entry) == LogTap.notice(ofMissing: 7))
    #expect(text("SYSLOG_IDENTIFIER", entry) == "test")
  }

  @Test("an entry that is too large for a datagram comes as a sealed file in memory")
  func large() throws {
    let folder = TemporaryDirectory()
    let path = folder("socket")
    let receiver = try TestReceiver(path: path)
    var tap = LogTap(Journal(path: path))
    // The record is in several frames, which wait together.
    tap.capacity = 16 << 20
    let test = try TestStore { [tap] in $0.taps = [tap] }
    let long = String(repeating: "long\n", count: 400_000)
    test.log.info("\(long, privacy: .public)")
    test.log.info("short")
    try test.store.close()
    let messages = receiver.stop()
    try #require(messages.count == 2)
    #expect(messages[0].bytes.isEmpty)
    #expect(text("MESSAGE", try fields(of: try #require(messages[0].file))) == long)
    #expect(text("MESSAGE", try fields(of: messages[1].bytes)) == "short")
  }

  @Test("a journal that goes and comes back gets what was logged meanwhile, and events say so")
  func goneAndBack() async throws {
    let folder = TemporaryDirectory()
    let path = folder("socket")
    let test = try TestStore { $0.taps = [LogTap(Journal(path: path))] }
    var events = test.store.events.makeAsyncIterator()
    let first = try TestReceiver(path: path)
    test.log.info("first")
    try await test.store.flush(.archive)
    while first.count < 1 { usleep(1000) }
    #expect(first.stop().count == 1)
    unlink(path)
    test.log.info("second")
    try await test.store.flush(.archive)
    while let event = await events.next() {
      if case .tapFailed(let tap, let error) = event {
        #expect(tap == "Journal" && "\(error)".contains(path))
        break
      }
    }
    let second = try TestReceiver(path: path)
    test.log.info("third")
    try await test.store.flush(.archive)
    var missed: UInt64 = 0
    while let event = await events.next() {
      if case .tapResumed("Journal", let count) = event {
        missed = count
        break
      }
    }
    try await test.store.close()
    let messages = try second.stop().map { text("MESSAGE", try fields(of: $0.bytes)) }
    // On a busy machine, the first record may be missed: the tap tries a record only for a limited
    // time.
    let earlier = missed == 0 ? "second" : LogTap.notice(ofMissing: 1)
    #expect(missed <= 1 && messages == [earlier, "third"])
    #expect(test.store.statistics.missedByTaps == missed)
  }

  @Test(
    "systemd-journald itself takes the entries, small and large, and journalctl shows their fields",
    .enabled(if: RealJournal.isAvailable, "needs root, unshare, systemd-journald and journalctl"))
  func realJournal() throws {
    let journal = try RealJournal()
    defer { journal.stop() }
    let path = journal.socket
    var tap = LogTap(Journal(identifier: "orders", path: path))
    tap.capacity = 16 << 20
    let test = try TestStore { [tap] in $0.taps = [tap] }
    let long = String(repeating: "long\n", count: 100_000)
    test.log.error("order \(7, name: "order.id")\nsecond line", metadata: ["_UID": "1"])
    test.log.info("\(long, privacy: .public)")
    try test.store.close()
    let entries = try journal.entries(2, of: "orders")
    #expect(entries[0]["MESSAGE"] as? String == "order 7\nsecond line")
    #expect(entries[0]["PRIORITY"] as? String == "3" && entries[0]["ORDER_ID"] as? String == "7")
    #expect(entries[0]["_UID"] as? String == "\(getuid())")
    #expect(entries[0]["FIELD__UID"] as? String == "1")
    #expect(entries[1]["MESSAGE"] as? String == long)
  }
}

/// systemd-journald in a mount namespace of its own, with a /run of its own.
private final class RealJournal {
  private static let programs = [
    "/usr/bin/unshare", "/lib/systemd/systemd-journald", "/usr/bin/journalctl",
  ]

  static var isAvailable: Bool {
    getuid() == 0 && programs.allSatisfy { access($0, X_OK) == 0 }
  }

  private let process = Process()
  /// The journal's /run, as this process sees it.
  private var run: String { "/proc/\(process.processIdentifier)/root/run" }
  var socket: String { "\(run)/systemd/journal/socket" }

  init() throws {
    process.executableURL = URL(fileURLWithPath: Self.programs[0])
    process.arguments = [
      "--mount", "/bin/sh", "-c",
      "mount -t tmpfs none /run && mkdir -p /run/systemd /run/log/journal"
        + " && exec \(Self.programs[1])",
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Until it is mounted, /run is the machine's.
    while access("\(run)/log/journal/\(try machine())/system.journal", F_OK) != 0 {
      try #require(process.isRunning)
      usleep(10_000)
    }
  }

  private func machine() throws -> String {
    try String(contentsOfFile: "/etc/machine-id", encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Waits for `count` entries of an identifier, and returns them in their order.
  func entries(_ count: Int, of identifier: String) throws -> [[String: Any]] {
    while true {
      try #require(process.isRunning)
      let reader = Process()
      reader.executableURL = URL(fileURLWithPath: Self.programs[2])
      reader.arguments = [
        "--directory", "\(run)/log/journal/\(try machine())", "--output", "json", "--all",
        "SYSLOG_IDENTIFIER=\(identifier)",
      ]
      reader.standardError = FileHandle.nullDevice
      let lines = try reader.output().split(separator: UInt8(ascii: "\n"))
      if lines.count >= count {
        return try lines.map {
          try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])
        }
      }
      usleep(20_000)
    }
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
