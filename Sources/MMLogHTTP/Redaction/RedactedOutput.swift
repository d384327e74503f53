import MMLog
import MMLogFormat

/// Memory for redacted bytes. Bytes that have no room are cut, so that no input, however large,
/// takes more memory than this.
struct RedactedOutput: ~Copyable {
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0
  /// Whether something had no room.
  private(set) var isCut = false

  /// Writes into memory that belongs to the caller, and outlives this output.
  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  /// Calls `body` with memory for `capacity` bytes, which is gone afterwards.
  @inline(__always)
  static func with<Result>(
    capacity: Int, _ body: (inout RedactedOutput) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { memory in
      var output = RedactedOutput(memory)
      return body(&output)
    }
  }

  /// What was written.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  /// Adds bytes, up to where the memory ends.
  @inline(never)
  mutating func append(_ start: UnsafePointer<UInt8>, _ count: Int) {
    let taken = min(count, memory.count &- self.count)
    if taken < count { isCut = true }
    if taken > 0, let base = memory.baseAddress {
      (base + self.count).copyMemory(from: start, byteCount: taken)
    }
    self.count &+= taken
  }

  mutating func append(_ text: StaticString) { append(text.utf8Start, text.utf8CodeUnitCount) }

  /// Adds a hash as it is shown.
  mutating func append(hash: UInt64) {
    append("hash:")
    for shift in stride(from: UInt64(60), through: 0, by: -4) {
      var digit = hexadecimalDigit(UInt8(hash >> shift & 0xF))
      append(&digit, 1)
    }
  }

  /// Marks the end of a text that was cut, between two characters.
  mutating func markCut() {
    let mark: StaticString = "…"
    guard isCut, memory.count >= mark.utf8CodeUnitCount else { return }
    count = bytes.countOfWholeCharacters(within: memory.count - mark.utf8CodeUnitCount)
    append(mark)
  }
}

/// The hash of a value that comes in pieces: the one that log calls make of a private `String` of
/// these characters, unless that has decomposed ones.
struct ValueHash {
  private var hasher = PrivateHash.hasher()

  mutating func combine(_ start: UnsafePointer<UInt8>, _ count: Int) {
    combine(UnsafeRawBufferPointer(start: start, count: count))
  }

  mutating func combine(_ bytes: UnsafeRawBufferPointer) { hasher.combine(bytes: bytes) }

  var value: UInt64 {
    var hasher = hasher
    // Behind the characters of a `String` comes this byte, which none of them has.
    hasher.combine(0xFF as UInt8)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }
}
