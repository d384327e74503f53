import CZlib

/// Compresses payloads, each on its own, with one zlib state for all (RFC 1950).
package final class Deflater {
  /// On the heap, because zlib's state points back to it.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  /// 1 (fast) to 9 (small).
  package let level: Int
  /// Holds what `deflate` wrote last.
  private var buffer: [UInt8] = []

  /// - Parameter level: 1 (fast) to 9 (small).
  /// - Returns: nil if zlib cannot get its memory (about 256 KiB).
  package init?(level: Int) {
    self.level = level
    stream.initialize(to: z_stream())
    let status = deflateInit_(
      stream, CInt(level), ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { return nil }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// The compressed bytes, or nil if that would save less than a sixteenth.
  package func compress(_ bytes: [UInt8]) -> [UInt8]? { bytes.withUnsafeBytes { compress($0) } }

  /// The compressed bytes, or nil if that would save less than 1 / `share`.
  ///
  /// - Parameter findsRepetitions: Whether zlib searches for repetitions, or, twice as fast, only
  ///   inspects how frequent each byte is.
  package func compress(
    _ bytes: UnsafeRawBufferPointer, share: Int = 16, findsRepetitions: Bool = true
  ) -> [UInt8]? {
    let strategy = findsRepetitions ? Z_DEFAULT_STRATEGY : Z_HUFFMAN_ONLY
    guard bytes.count >= 64, deflateReset(stream) == Z_OK,
      deflateParams(stream, CInt(level), strategy) == Z_OK
    else { return nil }
    let limit = bytes.count - bytes.count / share
    if buffer.count < limit { buffer = [UInt8](repeating: 0, count: limit) }
    let size = buffer.withUnsafeMutableBufferPointer { output -> Int? in
      stream.pointee.next_in = UnsafeMutablePointer(
        mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
      stream.pointee.avail_in = UInt32(bytes.count)
      stream.pointee.next_out = output.baseAddress
      stream.pointee.avail_out = UInt32(limit)
      let finished = deflate(stream, Z_FINISH) == Z_STREAM_END
      return finished ? limit - Int(stream.pointee.avail_out) : nil
    }
    return size.map { Array(buffer[..<$0]) }
  }
}

/// Decompresses payloads, each on its own, with one zlib state for all.
package final class Inflater {
  /// On the heap, because zlib's state points back to it.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

  /// - Returns: nil if zlib cannot get its memory (about 40 KiB).
  package init?() {
    stream.initialize(to: z_stream())
    let status = inflateInit_(stream, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { return nil }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Decompresses `bytes` into exactly `size` bytes; fewer or more are an error.
  package func decompress(
    _ bytes: UnsafeRawBufferPointer, size: Int
  ) throws(FormatError) -> [UInt8] {
    // zlib makes at most 1032 bytes of one: a larger claim is a lie, and costs no allocation.
    guard size <= FrameLayout.largestPayload, size / 1040 <= bytes.count,
      inflateReset(stream) == Z_OK
    else { throw .invalid("payload size") }
    var isWhole = false
    let output = [UInt8](unsafeUninitializedCapacity: size) { output, count in
      stream.pointee.next_in = UnsafeMutablePointer(
        mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
      stream.pointee.avail_in = UInt32(bytes.count)
      stream.pointee.next_out = output.baseAddress
      stream.pointee.avail_out = UInt32(size)
      let finished = inflate(stream, Z_FINISH) == Z_STREAM_END
      count = finished ? size - Int(stream.pointee.avail_out) : 0
      isWhole = finished && count == size
    }
    guard isWhole else { throw .invalid("compressed payload") }
    return output
  }
}
