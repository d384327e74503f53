import MMLog
import MMLogFormat

/// Memory that redacted bytes go to. What has no room in it is cut, so that no input, however
/// large, takes more than it was given.
struct RedactedOutput: ~Copyable {
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0
  /// Whether something had no room.
  private(set) var isCut = false

  /// Writes into memory that is the caller's, and outlives it.
  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  /// Gives `body` memory for so many bytes, which is gone behind it.
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

/// The hash of a value that comes in pieces, as log calls make it of private ones.
struct ValueHash {
  private var hasher = PrivateHash.hasher()

  mutating func combine(_ start: UnsafePointer<UInt8>, _ count: Int) {
    hasher.combine(bytes: UnsafeRawBufferPointer(start: start, count: count))
  }

  var value: UInt64 { UInt64(bitPattern: Int64(hasher.finalize())) }
}
