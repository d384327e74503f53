import Foundation
import MMLogCrypto
import MMLogFormat
import MMLogReader
import TestSupport

/// Makes two first corpora for each target: a small one, and one from logs.
func writeSeeds(of logs: String, to corpus: String) throws {
  let files = FileManager.default
  let (small, large) = ("\(corpus)/small", "\(corpus)/large")
  for folder in [small, large] {
    for target in Target.allCases {
      try files.createDirectory(atPath: "\(folder)/\(target)", withIntermediateDirectories: true)
    }
    putTexts(folder)
    putRequests(folder)
    putCrashes(folder)
    putLevels(folder)
    putState(folder)
    putConsumer(folder)
    putExchanges(folder)
    putDebugInformation(folder)
    try putKeys(folder)
  }
  for (name, log) in SmallLogs.all {
    let isRing = (try? log.ring.withUnsafeBytes { try RingHeader($0) }) != nil
    precondition(isRing && log.dictionarySize <= log.geometry.dictionarySize, "no ring: \(name)")
    putRing(log.ring, small, name)
    for archive in log.archives { putArchive(archive, small, name) }
  }
  for name in try files.contentsOfDirectory(atPath: logs).sorted() {
    let bytes = Array(files.contents(atPath: "\(logs)/\(name)") ?? Data())
    if name.hasSuffix(".ring") { putRing(bytes, large, name) }
    if name.hasSuffix(".mmlog") { putArchive(bytes, large, name) }
  }
}

private func putTexts(_ corpus: String) {
  put(Array("{time} {level:-8}\\t{fields.user:12} {{x}}".utf8), "\(corpus)/template/line")
  put(Array("%d %-8s %5.2f %#llx %c %.*s 100 %% %m %p".utf8), "\(corpus)/format/statement")
  let line = "2025-11-21 09:00:0%d [0x7f1a] id=123e4567-e89b-12d3-a456-42661417400%d took 17 ms\n"
  let lines = (0..<30).map { line.replacingOccurrences(of: "%d", with: "\($0 % 10)") }
  put(Array((lines + ["other 1", "", "\0x"]).joined().utf8), "\(corpus)/lines/some")
  let conditions = [
    "user == 42 && elapsed_ms > 1.5e3", "!(a ~ '^x[yz]+$' || @level >= warning)",
    "'a b'.c !~ \"q\"",
    "request.path == nil && @message != 'text' || -7 < b",
  ]
  for (index, condition) in conditions.enumerated() {
    put(Array(condition.utf8), "\(corpus)/condition/\(index)")
  }
}

private func putExchanges(_ corpus: String) {
  let noises = [
    "https://ann:pw@h:80/p?x=1%26\0;b=%2Fy#top", "{\"a\":[{\"b\":\"\\\"\"},\0\"],\"c\":null}",
    "{\"body\":\"{\\\"a\\\":\0\\\"}\",'", "a token=[//x\0,\\u0070",
  ]
  for (index, noise) in noises.enumerated() {
    put([UInt8(index), 0x55, UInt8(index), 9] + Array(noise.utf8), "\(corpus)/http/\(index)")
  }
}

private func putRequests(_ corpus: String) {
  let digests = "repr-digest:crc32c=:4waSgw==:, sha-256=:AA==:\nx-amz-checksum-crc32c:4waSgw=="
  let requests = [
    "PUT /archives/orders-20251121T090000Z-00010203040506070809000000000000-000001.mmlog\n"
      + "content-range:bytes 0-99/200\ncontent-length:100\nif-none-match:*\n\(digests)",
    "GET /health\nauthorization:Bearer 0123456789abcdef", "orders 0123456789abcdef\n# none\n",
  ]
  for (index, request) in requests.enumerated() {
    put(Array(request.utf8), "\(corpus)/request/\(index)")
  }
}

private func putConsumer(_ corpus: String) {
  let session = "00010203040506070809000a0b0c0d0e"
  var cursor = LogReader.Cursor()
  if let id = SessionID(session) {
    cursor.sessions[id] = .init(next: .init(archive: 7, frame: 3, row: 9))
  }
  let state = [
    "mmlog-consumer 1", "created 1763715600000000000", "cursor \(cursor)",
    "batch 6c62272e07bb014262b821756295c58d \(session) 17 - \(cursor) 2 ?",
    "session \(session) 17 9 1 2 0 5 1 17 17",
  ]
  put(Array(state.joined(separator: "\n").utf8), "\(corpus)/consumer/state")
}

private func putKeys(_ corpus: String) throws {
  let secret = "AGE-SECRET-KEY-1W4DAPJLRPPW3CCZ7LJJN3ZAQP03ADMURL2X8WX0YF0PLGFUYMYFS36UJTP"
  let recipient = try Identity(secret).recipient
  let slot = try KeySlot.encrypt(SecretKey.random(), for: [recipient, recipient])
  let head =
    "mmlog-head 00010203040506070809000000000000 3 12 "
    + String(repeating: "0123456789abcdef", count: 4) + " 1763715600000000000 a%25 b"
  try ValueSealer.setRecipients([recipient])
  let value = Array("text".utf8).withUnsafeBytes { ValueSealer.seal($0) } ?? []
  for (name, bytes) in [
    ("slot", slot), ("value", value), ("identity", Array(secret.utf8)),
    ("recipient", Array("\(recipient)".utf8)),
    ("head", Array(head.utf8)),
  ] {
    put(bytes, "\(corpus)/keys/\(name)")
  }
}

private func putLevels(_ corpus: String) {
  let overrides = [
    LevelOverride(LevelRule(.debug, for: "db.*"), expiry: 0),
    LevelOverride(LevelRule(.error, for: "a?"), expiry: 9),
    LevelOverride(
      LevelRule(RateLimit(first: 9, per: .seconds(1), thenEvery: 3), for: "*"), expiry: 0),
    LevelOverride(
      LevelRule(LevelRule.Statement(file: "Book.swift", line: 42)), expiry: 9, limit: 3, ordinal: 7),
  ]
  put(LevelRequest(ordinal: 7, overrides).encoded ?? [], "\(corpus)/levels/request")
  put(Array("orders.*=debug,*=info".utf8), "\(corpus)/levels/list")
}

private func putDebugInformation(_ corpus: String) {
  let sections = debugSections()
  let bytes = DebugSection.allCases.flatMap { section in
    let bytes = sections[section.rawValue] ?? []
    return [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
  }
  put(bytes, "\(corpus)/debug/sections")
}

/// Writes a slot of each type.
private func putState(_ corpus: String) {
  let log = TestLog()
  log.putState()
  let place = RingLayout.stateSlots
  put(Array(log.ring[place..<place + 14 * StateSlotLayout.size]), "\(corpus)/state/slots")
}

/// Writes a report that has nothing, and one that has everything.
private func putCrashes(_ corpus: String) {
  put(CrashReport.bytes { _ in }, "\(corpus)/crash/nothing")
  put(
    CrashReport.bytes(frames: [0x1234, 0x1234, 0], registers: 18, module: "/bin/sh"),
    "\(corpus)/crash/something")
}

private func putRing(_ bytes: [UInt8], _ corpus: String, _ name: String) {
  put(Ring.shortened(bytes), "\(corpus)/ring/\(name)")
  putCorrectable(bytes, corpus, name)
}

private func putArchive(_ bytes: [UInt8], _ corpus: String, _ name: String) {
  put(bytes, "\(corpus)/archive/\(name)")
  // Cut at byte 768.
  put([0, 3] + bytes, "\(corpus)/upload/\(name)")
  // The first byte chooses what the target does.
  for choice in 0..<26 as Range<UInt8> {
    put([choice] + bytes, "\(corpus)/search/\(name)-\(choice)")
    if choice < 12 { put([choice] + bytes, "\(corpus)/output/\(name)-\(choice)") }
  }
  putPayloads(of: bytes, corpus, name)
}

private func put(_ bytes: [UInt8], _ path: String) {
  guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
    fatalError("cannot write \(path)")
  }
}

/// Writes file header, area table, dictionary and a segment's header.
private func putCorrectable(_ ring: [UInt8], _ corpus: String, _ name: String) {
  guard let fileHeader = try? ring.withUnsafeBytes({ try RingHeader($0) }) else { return }
  let geometry = fileHeader.geometry
  put(Array(ring.prefix(FileHeaderLayout.size)), "\(corpus)/correction/\(name)-header")
  put(
    Array(ring[FileHeaderLayout.size..<RingLayout.fileHeaderSize]),
    "\(corpus)/correction/\(name)-areas")
  put(
    Array(ring[geometry.dictionaryOffset..<geometry.segmentsOffset]),
    "\(corpus)/correction/\(name)-dictionary")
  put(
    Array(ring[geometry.segmentsOffset...].prefix(2 * SegmentLayout.size)),
    "\(corpus)/correction/\(name)-segment")
}

/// Writes frames, and the columns and dictionaries in them.
private func putPayloads(of archive: [UInt8], _ corpus: String, _ name: String) {
  archive.withUnsafeBytes { bytes in
    for offset in stride(
      from: FileHeaderLayout.size, through: bytes.count - FrameLayout.size, by: 8)
    {
      let rest = bytes.slice(offset, bytes.count - offset)
      guard let size = FrameHeader.size(rest), size <= rest.count,
        let header = FrameHeader(rest.slice(0, size)), header.frameSize <= rest.count
      else { continue }
      put(Array(rest.slice(0, header.frameSize)), "\(corpus)/frame/\(name)-\(offset)")
      let payload = Array(rest.slice(header.headerSize, header.payloadSize))
      if header.type == .dictionary {
        put(unpacked(payload, header), "\(corpus)/entries/\(name)-\(offset)")
      }
      guard header.codec == .columns else { continue }
      let sizes = [UInt32(header.rawSize), header.summary.count]
      put(sizes.withUnsafeBytes { Array($0) } + payload, "\(corpus)/columns/\(name)-\(offset)")
    }
  }
}

private func unpacked(_ payload: [UInt8], _ header: FrameHeader) -> [UInt8] {
  guard header.codec == .zlibRows, let decompressor = Decompressor() else { return payload }
  let bytes = payload.withUnsafeBytes { try? decompressor.decompress($0, size: header.rawSize) }
  return bytes ?? payload
}
