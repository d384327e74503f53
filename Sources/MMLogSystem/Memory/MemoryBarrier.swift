import CMMLogCore

/// A memory barrier in every running thread of the process at once: membarrier(2), expedited.
///
/// It lets the frequent side of a protocol do with a compiler barrier, at the rare side's cost.
package enum MemoryBarrier {
  /// Informs the kernel that ``allThreads()`` will be called. A child of fork inherits it.
  ///
  /// - Returns: false if the kernel does not have it (before Linux 4.14, or filtered out).
  package static func register() -> Bool {
    isDone { mmlog_membarrier_register() }
  }

  /// After it returns, each thread has passed a full barrier since it was called.
  ///
  /// - Returns: false if nothing happened: not registered, or the kernel does not have it.
  package static func allThreads() -> Bool {
    isDone { mmlog_membarrier() }
  }

  private static func isDone(_ body: () -> CInt) -> Bool {
    do throws(SystemError) {
      _ = try retrying(.membarrier, "", body)
      return true
    } catch {
      return false
    }
  }
}
