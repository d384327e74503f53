import CMMLogCore

/// The memory that malloc(3) takes.
package enum Heap {
  /// Keeps up to 64 MiB of freed memory for later allocations: mallopt(3). For a program that takes
  /// and frees large pieces in turns. To be called before it has a second thread.
  package static func keepFreedMemory() { mmlog_keep_freed_memory() }

  /// Gives large pieces of memory back to the kernel when they are freed: for a process that is to
  /// be small.
  package static func returnFreedMemory() { mmlog_return_freed_memory() }
}
