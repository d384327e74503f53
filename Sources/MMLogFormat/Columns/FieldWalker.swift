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

  /// Passes over `words` words; false if they are not there.
  @inline(__always)
  mutating func pass(words: Int) -> Bool {
    next &+= words
    return next <= count
  }

  /// Passes over a string; false if it is not there, or not padded with zeros. A column of strings
  /// does not keep the padding, and where call sites are not known, the padding may be something
  /// else.
  @inline(__always)
  mutating func passString() -> Bool {
    guard next < count else { return false }
    let length = record[next]
    guard length <= UInt64((count &- next &- 1) &* wordSize) else { return false }
    next &+= 1 &+ paddedSize(Int(truncatingIfNeeded: length)) / wordSize
    let used = length % UInt64(wordSize)
    return used == 0 || record[next &- 1] >> (8 &* used) == 0
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
    let shape = callSites.shapes[site]
    for index in shape.arguments {
      guard findArgument(callSites.types[index], &fields) else { return false }
    }
    if record.flags.contains(.metadata), !findBlocks(callSites, &fields) { return false }
    if record.flags.contains(.span), !findSpan(&fields) { return false }
    if record.flags.contains(.context), !findContext(callSites, &fields) { return false }
    return isAtEnd
  }

  private mutating func findWords(_ count: Int, _ fields: inout [ColumnField]) -> Bool {
    guard pass(words: count) else { return false }
    fields.append(contentsOf: repeatElement(.word, count: count))
    return true
  }

  private mutating func findSpan(_ fields: inout [ColumnField]) -> Bool {
    guard let first = word(&fields) else { return false }
    return findWords(SpanLayout.count(first) - 1, &fields)
  }

  private mutating func findContext(
    _ callSites: CallSiteFields, _ fields: inout [ColumnField]
  ) -> Bool {
    guard let head = word(&fields) else { return false }
    let end = next + Int(head & ContextLayout.countMask)
    if head & ContextLayout.spanBit != 0, !findWords(1, &fields) { return false }
    if head & ContextLayout.traceBit != 0, !findWords(3, &fields) { return false }
    if head & ContextLayout.fieldsBit != 0, !findBlocks(callSites, &fields) { return false }
    // What this version does not know.
    return end >= next && findWords(end - next, &fields)
  }

  private mutating func findArgument(_ type: UInt8, _ fields: inout [ColumnField]) -> Bool {
    if type & ValueType.optionalBit == 0 { return findValue(type, &fields) }
    guard let isThere = word(&fields) else { return false }
    return isThere == 0 || findValue(type & ~ValueType.optionalBit, &fields)
  }

  private mutating func findBlocks(
    _ callSites: CallSiteFields, _ fields: inout [ColumnField]
  ) -> Bool {
    for _ in 0..<BlockLayout.most {
      guard let head = word(&fields) else { return false }
      let keySet = Int(head >> BlockLayout.keySetShift)
      if keySet > 0 {
        guard keySet < callSites.shapes.count else { return false }
        for index in callSites.shapes[keySet].arguments {
          guard findArgument(callSites.types[index], &fields) else { return false }
        }
      }
      let pairs = head & BlockLayout.pairsMask
      guard pairs <= UInt64(count - next) else { return false }
      for _ in 0..<pairs { guard findPair(&fields, depth: 0) else { return false } }
      if head & BlockLayout.moreBit == 0 { return true }
    }
    return false
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
