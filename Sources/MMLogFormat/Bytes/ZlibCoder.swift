#if !LibDeflate
  import CZlib

  /// zlib's state for compressing.
  final class ZlibCompressor: CompressingCoder {
    /// On the heap, because zlib's state points back to it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let level: CInt
    /// The level of zlib with the smallest output.
    private static let thoroughLevel: CInt = 9

    init?(level: Int) {
      self.level = CInt(level)
      stream.initialize(to: z_stream())
      let status = deflateInit_(
        stream, self.level, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
      guard status == Z_OK else { return nil }
    }

    deinit {
      deflateEnd(stream)
      stream.deallocate()
    }

    func compress(
      _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>,
      effort: TextEffort
    ) -> Int? {
      let strategy = effort == .reduced ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY
      let level = effort == .thorough ? Self.thoroughLevel : level
      stream.pointee.next_out = output.baseAddress
      stream.pointee.avail_out = UInt32(output.count)
      // When settings change, zlib 1.2.11 writes the stream's beginning at once, even after a
      // reset. zlib needs the output for that, and must have no input, which it would compress with
      // the old settings.
      stream.pointee.avail_in = 0
      guard deflateReset(stream) == Z_OK, deflateParams(stream, level, strategy) == Z_OK else {
        return nil
      }
      stream.pointee.next_in = UnsafeMutablePointer(
        mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
      stream.pointee.avail_in = UInt32(bytes.count)
      guard deflate(stream, Z_FINISH) == Z_STREAM_END else { return nil }
      return output.count - Int(stream.pointee.avail_out)
    }
  }

  /// zlib's state for decompressing.
  final class ZlibDecompressor: DecompressingCoder {
    /// On the heap, because zlib's state points back to it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    init?() {
      stream.initialize(to: z_stream())
      let status = inflateInit_(stream, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
      guard status == Z_OK else { return nil }
    }

    deinit {
      inflateEnd(stream)
      stream.deallocate()
    }

    func decompress(
      _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
      guard inflateReset(stream) == Z_OK else { return false }
      stream.pointee.next_in = UnsafeMutablePointer(
        mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
      stream.pointee.avail_in = UInt32(bytes.count)
      stream.pointee.next_out = output.baseAddress
      stream.pointee.avail_out = UInt32(output.count)
      return inflate(stream, Z_FINISH) == Z_STREAM_END && stream.pointee.avail_out == 0
    }
  }
#endif
