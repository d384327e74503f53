import CMMLogCore

/// The memory that is taken by malloc(3).
package enum Heap {
  /// Keeps up to 64 MiB of what is freed for what is taken next: mallopt(3). For a program that takes
  /// and frees large pieces in turns, before it has a second thread.
  package static func keepFreedMemory() { mmlog_keep_freed_memory() }
}
