import CMMLog
import MMLogSystem

/// What a process that will be killed tells, in a file that it shares with who kills it: above all how many
/// records each lane has logged whose call has returned.
///
/// Proof of `@unchecked Sendable`: its words are touched by atomic operations only.
package final class CountPage: @unchecked Sendable {
  /// How many lanes have a count.
  package static let laneCount = 62
  private let mapping: Mapping

  /// Makes a page, or opens the one that is there.
  package init(_ path: String) throws {
    let file = try File.open(path, [.read, .write, .create])
    let size = 64 * (Self.laneCount + 2)
    try file.allocate(offset: 0, count: size)
    mapping = try Mapping(file, count: size, writable: true)
  }

  /// Whether the process has come to what it is to be killed in.
  package var isReady: Bool {
    get { mmlog_load_acquire_u64(word(0)) != 0 }
    set { mmlog_store_release_u64(word(0), newValue ? 1 : 0) }
  }

  /// How many records of a lane are acknowledged.
  package subscript(lane: Int) -> Int {
    Int(mmlog_load_acquire_u64(word(lane + 1)))
  }

  /// All of them.
  package var counts: [Int] { (0..<Self.laneCount).map { self[$0] } }

  /// Counts a record of a lane. Async-signal-safe.
  package func acknowledge(_ lane: Int) { _ = mmlog_fetch_add_u64(word(lane + 1), 1) }

  /// One to a cache line.
  private func word(_ index: Int) -> UnsafeMutablePointer<UInt64> {
    precondition((0...Self.laneCount).contains(index))
    return (mapping.base + 64 * index).assumingMemoryBound(to: UInt64.self)
  }
}
