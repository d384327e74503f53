/// Bytes that grow at their end, for formatters to write to: in memory of its own that stays for
/// the next record, without what an array does at each append.
///
/// For one thread at a time.
public struct TextBuffer: ~Copyable {
  private var base: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  /// How many bytes there are.
  public private(set) var count = 0

  /// Makes an empty buffer.
  ///
  /// - Parameter capacity: Bytes that it takes before it grows.
  public init(capacity: Int = 1024) {
    self.capacity = max(capacity, 64)
    base = .allocate(capacity: self.capacity)
  }

  deinit { base.deallocate() }

  /// Whether there is nothing in it.
  public var isEmpty: Bool { count == 0 }

  /// Its bytes, as long as `body` runs.
  public borrowing func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// Drops everything.
  ///
  /// - Parameter maximum: Memory beyond so many bytes is given back.
  public mutating func removeAll(keeping maximum: Int = .max) {
    count = 0
    guard capacity > maximum else { return }
    base.deallocate()
    capacity = max(maximum, 64)
    base = .allocate(capacity: capacity)
  }

  /// Appends the bytes of a text.
  @inline(__always)
  public mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends the bytes of a text that is not known before.
  public mutating func append(text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends bytes.
  @inline(__always)
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    reserve(bytes.count)
    UnsafeMutableRawPointer(base + count).copyMemory(from: start, byteCount: bytes.count)
    count &+= bytes.count
  }

  /// Appends bytes.
  public mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends a byte.
  @inline(__always)
  public mutating func append(_ byte: UInt8) {
    reserve(1)
    base[count] = byte
    count &+= 1
  }

  /// Appends a byte so many times.
  package mutating func append(_ byte: UInt8, count: Int) {
    guard count > 0 else { return }
    append(maximum: count) { place in
      place.update(repeating: byte, count: count)
      return count
    }
  }

  /// Lets `body` write up to `most` bytes at the end; it returns how many it wrote.
  @inline(__always)
  mutating func append(maximum: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    reserve(maximum)
    count &+= body(base + count)
  }

  /// Makes room for so many more bytes.
  @inline(__always)
  mutating func reserve(_ extra: Int) {
    if count &+ extra > capacity { grow(extra) }
  }

  @inline(never)
  private mutating func grow(_ extra: Int) {
    let larger = max(2 * capacity, count + extra)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    grown.update(from: base, count: count)
    base.deallocate()
    (base, capacity) = (grown, larger)
  }

  /// The bytes from `start` on, as long as `body` runs; it may change them.
  package mutating func withBytes<Result>(
    from start: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Result
  ) -> Result {
    precondition(start >= 0 && start <= count)
    return body(UnsafeMutableBufferPointer(start: base + start, count: count - start))
  }

  /// Puts a byte so many times before what was appended from `start` on.
  mutating func insert(_ byte: UInt8, count added: Int, at start: Int) {
    precondition(start >= 0 && start <= count && added >= 0)
    reserve(added)
    let place = base + start
    UnsafeMutableRawPointer(place + added).copyMemory(from: place, byteCount: count - start)
    place.update(repeating: byte, count: added)
    count += added
  }

  /// Takes away the byte at `index`.
  mutating func remove(at index: Int) {
    precondition(index >= 0 && index < count)
    let place = base + index
    UnsafeMutableRawPointer(place).copyMemory(from: place + 1, byteCount: count - index - 1)
    count -= 1
  }

  /// Drops what was appended after there were `count` bytes.
  package mutating func cut(to count: Int) {
    precondition(count >= 0 && count <= self.count)
    self.count = count
  }
}
