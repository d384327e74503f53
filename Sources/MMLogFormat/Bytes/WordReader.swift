package import MMLogCrypto

/// Reads words, strings and bytes one after the other, and throws at the end of its bytes instead
/// of running over it.
package struct WordReader {
  private let bytes: UnsafeRawBufferPointer
  /// The offset of the next word.
  package private(set) var offset = 0

  /// Opens sealed values; nil: they stay sealed.
  package let slots: Unmanaged<OpenedSlots>?

  /// Reads from `bytes`. The caller keeps `bytes` and `slots` alive as long as the reader and what
  /// it returned.
  package init(_ bytes: UnsafeRawBufferPointer, opening slots: Unmanaged<OpenedSlots>? = nil) {
    (self.bytes, self.slots) = (bytes, slots)
  }

  package var isAtEnd: Bool { offset >= bytes.count }
  package var remaining: Int { bytes.count - offset }

  package mutating func word() throws(FormatError) -> UInt64 {
    guard remaining >= wordSize else { throw .truncated }
    defer { offset += wordSize }
    return bytes.load(offset, as: UInt64.self)
  }

  /// The next `count` bytes.
  package mutating func take(_ count: Int) throws(FormatError) -> UnsafeRawBufferPointer {
    guard count >= 0, remaining >= count else { throw .truncated }
    defer { offset += count }
    return bytes.slice(offset, count)
  }

  /// A length in bytes, those bytes, and the padding to the next word.
  package mutating func string() throws(FormatError) -> UnsafeRawBufferPointer {
    let length = try word()
    guard length <= UInt64(remaining) else { throw .truncated }
    let padded = paddedSize(Int(length))
    guard padded <= remaining else { throw .truncated }
    return try take(padded).slice(0, Int(length))
  }

  /// A sealed value's text; nil if no key here opens it.
  package func open(_ sealed: UnsafeRawBufferPointer) -> [UInt8]? {
    slots?._withUnsafeGuaranteedRef { SealedValue.open(sealed, with: $0) }
  }

  package mutating func text() throws(FormatError) -> String {
    String(decoding: try string(), as: UTF8.self)
  }
}
