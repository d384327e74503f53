#if LibDeflate
  import CLibDeflate

  /// libdeflate's state for compressing: zlib's streams, at about twice its rate.
  final class ZlibCompressor: CompressingCoder {
    private let state: OpaquePointer

    init?(level: Int) {
      guard let state = libdeflate_alloc_compressor(CInt(level)) else { return nil }
      self.state = state
    }

    deinit { libdeflate_free_compressor(state) }

    // libdeflate always searches for repetitions.
    func compress(
      _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>,
      findsRepetitions: Bool
    ) -> Int? {
      let size = libdeflate_zlib_compress(
        state, bytes.baseAddress, bytes.count, output.baseAddress, output.count)
      return size > 0 ? size : nil
    }
  }

  /// libdeflate's state for decompressing.
  final class ZlibDecompressor: DecompressingCoder {
    private let state: OpaquePointer

    init?() {
      guard let state = libdeflate_alloc_decompressor() else { return nil }
      self.state = state
    }

    deinit { libdeflate_free_decompressor(state) }

    func decompress(
      _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
      // Nothing is told about fewer bytes: they are an error, too.
      libdeflate_zlib_decompress(
        state, bytes.baseAddress, bytes.count, output.baseAddress, output.count, nil)
        == LIBDEFLATE_SUCCESS
    }
  }
#endif
