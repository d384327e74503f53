import MMLogFormat

/// Protocol buffers, as far as OTLP needs them: the encoding guide of protobuf.dev.
extension TextBuffer {
  /// Begins a message, or a text that is put together; ``end(_:)`` takes what this returns.
  @inline(__always)
  mutating func begin(field: UInt32) -> Int {
    append(tag: field, 2)
    return beginText()
  }

  /// Ends what began at `start`.
  @inline(__always)
  mutating func end(_ start: Int) { endText(start) }

  /// Appends a number: one that is not negative, or the 64 bits of a negative one.
  @inline(__always)
  mutating func append(field: UInt32, varint value: UInt64) {
    append(tag: field, 0)
    append(varint: value)
  }

  @inline(__always)
  mutating func append(field: UInt32, fixed64 value: UInt64) {
    append(tag: field, 1)
    Swift.withUnsafeBytes(of: value.littleEndian) { append($0) }
  }

  @inline(__always)
  mutating func append(field: UInt32, fixed32 value: UInt32) {
    append(tag: field, 5)
    Swift.withUnsafeBytes(of: value.littleEndian) { append($0) }
  }

  @inline(__always)
  mutating func append(field: UInt32, _ text: StaticString) {
    let start = begin(field: field)
    append(text)
    end(start)
  }

  mutating func append(field: UInt32, text: String) {
    let start = begin(field: field)
    append(text: text)
    end(start)
  }

  mutating func append(field: UInt32, bytes: UnsafeRawBufferPointer) {
    let start = begin(field: field)
    append(bytes)
    end(start)
  }

  /// Appends numbers as bytes, the highest byte first, as traces and spans have them.
  mutating func append(field: UInt32, bigEndian words: UInt64...) {
    let start = begin(field: field)
    for word in words { Swift.withUnsafeBytes(of: word.bigEndian) { append($0) } }
    end(start)
  }

  @inline(__always)
  private mutating func append(tag field: UInt32, _ wireType: UInt32) {
    append(varint: UInt64(field << 3 | wireType))
  }
}

/// Reads the messages that servers answer with. The bytes are hostile: reading ends at the first
/// error.
struct ProtobufReader {
  enum Value {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Returns the next field; nil at the end, and where the bytes are no message.
  mutating func next() -> (field: UInt64, value: Value)? {
    guard let tag = varint() else { return nil }
    switch tag & 7 {
    case 0: return varint().map { (tag >> 3, .number($0)) }
    case 1: return take(8).map { (tag >> 3, .bytes($0)) }
    case 2:
      guard let length = varint(), length <= UInt64(rest.count) else { return nil }
      return take(Int(length)).map { (tag >> 3, .bytes($0)) }
    case 5: return take(4).map { (tag >> 3, .bytes($0)) }
    default: return nil
    }
  }

  private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 64, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      value |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte < 0x80 { return value }
    }
    return nil
  }
}
