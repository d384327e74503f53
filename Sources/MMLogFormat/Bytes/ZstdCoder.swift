#if Zstd
  import CZstd

  /// zstd's state for compressing.
  final class ZstdCompressor: CompressingCoder {
    private let state: OpaquePointer
    private let level: CInt
    /// Of the levels with which a frame takes 3 MiB at most, the one with the smallest output.
    private static let thoroughLevel: CInt = 6

    init?(level: Int) {
      guard let state = ZSTD_createCCtx() else { return nil }
      (self.state, self.level) = (state, CInt(level))
    }

    deinit { ZSTD_freeCCtx(state) }

    func compress(
      _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>,
      effort: TextEffort
    ) -> Int? {
      let level =
        switch effort {
        case .full, .none: self.level
        case .reduced: 1 as CInt
        case .thorough: max(self.level, Self.thoroughLevel)
        }
      let size = ZSTD_compressCCtx(
        state, output.baseAddress, output.count, bytes.baseAddress, bytes.count,
        level)
      return ZSTD_isError(size) == 0 ? size : nil
    }
  }

  /// zstd's state for decompressing.
  final class ZstdDecompressor: DecompressingCoder {
    private let state: OpaquePointer

    init?() {
      guard let state = ZSTD_createDCtx() else { return nil }
      self.state = state
    }

    deinit { ZSTD_freeDCtx(state) }

    func decompress(
      _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
      // An error is a number larger than any size.
      ZSTD_decompressDCtx(
        state, output.baseAddress, output.count, bytes.baseAddress, bytes.count) == output.count
    }
  }
#endif
