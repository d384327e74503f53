/// How compressed bytes are written.
package enum CompressionFormat: Sendable {
  /// RFC 1950. Every build reads and writes it.
  case zlib
  /// RFC 8878. For builds with the trait `Zstd`.
  case zstd

  /// Whether this build has it.
  package var isAvailable: Bool {
    #if Zstd
      true
    #else
      self == .zlib
    #endif
  }

  fileprivate func coder(level: Int) -> (any CompressingCoder)? {
    #if Zstd
      if self == .zstd { return ZstdCompressor(level: level) }
    #endif
    return self == .zlib ? ZlibCompressor(level: level) : nil
  }

  fileprivate func decoder() -> (any DecompressingCoder)? {
    #if Zstd
      if self == .zstd { return ZstdDecompressor() }
    #endif
    return self == .zlib ? ZlibDecompressor() : nil
  }

  /// The maximum number of bytes that one compressed byte can stand for. A larger claim is a lie.
  fileprivate var largestRatio: Int {
    switch self {
    // 258 bytes in two bits.
    case .zlib: 1040
    // A block of 128 KiB in four bytes.
    case .zstd: 32 << 10
    }
  }

  /// The maximum size of the rows that a payload in columns stands for, in bytes. Columns of equal
  /// numbers cost nothing, however many numbers they have: without a bound, some bytes would be
  /// millions of records.
  ///
  /// A frame has ``RowBuilder/targetSize`` of rows, and one record more. Whatever such records are,
  /// their columns may cost nothing. The last record may be long. Then, before they are compressed,
  /// each word of it costs two bytes at least, each byte of a string costs one, and each byte of a
  /// pattern stands for at most 18 digits. The ratio of zstd is so large that it has room for that.
  package func largestRows(ofColumns size: Int) -> Int {
    4 * RowBuilder.targetSize + (self == .zlib ? 20 : 4) * largestRatio * size
  }
}

/// The state of a coder that compresses.
protocol CompressingCoder: AnyObject {
  /// - Parameter effort: With ``TextEffort/reduced``, repetitions are not worth searching for. A
  ///   coder may then inspect only how frequent each byte is, if that is faster.
  /// - Returns: The size of the compressed bytes, or nil if they do not fit into `output`.
  func compress(
    _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>,
    effort: TextEffort
  ) -> Int?
}

/// The state of a coder that decompresses.
protocol DecompressingCoder: AnyObject {
  /// - Returns: Whether `bytes` decompress to exactly as many bytes as `output` takes.
  func decompress(
    _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool
}

/// Compresses payloads, each on its own, with the state of one coder for all.
package final class Compressor {
  package let format: CompressionFormat
  /// 1 (fast) to 9 (small).
  package let level: Int
  private let coder: any CompressingCoder
  /// Holds what the coder wrote last.
  private var buffer: [UInt8] = []

  /// - Parameter level: 0 (none), or 1 (fast) to 9 (small).
  /// - Returns: nil for level 0, if the build has no such coder, or if it cannot get its memory
  ///   (about 256 KiB).
  package init?(level: Int, _ format: CompressionFormat = .zlib) {
    guard level > 0, let coder = format.coder(level: level) else { return nil }
    (self.format, self.level, self.coder) = (format, level, coder)
  }

  /// The compressed bytes, or nil if that would save less than a sixteenth.
  package func compress(_ bytes: [UInt8]) -> [UInt8]? { bytes.withUnsafeBytes { compress($0) } }

  /// The compressed bytes, or nil if that would save less than 1 / `share`.
  ///
  /// - Parameter effort: See ``CompressingCoder``.
  package func compress(
    _ bytes: UnsafeRawBufferPointer, share: Int = 16, effort: TextEffort = .full
  ) -> [UInt8]? {
    guard bytes.count >= 64 else { return nil }
    let limit = bytes.count - bytes.count / share
    if buffer.count < limit { buffer = [UInt8](repeating: 0, count: limit) }
    let size = buffer.withUnsafeMutableBufferPointer { output in
      coder.compress(bytes, to: output.extracting(..<limit), effort: effort)
    }
    return size.map { Array(buffer[..<$0]) }
  }
}

/// Decompresses payloads, each on its own, with the state of one coder for all.
package final class Decompressor {
  let format: CompressionFormat
  private let coder: any DecompressingCoder

  /// - Returns: nil if the build has no such coder, or it cannot get its memory.
  package init?(_ format: CompressionFormat = .zlib) {
    guard let coder = format.decoder() else { return nil }
    (self.format, self.coder) = (format, coder)
  }

  /// Makes a decompressor for the payload of a frame, or throws why the payload cannot be read.
  package static func make(for codec: FrameCodec) throws(FormatError) -> Decompressor {
    let format = codec.compression ?? .zlib
    guard format.isAvailable else { throw .missingCoder(format) }
    guard let decompressor = Decompressor(format) else {
      throw .invalid("size: \(format) has no memory")
    }
    return decompressor
  }

  /// Decompresses `bytes` into exactly `size` bytes; fewer or more are an error.
  package func decompress(
    _ bytes: UnsafeRawBufferPointer, size: Int
  ) throws(FormatError) -> [UInt8] {
    // Before any memory is taken.
    guard size >= 0, size <= FrameLayout.largestPayload, size / format.largestRatio <= bytes.count
    else { throw .invalid("payload size") }
    var isWhole = false
    let output = [UInt8](unsafeUninitializedCapacity: size) { output, count in
      isWhole = coder.decompress(bytes, to: output.extracting(..<size))
      count = isWhole ? size : 0
    }
    guard isWhole else { throw .invalid("compressed payload") }
    return output
  }
}
