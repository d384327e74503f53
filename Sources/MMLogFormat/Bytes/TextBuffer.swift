import CMMLogCore

/// A buffer that formatters and columns append bytes to. Its memory stays for the next record, and
/// an append costs less than that of an array.
///
/// For one thread at a time.
public struct TextBuffer: ~Copyable {
  /// Aligned to a word.
  @usableFromInline var base: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  @usableFromInline var end = 0

  /// How many bytes there are.
  @inlinable public var count: Int { end }

  /// Makes an empty buffer.
  ///
  /// - Parameter capacity: Bytes that it takes before it grows.
  public init(capacity: Int = 1024) {
    self.capacity = max(capacity, 64)
    base = Self.resized(nil, self.capacity)
  }

  deinit { mmlog_free(base) }

  /// Resizes memory, and keeps its bytes.
  private static func resized(
    _ memory: UnsafeMutableRawPointer?, _ size: Int
  ) -> UnsafeMutableRawPointer {
    guard let memory = mmlog_resize(memory, size) else { fatalError("out of memory") }
    return memory
  }

  /// Whether the buffer is empty.
  public var isEmpty: Bool { count == 0 }

  /// Gives the buffer's bytes to `body`. They are valid as long as `body` runs.
  ///
  /// - Throws: What `body` throws.
  public borrowing func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(bytes)
  }

  /// Its bytes as text; what is not UTF-8 in them is replaced.
  package borrowing func text() -> String { String(decoding: bytes, as: UTF8.self) }

  /// The buffer's bytes, valid until the buffer changes.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Drops everything.
  ///
  /// - Parameter maximum: How much memory is kept, in bytes; the rest is freed.
  public mutating func removeAll(keeping maximum: Int = .max) {
    end = 0
    guard capacity > maximum else { return }
    mmlog_free(base)
    capacity = max(maximum, 64)
    base = Self.resized(nil, capacity)
  }

  /// Appends the bytes of a text.
  @inlinable @inline(__always)
  public mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends the UTF-8 bytes of a string.
  public mutating func append(text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends bytes.
  @inlinable @inline(__always)
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    reserve(bytes.count)
    (base + count).copyMemory(from: start, byteCount: bytes.count)
    end &+= bytes.count
  }

  /// Appends bytes.
  @inlinable
  public mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends a byte.
  @inlinable @inline(__always)
  public mutating func append(_ byte: UInt8) {
    reserve(1)
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    end &+= 1
  }

  /// Appends a byte `count` times.
  package mutating func append(_ byte: UInt8, count: Int) {
    guard count > 0 else { return }
    append(maximum: count) { place in
      place.update(repeating: byte, count: count)
      return count
    }
  }

  /// Lets `body` write up to `maximum` bytes at the end; it returns how many it wrote.
  @inlinable @inline(__always)
  package mutating func append(maximum: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    reserve(maximum)
    end &+= body((base + count).assumingMemoryBound(to: UInt8.self))
  }

  /// Makes room for `extra` more bytes.
  @inlinable @inline(__always)
  package mutating func reserve(_ extra: Int) {
    if count &+ extra > capacity { grow(extra) }
  }

  @inline(never) @usableFromInline
  mutating func grow(_ extra: Int) {
    let larger = max(2 * capacity, count + extra)
    (base, capacity) = (Self.resized(base, larger), larger)
  }

  /// Gives the bytes from `start` on to `body`, which may change them while it runs.
  @inlinable
  package mutating func withBytes<Result>(
    from start: Int, _ body: (UnsafeMutableRawBufferPointer) -> Result
  ) -> Result {
    precondition(start >= 0 && start <= count)
    return body(UnsafeMutableRawBufferPointer(start: base + start, count: count - start))
  }

  /// Inserts a byte `added` times at `start`.
  package mutating func insert(_ byte: UInt8, count added: Int, at start: Int) {
    precondition(start >= 0 && start <= count && added >= 0)
    reserve(added)
    let place = base + start
    (place + added).copyMemory(from: place, byteCount: count - start)
    place.initializeMemory(as: UInt8.self, repeating: byte, count: added)
    end += added
  }

  /// Takes away the byte at `index`.
  package mutating func remove(at index: Int) {
    precondition(index >= 0 && index < count)
    let place = base + index
    place.copyMemory(from: place + 1, byteCount: count - index - 1)
    end -= 1
  }

  /// Drops all bytes behind the first `count`.
  package mutating func cut(to count: Int) {
    precondition(count >= 0 && count <= self.count)
    end = count
  }
}

/// For columns (FORMAT.md, 10).
extension TextBuffer {
  /// Seven bits a byte, the lowest first; all but the last byte have the highest bit set.
  package mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  mutating func append(varint value: Int) { append(varint: UInt64(value)) }

  /// A signed number as 0, −1, 1, −2, 2 …
  mutating func append(signed value: UInt64) {
    append(varint: value << 1 ^ UInt64(bitPattern: Int64(bitPattern: value) >> 63))
  }

  @inline(__always)
  mutating func append(word: UInt64) {
    reserve(wordSize)
    base.storeBytes(of: word, toByteOffset: count, as: UInt64.self)
    end &+= wordSize
  }

  /// Changes a byte that was appended.
  mutating func set(_ byte: UInt8, at offset: Int) {
    precondition(offset >= 0 && offset < count)
    base.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
  }
}
