import MMLogFormat
import TestSupport

extension [UInt8] {
  /// A copy with one bit flipped.
  func flipping(bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= 1 << (bit % 8)
    return copy
  }

  /// The bytes in aligned memory, for a decoder.
  func read<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let memory = AlignedBytes(self)
    return try withExtendedLifetime(memory) { () throws(Failure) in try body(memory.bytes) }
  }
}

/// What a decoder threw, nil if it did not.
func failure(_ body: () throws -> Void) -> FormatError? {
  do {
    try body()
    return nil
  } catch {
    return error as? FormatError
  }
}

let anyIdentity = SessionIdentity(
  session: SessionID(words: (1, 2)), bootID: Array(1...16), processID: 42, startTime: -5,
  processName: "orders", hostName: "tokyo", timeZone: "Europe/Berlin", storeName: "store")
