import Foundation
import MMLogFormat

/// Makes a corpus of each target's own from logs.
func writeSeeds(of logs: String, to corpus: String) throws {
  let files = FileManager.default
  for target in Target.allCases {
    try files.createDirectory(atPath: "\(corpus)/\(target)", withIntermediateDirectories: true)
  }
  put(Array("{time} {level:-8}\\t{fields.user:12} {{x}}".utf8), "\(corpus)/template/line")
  let conditions = [
    "user == 42 && elapsed_ms > 1.5e3", "!(a ~ '^x[yz]+$' || @level >= warning)",
    "'a b'.c !~ \"q\"",
    "request.path == nil && @message != 'text' || -7 < b",
  ]
  for (index, condition) in conditions.enumerated() {
    put(Array(condition.utf8), "\(corpus)/condition/\(index)")
  }
  for name in try files.contentsOfDirectory(atPath: logs).sorted() {
    let bytes = Array(files.contents(atPath: "\(logs)/\(name)") ?? Data())
    if name.hasSuffix(".ring") {
      put(bytes, "\(corpus)/ring/\(name)")
      putMendable(bytes, corpus, name)
    }
    guard name.hasSuffix(".mmlog") else { continue }
    put(bytes, "\(corpus)/archive/\(name)")
    putPayloads(of: bytes, corpus, name)
  }
}

private func put(_ bytes: [UInt8], _ path: String) {
  guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
    fatalError("cannot write \(path)")
  }
}

/// Head, dictionary and a segment's header.
private func putMendable(_ ring: [UInt8], _ corpus: String, _ name: String) {
  guard let head = try? ring.withUnsafeBytes({ try RingHead($0) }) else { return }
  let geometry = head.geometry
  put(Array(ring.prefix(HeadLayout.size)), "\(corpus)/mending/\(name)-head")
  put(
    Array(ring[geometry.dictionaryOffset..<geometry.segmentsOffset]),
    "\(corpus)/mending/\(name)-dictionary")
  put(
    Array(ring[geometry.segmentsOffset...].prefix(2 * SegmentLayout.size)),
    "\(corpus)/mending/\(name)-segment")
}

/// Columns, and dictionaries that are not compressed.
private func putPayloads(of archive: [UInt8], _ corpus: String, _ name: String) {
  archive.withUnsafeBytes { bytes in
    for offset in stride(from: HeadLayout.size, through: bytes.count - FrameLayout.size, by: 8) {
      let rest = bytes.slice(offset, bytes.count - offset)
      guard let header = FrameHeader(rest), header.frameSize <= rest.count else { continue }
      put(Array(rest.slice(0, header.frameSize)), "\(corpus)/frame/\(name)-\(offset)")
      let payload = Array(rest.slice(header.headerSize, header.payloadSize))
      if header.type == .dictionary { put(payload, "\(corpus)/entries/\(name)-\(offset)") }
      guard header.codec.arrangement == .columns else { continue }
      let sizes = [UInt32(header.rawSize), header.summary.count]
      put(sizes.withUnsafeBytes { Array($0) } + payload, "\(corpus)/columns/\(name)-\(offset)")
    }
  }
}
