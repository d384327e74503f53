package import MMLogFormat

/// A record as a writer makes it.
package struct TestRecord {
  package var ticks: UInt64
  package var site: UInt32
  package var label: UInt32
  package var level: Level
  package var flags: RecordFlags
  /// The words behind the identity word: thread word, arguments, metadata, entry.
  package var words: [UInt64]

  package init(
    ticks: UInt64, site: UInt32 = 0, label: UInt32 = 0, level: Level = .info,
    flags: RecordFlags = [], words: [UInt64] = []
  ) {
    (self.ticks, self.site, self.label, self.level) = (ticks, site, label, level)
    (self.flags, self.words) = (flags, words)
  }

  private var identity: UInt64 {
    UInt64(site) | UInt64(label) << RecordLayout.labelShift
      | UInt64(level.rawValue) << RecordLayout.levelShift
      | UInt64(flags.rawValue) << RecordLayout.flagsShift
  }

  /// The record's words with their checksum.
  package func encoded(seed: UInt32) -> [UInt64] {
    finish([0, ticks, identity] + words, kind: RecordLayout.recordKind, seed: seed)
  }

  /// The record in fragments whose parts have so many words, with a thread word if one is given.
  package func fragments(
    partWords: Int, seed: UInt32, thread: UInt64? = nil
  ) -> [[UInt64]] {
    let body = [identity] + words
    let starts = Array(stride(from: 0, to: body.count, by: partWords))
    return starts.enumerated().map { index, start in
      let end = min(start + partWords, body.count)
      let flags =
        (end == body.count ? FragmentLayout.last : 0)
        | (thread == nil ? 0 : FragmentLayout.thread)
      let lead = UInt64(index) | identity & (0xFF_FFFF << 32) | UInt64(flags) << 56
      return finish(
        [0, ticks, lead] + (thread.map { [$0] } ?? []) + [UInt64(body.count * 8)]
          + body[start..<end],
        kind: FragmentLayout.kind, seed: seed)
    }
  }

  private func finish(_ words: [UInt64], kind: UInt64, seed: UInt32) -> [UInt64] {
    var words = words
    words[0] = UInt64(words.count) | kind
    let checksum = words.withUnsafeBytes { recordChecksum($0, seed: seed) }
    words[0] |= UInt64(checksum) << 32
    return words
  }
}

extension FragmentLayout {
  static var kind: UInt64 { RecordLayout.fragmentKind }
}

/// Builds the words of arguments and metadata.
package struct ValueWords {
  private var writer = WordWriter()
  package var words: [UInt64] { writer.words }

  /// The words of an argument with that value, without its type.
  package static func argument(_ value: Value) -> [UInt64] {
    var words = ValueWords()
    words.append(value)
    return words.words
  }

  package static func metadata(_ pairs: [(String, Value)]) -> [UInt64] {
    var words = ValueWords()
    words.writer.append(UInt64(pairs.count))
    for (key, value) in pairs {
      words.writer.append(key)
      words.append(tagged: value)
    }
    return words.words
  }

  private mutating func append(tagged value: Value) {
    writer.append(UInt64(value.type))
    append(value)
  }

  private mutating func append(_ value: Value) {
    switch value {
    case .int(let value): writer.append(UInt64(bitPattern: value))
    case .uint(let value): writer.append(value)
    case .double(let value): writer.append(value.bitPattern)
    case .float(let value): writer.append(UInt64(value.bitPattern))
    case .bool(let value): writer.append(value ? 1 : 0)
    case .string(let bytes), .bytes(let bytes), .sealed(let bytes): writer.append(string: bytes)
    case .int128(let value): append(wide: UInt128(bitPattern: value))
    case .uint128(let value): append(wide: value)
    case .redacted, .null: break
    case .hash(let hash): writer.append(hash)
    case .array(let values):
      writer.append(UInt64(values.count))
      for value in values { append(tagged: value) }
    case .dictionary(let pairs):
      writer.append(UInt64(pairs.count))
      for (key, value) in pairs {
        writer.append(key)
        append(tagged: value)
      }
    }
  }

  private mutating func append(wide value: UInt128) {
    writer.append(UInt64(truncatingIfNeeded: value))
    writer.append(UInt64(truncatingIfNeeded: value >> 64))
  }
}

extension Value {
  /// The type's number on disk.
  package var type: UInt8 {
    let type: ValueType =
      switch self {
      case .int: .int
      case .uint: .uint
      case .double: .double
      case .float: .float
      case .bool: .bool
      case .string: .string
      case .bytes: .bytes
      case .int128: .int128
      case .uint128: .uint128
      case .redacted: .redacted
      case .hash: .hash
      case .sealed: .sealed
      case .null: .null
      case .array: .array
      case .dictionary: .dictionary
      }
    return type.rawValue
  }

  package static func text(_ text: String) -> Value { .string(Array(text.utf8)) }
}
