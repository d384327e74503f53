import CMMLogCore

/// Memory for what nobody else may read: it is in no core dump, is zero in a child of fork, is not
/// swapped out, and is zeroed before it is freed.
///
/// Where the kernel refuses one of these (mlock(2) beyond RLIMIT_MEMLOCK, say), the memory is used
/// nevertheless, and ``isProtected`` is false.
///
/// Proof of `@unchecked Sendable`: `bytes` and `isProtected` never change. Whoever stores to the
/// memory does so before others have it.
package final class SecretMemory: @unchecked Sendable {
  /// The memory, in whole pages; valid for as long as this object.
  package let bytes: UnsafeMutableRawBufferPointer
  /// Whether the kernel grants all that it was asked for.
  package let isProtected: Bool

  /// - Parameter count: The minimum number of bytes.
  /// - Throws: ENOMEM.
  package init(count: Int) throws(SystemError) {
    let page = Host.pageSize
    let size = max(page, (count + page - 1) / page * page)
    guard let base = PrivateMemory.allocate(size) else { throw PrivateMemory.refusal }
    bytes = UnsafeMutableRawBufferPointer(start: base, count: size)
    isProtected = mmlog_keep_secret(base, size) == 0
  }

  deinit {
    Self.erase(bytes)
    if let base = bytes.baseAddress { PrivateMemory.free(base, count: bytes.count) }
  }

  /// Zeroes memory that is no longer used: explicit_bzero(3).
  package static func erase(_ bytes: UnsafeMutableRawBufferPointer) {
    if let base = bytes.baseAddress { mmlog_erase(base, bytes.count) }
  }
}
