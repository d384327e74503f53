import CMMLogCore

/// The memory that is taken by malloc(3).
package enum Heap {
  /// Keeps up to 64 MiB of what is freed for what is taken next: mallopt(3). For a program that
  /// takes and frees large pieces in turns, before it has a second thread.
  package static func keepFreedMemory() { mmlog_keep_freed_memory() }

  /// Has large pieces of memory given back to the kernel when they are freed: for a process that is
  /// to be small.
  package static func returnFreedMemory() { mmlog_return_freed_memory() }
}
