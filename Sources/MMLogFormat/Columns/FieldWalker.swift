/// Finds out which fields the words of a record are. A record that is not what its call site says
/// is no error here: it is written as it is.
struct FieldWalker {
  private let record: RowWords
  private let count: Int
  private var next = RecordLayout.bodyWord

  init(_ record: RowWords) {
    self.record = record
    count = record.count
  }

  var isAtEnd: Bool { next == count }

  /// Passes over so many words; false if they are not there.
  @inline(__always)
  mutating func pass(words: Int) -> Bool {
    next &+= words
    return next <= count
  }

  /// Passes over a string; false if it is not there.
  @inline(__always)
  mutating func passString() -> Bool {
    guard next < count else { return false }
    let length = record[next]
    guard length <= UInt64((count &- next &- 1) &* wordSize) else { return false }
    next &+= 1 &+ paddedSize(Int(truncatingIfNeeded: length)) / wordSize
    return true
  }

  /// Appends the fields of the whole record.
  ///
  /// - Returns: Whether its words are just what its call site and flags say.
  mutating func find(_ callSites: CallSiteFields, _ fields: inout [ColumnField]) -> Bool {
    let site = Int(record.callSite)
    guard !record.isFragment, site > 0, site < callSites.shapes.count,
      !record.flags.contains(.inlineCallSite)
    else { return false }
    if record.flags.contains(.thread) {
      next += 1
      fields.append(.word)
    }
    if record.flags.contains(.extensions), !findExtensions(&fields) { return false }
    let shape = callSites.shapes[site]
    for index in shape.arguments {
      guard findArgument(callSites.types[index], &fields) else { return false }
    }
    if record.flags.contains(.metadata), !findMetadata(&fields) { return false }
    if record.flags.contains(.span) {
      fields += [.word, .word]
      if !pass(words: 2) { return false }
    }
    return isAtEnd
  }

  private mutating func findExtensions(_ fields: inout [ColumnField]) -> Bool {
    guard let which = word(&fields) else { return false }
    let words = Int(which & RecordLayout.extensionCountMask)
    fields.append(contentsOf: repeatElement(.word, count: words))
    return pass(words: words)
  }

  private mutating func findArgument(_ type: UInt8, _ fields: inout [ColumnField]) -> Bool {
    if type & ValueType.optionalBit == 0 { return findValue(type, &fields) }
    guard let isThere = word(&fields) else { return false }
    return isThere == 0 || findValue(type & ~ValueType.optionalBit, &fields)
  }

  private mutating func findMetadata(_ fields: inout [ColumnField]) -> Bool {
    guard let pairs = word(&fields), pairs <= UInt64(count - next) else { return false }
    for _ in 0..<pairs { guard findPair(&fields, depth: 0) else { return false } }
    return true
  }

  private mutating func findPair(_ fields: inout [ColumnField], depth: Int) -> Bool {
    guard passString() else { return false }
    fields.append(.string)
    return findTagged(&fields, depth: depth)
  }

  private mutating func findTagged(_ fields: inout [ColumnField], depth: Int) -> Bool {
    guard depth <= ValueType.deepest, let tag = word(&fields), tag <= 255 else { return false }
    return findValue(UInt8(tag), &fields, depth: depth)
  }

  private mutating func findValue(
    _ rawType: UInt8, _ fields: inout [ColumnField], depth: Int = 0
  ) -> Bool {
    guard let type = ValueType(rawValue: rawType) else { return false }
    if let fixed = type.fixedFields {
      fields += fixed
      return fixed == [.string] ? passString() : pass(words: fixed.count)
    }
    guard let elements = word(&fields), elements <= UInt64(count - next) else { return false }
    for _ in 0..<elements {
      let isThere =
        type == .array
        ? findTagged(&fields, depth: depth + 1) : findPair(&fields, depth: depth + 1)
      guard isThere else { return false }
    }
    return true
  }

  private mutating func word(_ fields: inout [ColumnField]) -> UInt64? {
    guard next < count else { return nil }
    defer { next += 1 }
    fields.append(.word)
    return record[next]
  }
}
