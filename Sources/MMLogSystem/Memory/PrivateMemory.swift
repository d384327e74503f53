import CMMLogCore
import Glibc

/// Anonymous memory of this process's own, straight from the kernel: mmap(2).
///
/// For scratch space where the heap must not be used: all functions are async-signal-safe, take no
/// lock and leave errno as it was. The memory comes in whole pages, zeroed.
package enum PrivateMemory {
  /// `count` zeroed bytes, page-aligned; nil when the kernel refuses.
  package static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    if isRefused(.mmap) { return nil }
    return mmlog_private_allocate(count)
  }

  /// Makes whole pages zero again: madvise(2) MADV_DONTNEED. They take no memory until they are
  /// touched.
  package static func clear(_ base: UnsafeMutableRawPointer, count: Int) {
    mmlog_private_clear(base, count)
  }

  /// Gives memory back: munmap(2).
  ///
  /// - Parameter count: the size that it was allocated with or last resized to, in bytes.
  package static func free(_ base: UnsafeMutableRawPointer, count: Int) {
    mmlog_private_free(base, count)
  }

  /// Makes memory larger or smaller, and moves it if necessary: mremap(2). New bytes are zero.
  ///
  /// - Returns: where the memory is now; nil when the kernel refuses, and then the memory is as it
  ///   was.
  package static func resize(
    _ base: UnsafeMutableRawPointer, from oldCount: Int, to newCount: Int
  ) -> UnsafeMutableRawPointer? {
    if isRefused(.mremap) { return nil }
    return mmlog_private_resize(base, oldCount, newCount)
  }

  /// The error to throw if there has to be memory and ``allocate(_:)`` gave none.
  package static var refusal: SystemError { SystemError(call: .mmap, errno: ENOMEM) }

  @inline(__always)
  private static func isRefused(_ call: SystemCall) -> Bool {
    #if DEBUG
      if case .errno = ForcedFault.next(call, "") { return true }
    #endif
    return false
  }
}
