import MMLog
import MMLogFormat
import MMLogJSON
import MMLogReader

/// A line that is an object of JSON, taken apart: its message and its fields.
struct JSONLine {
  private(set) var message = ""
  private(set) var fields = Logger.Metadata()
  private(set) var level: Level?

  /// Longer ones stay lines: what is taken apart must fit into a record.
  private static let longest = 1 << 20

  /// - Parameter levels: Finds the level, which is no field then.
  /// - Returns: Nil if the line is anything else, has no member, or values deeper than a record can
  ///   have. It is all checked here: JSON, UTF-8, depth.
  init?(_ line: UnsafeRawBufferPointer, levels: LevelRule?) {
    var reader = JSONReader(line)
    guard line.count <= Self.longest, reader.kind == .object, line.isUTF8 else { return nil }
    var (hasMessage, isAny) = (false, false)
    let isWhole = reader.members { reader, name in
      guard let value = Logger.MetadataValue(&reader, depth: 0) else { return false }
      isAny = true
      if !hasMessage, name == "message" || name == "msg", case .string(let text) = value {
        (message, hasMessage) = (text, true)
      } else if level == nil, let levels, LevelRule.fields.contains(name),
        let found = levels.level(of: value)
      {
        level = found
      } else {
        fields.append(value, for: name)
      }
      return true
    }
    guard isWhole, reader.isAtEnd, isAny else { return nil }
  }
}

extension Logger.MetadataValue {
  /// Reads a value with all that is in it, in its order, with its types; a number that no type holds
  /// is a text.
  fileprivate init?(_ reader: inout JSONReader, depth: Int) {
    guard depth < ValueType.deepest, let kind = reader.kind else { return nil }
    switch kind {
    case .object:
      var members = Logger.Metadata()
      let isWhole = reader.members { reader, name in
        guard let value = Self(&reader, depth: depth + 1) else { return false }
        members.append(value, for: name)
        return true
      }
      guard isWhole else { return nil }
      self = .dictionary(members)
    case .array:
      var elements: [Logger.MetadataValue] = []
      let isWhole = reader.elements { reader in
        guard let value = Self(&reader, depth: depth + 1) else { return false }
        elements.append(value)
        return true
      }
      guard isWhole else { return nil }
      self = .array(elements)
    case .string:
      guard let text = reader.string() else { return nil }
      self = .string(text)
    case .number:
      guard let number = reader.number() else { return nil }
      self.init(number)
    case .bool:
      guard let value = reader.bool() else { return nil }
      self = .bool(value)
    case .null:
      guard reader.null() else { return nil }
      self = .null
    }
  }

  private init(_ number: JSONReader.Number) {
    self =
      switch number {
      case .int(let value): .int(value)
      case .uint(let value): .uint(value)
      case .double(let value): .double(value)
      case .large(let digits): .string(digits)
      }
  }
}
