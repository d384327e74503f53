/// Numbers at offsets of bytes. `load` is for offsets that have been checked against a fixed-size
/// structure; everything of variable size goes through ``WordReader``.
extension UnsafeRawBufferPointer {
  package func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
    precondition(offset >= 0 && offset <= count - MemoryLayout<T>.size)
    return T(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }

  /// The bytes of a range. The caller has checked that the range lies within.
  package func slice(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
  }

  /// The size of the longest beginning of a UTF-8 text that has at most `limit` bytes and only
  /// whole characters.
  package func countOfWholeCharacters(within limit: Int) -> Int {
    if count <= limit { return count }
    var end = limit
    // The byte at `end` has to begin a character.
    while end > 0, self[end] & 0xC0 == 0x80 { end -= 1 }
    return end
  }

  /// Whether the bytes are the same, compared eight at a time.
  func equals(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    let words = count / wordSize * wordSize
    for offset in stride(from: 0, to: words, by: wordSize)
    where loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    { return false }
    return self[words...].elementsEqual(other[words...])
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

extension [UInt8] {
  /// Appends `count` bytes, all of which `store` has to store; none if it throws.
  mutating func append<Failure: Error>(
    storing count: Int, _ store: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    try append(addingCapacity: count) { (output) throws(Failure) in
      try output.withUnsafeMutableBufferPointer { (output, stored) throws(Failure) in
        let bytes = UnsafeMutableRawBufferPointer(output)
        try store(UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
        stored = count
      }
    }
  }
}
