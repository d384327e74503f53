import CMMLogCore

/// Memory of the process's own for what must not be read later: it is in no core dump, and zero in
/// a child of fork. It takes room only where something was put, and each part is locked by itself.
package enum StreamMemory {
  /// - Parameter count: How many bytes; whole pages.
  /// - Throws: ENOMEM.
  package static func allocate(_ count: Int) throws(SystemError) -> UnsafeMutableRawPointer {
    guard let base = mmlog_sparse_allocate(count) else { throw PrivateMemory.refusal }
    mmlog_hide(base, count)
    return base
  }

  /// Keeps a part from being swapped out, if RLIMIT_MEMLOCK leaves room for that: mlock(2).
  package static func lock(_ part: UnsafeMutableRawBufferPointer) {
    if let base = part.baseAddress { mmlog_lock_memory(base, part.count) }
  }

  /// Makes a part zero, and gives its pages back to the kernel.
  package static func clear(_ base: UnsafeMutableRawPointer, count: Int) {
    mmlog_unlock_memory(base, count)
    PrivateMemory.clear(base, count: count)
  }
}
