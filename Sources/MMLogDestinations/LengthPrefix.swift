import MMLogFormat

/// Lengths and counts as varints, which stand before their contents. One byte is kept free; if the
/// number needs more bytes, the contents are moved.
extension TextBuffer {
  /// Keeps a byte free; ``endText(_:)`` or ``setCount(_:at:)`` take what this returns.
  @inline(__always)
  mutating func beginText() -> Int {
    append(0)
    return count
  }

  /// Puts the length of what was appended since `start` before it.
  @inline(__always)
  mutating func endText(_ start: Int) { setCount(count - start, at: start) }

  /// Puts a number before what was appended since `start`.
  @inline(__always)
  mutating func setCount(_ number: Int, at start: Int) {
    if number < 0x80 {
      withBytes(from: start - 1) { $0[0] = UInt8(number) }
    } else {
      setCount(long: number, at: start)
    }
  }

  @inline(never)
  private mutating func setCount(long number: Int, at start: Int) {
    let bytes = (64 - UInt64(number).leadingZeroBitCount + 6) / 7
    insert(0, count: bytes - 1, at: start)
    withBytes(from: start - 1) { place in
      for index in 0..<bytes {
        let more: UInt8 = index < bytes - 1 ? 0x80 : 0
        place[index] = UInt8(truncatingIfNeeded: number >> (7 * index)) & 0x7F | more
      }
    }
  }

  /// Appends a text that `body` appends, and its length before it.
  @inline(__always)
  mutating func appendText(_ body: (inout TextBuffer) -> Void) {
    let start = beginText()
    body(&self)
    endText(start)
  }

  /// Appends a text, and its length before it.
  @inline(__always)
  mutating func append(lengthAnd text: StaticString) {
    append(varint: UInt64(text.utf8CodeUnitCount))
    append(text)
  }
}
