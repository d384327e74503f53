import CMMLogCore
import Glibc

/// The first part of a file in memory, shared with everyone who has it mapped: mmap(2) MAP_SHARED.
///
/// The mapping is unmapped at the end of its life; a pointer into it must not outlive it. To touch
/// a page beyond the file's end, or a page that the disk has no room for, raises SIGBUS: make the
/// file long enough, and call ``File/allocate(offset:count:)``.
///
/// Proof of `@unchecked Sendable`: `base` and `count` never change, so that only the memory behind
/// them is shared. Other processes change it, too, and whoever touches it orders the accesses with
/// atomics (CMMLogCore) or by protocol.
package struct Mapping: ~Copyable, @unchecked Sendable {
  /// Where the part begins in memory; page-aligned.
  package let base: UnsafeMutableRawPointer

  /// The part's length in bytes.
  package let count: Int

  /// The file's path, for errors.
  package let path: String

  private var owned = true

  /// Maps the first `count` bytes of a file, which is open for reading and writing: mmap(2).
  ///
  /// The file may be closed afterwards.
  package init(_ file: borrowing File, count: Int) throws(SystemError) {
    let (descriptor, path) = (file.descriptor, file.path)
    // MAP_FAILED is the address -1.
    let address = try retrying(.mmap, path) {
      Int(bitPattern: mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0))
    }
    guard let base = UnsafeMutableRawPointer(bitPattern: address) else {
      throw SystemError(call: .mmap, errno: EFAULT, path: path)
    }
    (self.base, self.count, self.path) = (base, count, path)
  }

  deinit {
    if owned { munmap(base, count) }
  }

  /// Unmaps it. In place of the pages of a range there is private memory until the process ends. If
  /// the kernel refuses that, these pages stay mapped to the file.
  package consuming func unmap(leaving range: Range<Int>) {
    let page = Host.pageSize - 1
    let (start, end) = (range.lowerBound & ~page, min((range.upperBound + page) & ~page, count))
    Self.replaceWithPrivateMemory(base + start, count: end - start)
    if start > 0 { munmap(base, start) }
    if end < count { munmap(base + end, count - end) }
    owned = false
  }
}

extension Mapping {
  /// Makes the pages of a range writable now, so that a later store takes no fault: madvise(2)
  /// MADV_POPULATE_WRITE.
  ///
  /// The contents stay. Where the kernel does not know the call (before Linux 5.14), each page is
  /// stored to; then the file must have blocks for the whole range.
  /// - Throws: EFAULT where a page has no room on the disk or lies beyond the file's end.
  package func populateForWriting(offset: Int, count: Int) throws(SystemError) {
    let pages = pages(offset: offset, count: count)
    do throws(SystemError) {
      _ = try retrying(.madvise, path) {
        mmlog_populate_for_writing(pages.baseAddress, pages.count)
      }
    } catch let error where error.errno == EINVAL {
      mmlog_touch_pages(pages.baseAddress, pages.count, Host.pageSize)
    }
  }

  /// Replaces a mapping by zeroed memory of this process's own: mmap(2) MAP_FIXED.
  ///
  /// Stores through an old address then reach no file, and the mappings of other processes do not
  /// change. Async-signal-safe; for a child of fork.
  /// - Returns: false if the kernel refuses; then the file is still mapped.
  @discardableResult
  package static func replaceWithPrivateMemory(
    _ base: UnsafeMutableRawPointer, count: Int
  ) -> Bool {
    mmlog_replace_with_private_memory(base, count) == 0
  }

  /// The pages that a range of the mapping touches.
  private func pages(offset: Int, count: Int) -> UnsafeMutableRawBufferPointer {
    precondition(
      offset >= 0 && count >= 0 && offset <= self.count && count <= self.count - offset,
      "the range leaves the mapping")
    let start = offset & ~(Host.pageSize - 1)
    return UnsafeMutableRawBufferPointer(start: base + start, count: offset + count - start)
  }
}
