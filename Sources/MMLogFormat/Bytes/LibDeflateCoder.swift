#if LibDeflate
  import CLibDeflate

  /// libdeflate's state for compressing. libdeflate makes zlib streams about twice as fast as zlib
  /// does.
  final class ZlibCompressor: CompressingCoder {
    private let state: OpaquePointer
    /// For ``TextEffort/thorough``: made when that is first wanted, if there is memory.
    private var thorough: OpaquePointer?
    /// Of the levels that take no more memory than zlib, the one with the smallest output.
    private static let thoroughLevel: CInt = 9

    init?(level: Int) {
      guard let state = libdeflate_alloc_compressor(CInt(level)) else { return nil }
      self.state = state
    }

    deinit {
      libdeflate_free_compressor(state)
      if let thorough { libdeflate_free_compressor(thorough) }
    }

    // libdeflate always searches for repetitions.
    func compress(
      _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>,
      effort: TextEffort
    ) -> Int? {
      if effort == .thorough, thorough == nil {
        thorough = libdeflate_alloc_compressor(Self.thoroughLevel)
      }
      let state = effort == .thorough ? thorough ?? self.state : self.state
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
      // With nil as the last argument, fewer bytes than expected are an error, too.
      libdeflate_zlib_decompress(
        state, bytes.baseAddress, bytes.count, output.baseAddress, output.count, nil)
        == LIBDEFLATE_SUCCESS
    }
  }
#endif
