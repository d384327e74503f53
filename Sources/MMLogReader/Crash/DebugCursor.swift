import MMLogFormat

/// Reads debug information from its beginning on.
struct DebugCursor {
  let bytes: [UInt8]
  var at: Int
  var end: Int

  init(_ bytes: [UInt8], at: Int = 0, end: Int? = nil) {
    (self.bytes, self.at) = (bytes, at)
    self.end = min(end ?? bytes.count, bytes.count)
  }

  var isAtEnd: Bool { at >= end }

  mutating func skip(_ count: Int) throws(FormatError) {
    guard at >= 0, count >= 0, count <= end - at else { throw .invalid("debug information") }
    at += count
  }
  private mutating func load<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type)
    throws(FormatError) -> T
  {
    let start = at
    try skip(MemoryLayout<T>.size)
    return bytes.withUnsafeBytes {
      T(littleEndian: $0.loadUnaligned(fromByteOffset: start, as: T.self))
    }
  }
  mutating func u8() throws(FormatError) -> UInt8 { try load(UInt8.self) }
  mutating func u16() throws(FormatError) -> UInt16 { try load(UInt16.self) }
  mutating func u32() throws(FormatError) -> UInt32 { try load(UInt32.self) }
  mutating func u64() throws(FormatError) -> UInt64 { try load(UInt64.self) }
  mutating func uleb() throws(FormatError) -> UInt64 {
    var (result, shift): (UInt64, UInt64) = (0, 0)
    while true {
      let byte = try u8()
      if shift < 64 { result |= UInt64(byte & 0x7F) << shift }
      if byte < 0x80 { return result }
      shift += 7
      guard shift < 140 else { throw .invalid("debug information") }
    }
  }
  mutating func sleb() throws(FormatError) -> Int64 {
    var (result, shift): (Int64, UInt64) = (0, 0)
    while true {
      let byte = try u8()
      if shift < 64 { result |= Int64(byte & 0x7F) << shift }
      shift += 7
      if byte < 0x80 {
        if shift < 64, byte & 0x40 != 0 { result |= -1 << shift }
        return result
      }
      guard shift < 140 else { throw .invalid("debug information") }
    }
  }
  mutating func skipText() throws(FormatError) {
    while try u8() != 0 {}
  }
  /// Takes a text; nil if it is empty.
  mutating func takeText() throws(FormatError) -> String? {
    let start = at
    try skipText()
    let text = String(decoding: bytes[start..<at - 1], as: UTF8.self)
    return text.isEmpty ? nil : text
  }
  func text(maximum: Int) -> String? {
    guard at >= 0, at < end else { return nil }
    return String(decoding: bytes[at..<min(end, at + maximum)].prefix { $0 != 0 }, as: UTF8.self)
  }
}
