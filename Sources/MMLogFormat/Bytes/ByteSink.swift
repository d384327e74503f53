/// Bytes that grow at their end, in memory that stays for the next time.
struct ByteSink: ~Copyable {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int = 4096) {
    self.capacity = capacity
    base = .allocate(byteCount: capacity, alignment: wordSize)
  }

  deinit { base.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  mutating func removeAll() { count = 0 }

  /// Makes room for so many more bytes.
  @inline(__always)
  mutating func reserve(_ extra: Int) {
    if count &+ extra > capacity { grow(extra) }
  }

  @inline(never)
  private mutating func grow(_ extra: Int) {
    let larger = max(2 * capacity, count + extra)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: wordSize)
    grown.copyMemory(from: base, byteCount: count)
    base.deallocate()
    (base, capacity) = (grown, larger)
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  @inline(__always)
  mutating func append(word: UInt64) {
    reserve(wordSize)
    base.storeBytes(of: word, toByteOffset: count, as: UInt64.self)
    count &+= wordSize
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    reserve(bytes.count)
    (base + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  /// Seven bits a byte, the lowest first; all but the last byte have the highest bit set.
  mutating func append(varint value: UInt64) {
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

  /// Lets `body` write up to `most` bytes at the end; it returns how many it wrote.
  @inline(__always)
  mutating func append(maximum: Int, _ body: (UnsafeMutableRawPointer) -> Int) {
    reserve(maximum)
    count &+= body(base + count)
  }

  /// Drops what was appended after there were `count` bytes.
  mutating func cut(to count: Int) {
    precondition(count >= 0 && count <= self.count)
    self.count = count
  }

  /// Changes a byte that was appended.
  mutating func set(_ byte: UInt8, at offset: Int) {
    precondition(offset >= 0 && offset < count)
    base.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
  }
}
