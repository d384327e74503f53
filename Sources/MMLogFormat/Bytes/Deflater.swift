/// Compresses payloads, each on its own, with the state of one coder for all (RFC 1950).
package final class Deflater {
  /// 1 (fast) to 9 (small).
  package let level: Int
  private let coder: ZlibCompressor
  /// Holds what the coder wrote last.
  private var buffer: [UInt8] = []

  /// - Parameter level: 1 (fast) to 9 (small).
  /// - Returns: nil if the coder cannot get its memory (about 256 KiB).
  package init?(level: Int) {
    guard let coder = ZlibCompressor(level: level) else { return nil }
    (self.level, self.coder) = (level, coder)
  }

  /// The compressed bytes, or nil if that would save less than a sixteenth.
  package func compress(_ bytes: [UInt8]) -> [UInt8]? { bytes.withUnsafeBytes { compress($0) } }

  /// The compressed bytes, or nil if that would save less than 1 / `share`.
  ///
  /// - Parameter findsRepetitions: Whether repetitions are worth searching for; if not, a coder that
  ///   is faster then only inspects how frequent each byte is.
  package func compress(
    _ bytes: UnsafeRawBufferPointer, share: Int = 16, findsRepetitions: Bool = true
  ) -> [UInt8]? {
    guard bytes.count >= 64 else { return nil }
    let limit = bytes.count - bytes.count / share
    if buffer.count < limit { buffer = [UInt8](repeating: 0, count: limit) }
    let size = buffer.withUnsafeMutableBufferPointer { output in
      coder.compress(bytes, to: output.extracting(..<limit), findsRepetitions: findsRepetitions)
    }
    return size.map { Array(buffer[..<$0]) }
  }
}

/// Decompresses payloads, each on its own, with the state of one coder for all.
package final class Inflater {
  private let coder: ZlibDecompressor

  /// - Returns: nil if the coder cannot get its memory (about 40 KiB).
  package init?() {
    guard let coder = ZlibDecompressor() else { return nil }
    self.coder = coder
  }

  /// Decompresses `bytes` into exactly `size` bytes; fewer or more are an error.
  package func decompress(
    _ bytes: UnsafeRawBufferPointer, size: Int
  ) throws(FormatError) -> [UInt8] {
    // A stream makes at most 1032 bytes of one: a larger claim is a lie, and costs no allocation.
    guard size <= FrameLayout.largestPayload, size / 1040 <= bytes.count else {
      throw .invalid("payload size")
    }
    var isWhole = false
    let output = [UInt8](unsafeUninitializedCapacity: size) { output, count in
      isWhole = coder.decompress(bytes, to: output.extracting(..<size))
      count = isWhole ? size : 0
    }
    guard isWhole else { throw .invalid("compressed payload") }
    return output
  }
}
