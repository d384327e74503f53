import CLibDeflate
import MMLogFormat

/// Compresses bodies with gzip: libdeflate, whose level 1 has zlib's ratio at twice its rate.
///
/// For one thread at a time.
final class Gzip {
  private let state: OpaquePointer?

  init(level: Int = 1) { state = libdeflate_alloc_compressor(CInt(level)) }

  deinit { if let state { libdeflate_free_compressor(state) } }

  /// The compressed bytes; nil where there is no memory for it.
  func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let state else { return nil }
    let bound = libdeflate_gzip_compress_bound(state, bytes.count)
    let result = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
      count = libdeflate_gzip_compress(
        state, bytes.baseAddress, bytes.count, output.baseAddress, bound)
    }
    return result.isEmpty ? nil : result
  }
}
