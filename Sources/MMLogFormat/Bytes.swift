/// Why bytes could not be read: every decoder of this module throws it, none traps on what it
/// reads.
package enum FormatError: Error, Equatable, Sendable {
  /// The bytes end before what they announce.
  case truncated
  /// A checksum does not fit its bytes.
  case wrongChecksum
  /// A field has a value that it cannot have.
  case invalid(String)
  /// Written by a newer mmlog: a version or a feature that this one does not know.
  case newerFormat
  /// Written by an mmlog from before the first release, in a format that nothing reads any more.
  case olderFormat
  /// The bytes are not of this kind of file.
  case foreign
}

extension FormatError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .truncated: "it ends too early"
    case .wrongChecksum: "its checksum is wrong"
    case .invalid(let what): "it has an impossible \(what)"
    case .newerFormat: "it was written by a newer version of mmlog; read it with that one"
    case .olderFormat:
      "it was written by an mmlog from before the first release; read it with that one"
    case .foreign: "it is not an mmlog file"
    }
  }
}

/// Numbers at offsets of bytes. The pairs follow STYLE: `load` is for offsets that have been
/// checked against a fixed-size structure; everything of variable size goes through ``WordReader``.
extension UnsafeRawBufferPointer {
  package func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
    precondition(offset >= 0 && offset <= count - MemoryLayout<T>.size)
    return T(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }

  /// The bytes of a range that has been checked to lie within.
  package func slice(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
  }

  /// A text field: up to the first zero byte. For up to 15 bytes it allocates nothing.
  package func text(_ offset: Int, _ size: Int) -> String {
    var count = 0
    while count < size, load(offset + count, as: UInt8.self) != 0 { count += 1 }
    return String(decoding: slice(offset, count), as: UTF8.self)
  }
}

extension UnsafeMutableRawBufferPointer {
  package func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, _ offset: Int) {
    precondition(offset >= 0 && offset <= count - MemoryLayout<T>.size)
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  /// A text field: cut to its size at a character's edge, padded with zeros.
  package func store(text: String, _ offset: Int, _ size: Int) {
    var cut = text.prefix(size)
    while cut.utf8.count > size { cut = cut.dropLast() }
    let bytes = Array(cut.utf8)
    for index in 0..<size { self[offset + index] = index < bytes.count ? bytes[index] : 0 }
  }

  package func store(bytes: some Sequence<UInt8>, _ offset: Int) {
    for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
  }
}

/// Reads words, strings and bytes one after the other, and throws at the end of its bytes instead
/// of running over it.
package struct WordReader {
  private let bytes: UnsafeRawBufferPointer
  /// The offset of the next word.
  package private(set) var offset = 0

  /// Reads from `bytes`, which the caller keeps alive for as long as the reader and what it gave.
  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

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

  package mutating func text() throws(FormatError) -> String {
    String(decoding: try string(), as: UTF8.self)
  }
}

/// Builds what ``WordReader`` reads. Not for the hot path.
package struct WordWriter {
  package private(set) var words: [UInt64] = []

  package init() {}

  package mutating func append(_ word: UInt64) { words.append(word) }

  package mutating func append(string bytes: some Collection<UInt8>) {
    words.append(UInt64(bytes.count))
    var word: UInt64 = 0
    var shift: UInt64 = 0
    for byte in bytes {
      word |= UInt64(byte) << shift
      shift += 8
      if shift == 64 {
        words.append(word)
        (word, shift) = (0, 0)
      }
    }
    if shift > 0 { words.append(word) }
  }

  package mutating func append(_ text: String) { append(string: text.utf8) }

  /// Sets a word that could not be known before those after it.
  package mutating func set(_ word: UInt64, at index: Int) { words[index] = word }
}
