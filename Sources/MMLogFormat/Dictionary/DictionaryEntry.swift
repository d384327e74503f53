/// An entry of the dictionary: a call site or a label, under its number.
package enum DictionaryEntry: Equatable, Sendable {
  case callSite(id: UInt32, CallSite)
  case label(id: UInt32, String)

  /// Reads the entry that `bytes` wholly are, after its checksum has been found right.
  package init(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    var reader = WordReader(bytes)
    let header = try reader.word()
    let first = try reader.word()
    let id = UInt32(truncatingIfNeeded: first)
    switch header & 0xFF00_0000 {
    case RecordLayout.labelKind: self = .label(id: id, try reader.text())
    case RecordLayout.callSiteKind:
      let second = try reader.word()
      let file = try reader.text()
      let function = try reader.text()
      var parts: [CallSite.Part] = []
      for _ in 0..<(second >> 32 & 0xFFFF) { parts.append(try CallSite.Part(&reader)) }
      self = .callSite(
        id: id,
        CallSite(
          file: file, function: function, line: UInt32(truncatingIfNeeded: first >> 32),
          column: UInt32(truncatingIfNeeded: second), parts: parts))
    default: throw .invalid("entry kind")
    }
  }

  /// Whether an entry is of a kind that this version knows.
  static func isKnown(_ entry: UnsafeRawBufferPointer) -> Bool {
    let kind = entry.load(0, as: UInt64.self) & 0xFF00_0000
    return kind == RecordLayout.labelKind || kind == RecordLayout.callSiteKind
  }
}

extension DictionaryEntry {
  var size: Int {
    switch self {
    case .callSite(_, let site): site.size
    case .label(_, let label): label.utf8.count
    }
  }
}
