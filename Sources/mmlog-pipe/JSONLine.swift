import MMLog
import MMLogFormat
import MMLogJSON
import MMLogReader

/// A line that is an object of JSON, taken apart: its message and its fields.
struct JSONLine {
  private(set) var message = ""
  private(set) var fields = Logger.Metadata()
  private(set) var level: Level?

  /// Longer objects stay lines: an object that is taken apart must fit into a record.
  private static let longest = 1 << 20

  /// - Parameter levels: Finds the level, which then is not a field.
  /// - Returns: Nil if the line is no object, has no member, or values deeper than a record can
  ///   have. All of this is checked here: JSON, UTF-8, depth.
  init?(_ line: UnsafeRawBufferPointer, levels: LevelSource?) {
    var reader = JSONReader(line)
    guard line.count <= Self.longest, reader.kind == .object, line.isUTF8 else { return nil }
    var (hasMessage, isAny) = (false, false)
    let isWhole = reader.members { reader, name in
      guard let value: Logger.MetadataValue = reader.value() else { return false }
      isAny = true
      if !hasMessage, name == "message" || name == "msg", case .string(let text) = value {
        (message, hasMessage) = (text, true)
      } else if level == nil, let levels, LevelSource.fields.contains(name),
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

/// A value keeps everything in it, in its order, with its types; a number that no type holds is a
/// text.
extension Logger.MetadataValue: JSONValue {
  static var deepest: Int { ValueType.deepest }

  static func object(_ members: [(name: String, value: Self)]) -> Self {
    var fields = Logger.Metadata()
    for (name, value) in members { fields.append(value, for: name) }
    return .dictionary(fields)
  }

  static func number(_ number: JSONReader.Number) -> Self {
    switch number {
    case .int(let value): .int(value)
    case .uint(let value): .uint(value)
    case .double(let value): .double(value)
    case .large(let digits): .string(digits)
    }
  }
}
