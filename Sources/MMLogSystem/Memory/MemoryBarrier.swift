import CMMLogCore

/// A memory barrier in every running thread of the process at once: membarrier(2), expedited.
///
/// With it, the frequent side of a protocol needs only a compiler barrier; the rare side bears the
/// cost.
package enum MemoryBarrier {
  /// Informs the kernel that ``allThreads()`` will be called. A child of fork inherits the
  /// registration.
  ///
  /// - Returns: false if the kernel does not have the call (before Linux 4.14, or filtered out).
  package static func register() -> Bool {
    isDone { mmlog_membarrier_register() }
  }

  /// Makes each thread pass a full barrier before this returns.
  ///
  /// - Returns: false if nothing happened: not registered, or the kernel does not have the call.
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
