/// An entry of the dictionary: a call site, a label or a key set, under its number; or the fields
/// of the session; or what the state slots had at the session's end.
package enum DictionaryEntry: Equatable, Sendable {
  case callSite(id: UInt32, CallSite)
  case label(id: UInt32, String)
  case keySet(id: UInt32, KeySet)
  case sessionFields(SessionFields)
  case lastState(SessionFields)

  /// Reads an entry from all of `bytes`. The caller has checked its checksum.
  package init(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    var reader = WordReader(bytes)
    let header = try reader.word()
    let first = try reader.word()
    let id = UInt32(truncatingIfNeeded: first)
    switch header & 0xFF00_0000 {
    case RecordLayout.labelKind:
      guard (1...0xFFFF).contains(id) else { throw .invalid("number of a label") }
      self = .label(id: id, try reader.text())
    case RecordLayout.callSiteKind:
      let second = try reader.word()
      let partCount = second >> 32 & 0xFFFF
      guard partCount <= CallSite.maximumParts else { throw .invalid("number of parts") }
      let file = try reader.text()
      let function = try reader.text()
      var parts: [CallSite.Part] = []
      for _ in 0..<partCount { parts.append(try CallSite.Part(&reader)) }
      self = .callSite(
        id: id,
        CallSite(
          file: file, function: function, line: UInt32(truncatingIfNeeded: first >> 32),
          column: UInt32(truncatingIfNeeded: second), parts: parts))
    case RecordLayout.keySetKind:
      let keyCount = first >> 32 & 0xFFFF
      guard keyCount <= KeySet.maximumKeys else { throw .invalid("number of keys") }
      var keys: [KeySet.Key] = []
      for _ in 0..<keyCount {
        let type = UInt8(truncatingIfNeeded: try reader.word())
        keys.append(KeySet.Key(try reader.text(), type))
      }
      self = .keySet(id: id, KeySet(keys))
    case RecordLayout.sessionFieldsKind: self = .sessionFields(try SessionFields(bytes))
    case RecordLayout.lastStateKind: self = .lastState(try SessionFields(bytes))
    default: throw .invalid("entry kind")
    }
  }

  /// Whether an entry is of a kind that this version knows.
  static func isKnown(_ entry: UnsafeRawBufferPointer) -> Bool {
    switch entry.load(0, as: UInt64.self) & 0xFF00_0000 {
    case RecordLayout.labelKind, RecordLayout.callSiteKind, RecordLayout.keySetKind,
      RecordLayout.sessionFieldsKind, RecordLayout.lastStateKind:
      true
    default: false
    }
  }
}

extension DictionaryEntry {
  var size: Int {
    switch self {
    case .callSite(_, let site): site.size
    case .label(_, let label): label.utf8.count
    case .keySet(_, let keys): keys.size
    case .sessionFields(let fields), .lastState(let fields): fields.words.count * wordSize
    }
  }
}
