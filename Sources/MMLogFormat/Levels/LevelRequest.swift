/// A rule that a running process was given from outside.
package struct LevelOverride: Equatable, Sendable {
  package var rule: LevelRule
  /// When the rule ends, in nanoseconds since the machine was started; 0: not by itself.
  package var expiry: UInt64
  /// For a rule about a statement: the maximum number of its records; 0: any number.
  package var limit: UInt32
  /// For a rule about a statement: the ordinal of the request that the rule came with; 0: the
  /// request is still to be made. So the same rule counts anew when it is given again.
  package var ordinal: UInt32

  package init(_ rule: LevelRule, expiry: UInt64, limit: UInt32 = 0, ordinal: UInt32 = 0) {
    (self.rule, self.expiry, self.limit, self.ordinal) = (rule, expiry, limit, ordinal)
  }

  /// Whether the rule holds at a time.
  package func holds(at time: UInt64) -> Bool { expiry == 0 || expiry > time }
}

/// All the rules that a running process is to have, as it is asked from outside: a slot of its
/// ring's control page (FORMAT.md, 3).
package struct LevelRequest: Equatable, Sendable {
  /// Counts requests; the newest request has the greatest ordinal.
  package var ordinal: UInt32
  package var overrides: [LevelOverride]

  package init(ordinal: UInt32, _ overrides: [LevelOverride]) {
    self.ordinal = ordinal
    self.overrides = overrides
  }

  /// Where in the control page its slot begins.
  package var offset: Int { Self.offset(ofSlot: Int(ordinal % 2)) }

  package static func offset(ofSlot slot: Int) -> Int {
    ControlLayout.levelSlots + slot * ControlLayout.levelSlotSize
  }

  /// The bytes of the slot, checksum included; nil if there is no room for so many rules.
  package var encoded: [UInt8]? {
    var writer = WordWriter()
    for override in overrides {
      override.append(to: &writer)
    }
    let words = writer.words
    guard
      ControlLayout.requestRules + words.count * wordSize <= ControlLayout.levelSlotSize
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: ControlLayout.levelSlotSize)
    bytes.withUnsafeMutableBytes { out in
      out.store(ordinal, ControlLayout.requestOrdinal)
      out.store(UInt32(overrides.count), ControlLayout.requestCount)
      for (index, word) in words.enumerated() {
        out.store(word, ControlLayout.requestRules + index * wordSize)
      }
      out.store(levelRequestChecksum(UnsafeRawBufferPointer(out)), ControlLayout.requestChecksum)
    }
    return bytes
  }

  /// Reads a slot; nil if it was never written, or not wholly.
  package init?(_ slot: UnsafeRawBufferPointer) {
    guard slot.count == ControlLayout.levelSlotSize,
      levelRequestChecksum(slot) == slot.load(ControlLayout.requestChecksum, as: UInt32.self),
      let overrides = try? Self.overrides(slot)
    else { return nil }
    ordinal = slot.load(ControlLayout.requestOrdinal, as: UInt32.self)
    self.overrides = overrides
  }

  private static func overrides(
    _ slot: UnsafeRawBufferPointer
  ) throws(FormatError) -> [LevelOverride] {
    let start = ControlLayout.requestRules
    var reader = WordReader(slot.slice(start, slot.count - start))
    var overrides: [LevelOverride] = []
    for _ in 0..<slot.load(ControlLayout.requestCount, as: UInt32.self) {
      overrides.append(try LevelOverride(&reader))
    }
    return overrides
  }

  /// The newer request of both slots; nil if there is none.
  ///
  /// - Parameter page: A ring's control page.
  package static func newest(inPage page: UnsafeRawBufferPointer) -> LevelRequest? {
    (0..<2).compactMap { LevelRequest(page.slice(offset(ofSlot: $0), ControlLayout.levelSlotSize)) }
      .max { $0.ordinal < $1.ordinal }
  }
}

/// The CRC32C of a slot without its checksum.
package func levelRequestChecksum(_ slot: UnsafeRawBufferPointer) -> UInt32 {
  let rest = ControlLayout.requestChecksum + 4
  let state = crc32cState(.max, slot.slice(0, ControlLayout.requestChecksum))
  return ~crc32cState(state, slot.slice(rest, slot.count - rest))
}

extension LevelOverride {
  fileprivate func append(to writer: inout WordWriter) {
    writer.append(expiry)
    var word = UInt64(rule.level.rawValue)
    if let statement = rule.statement {
      word |= ControlLayout.ruleStatement | UInt64(statement.line) << ControlLayout.ruleLineShift
    }
    if rule.limit != nil { word |= ControlLayout.ruleLimit }
    writer.append(word)
    writer.append(rule.pattern)
    if let limit = rule.limit {
      writer.append(UInt64(limit.first) | UInt64(limit.every) << 32)
      writer.append(limit.nanoseconds)
    }
    guard let statement = rule.statement else { return }
    writer.append(statement.file)
    writer.append(UInt64(limit) | UInt64(ordinal) << ControlLayout.ruleOrdinalShift)
  }

  fileprivate init(_ reader: inout WordReader) throws(FormatError) {
    let expiry = try reader.word()
    let word = try reader.word()
    let pattern = try reader.text()
    if word & ControlLayout.ruleStatement != 0 {
      let statement = LevelRule.Statement(
        file: try reader.text(), line: UInt32(word >> ControlLayout.ruleLineShift))
      let last = try reader.word()
      self.init(
        LevelRule(statement, of: pattern), expiry: expiry, limit: UInt32(truncatingIfNeeded: last),
        ordinal: UInt32(last >> ControlLayout.ruleOrdinalShift))
      return
    }
    if word == ControlLayout.ruleLimit {
      let counts = try reader.word()
      let limit = RateLimit(
        first: UInt32(truncatingIfNeeded: counts), nanoseconds: try reader.word(),
        every: UInt32(counts >> 32))
      self.init(LevelRule(limit, for: pattern), expiry: expiry)
      return
    }
    guard word <= ControlLayout.ruleLevel, let level = Level(rawValue: UInt8(word)) else {
      throw .invalid("level")
    }
    self.init(LevelRule(level, for: pattern), expiry: expiry)
  }
}
