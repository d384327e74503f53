import CMMLogCore
import MMLogSystem

/// How many log calls of each of the service's threads have returned, in a page that outlives the
/// service.
///
/// Proof of `@unchecked Sendable`: its words are touched by atomic operations only.
final class Counts: @unchecked Sendable {
  private let mapping: Mapping

  /// Makes the page's file and its directory, or opens an existing file.
  init(_ directory: String) throws {
    try Directory.create(directory)
    let file = try File.open("\(directory)/counts", [.read, .write, .create])
    let size = 64 * (Service.threadCount + 1)
    try file.allocate(offset: 0, count: size)
    mapping = try Mapping(file, count: size)
  }

  /// Whether the service has begun.
  var isReady: Bool {
    get { mmlog_load_acquire_u64(word(0)) != 0 }
    set { mmlog_store_release_u64(word(0), newValue ? 1 : 0) }
  }

  /// How many records of a thread are acknowledged.
  subscript(thread: Int) -> Int { Int(mmlog_load_acquire_u64(word(thread + 1))) }

  /// Counts a record. For one thread only.
  func acknowledge(_ thread: Int) {
    let word = word(thread + 1)
    mmlog_store_release_u64(word, mmlog_load_relaxed_u64(word) + 1)
  }

  /// Each word has a cache line of its own: otherwise the threads would slow each other down.
  private func word(_ index: Int) -> UnsafeMutablePointer<UInt64> {
    (mapping.base + 64 * index).assumingMemoryBound(to: UInt64.self)
  }
}
