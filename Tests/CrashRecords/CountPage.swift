import CMMLogCore
import MMLogSystem

/// What a process that will be killed reports, in a file that it shares with its killer: above all,
/// for each of its lanes, how many log calls have returned.
///
/// Proof of `@unchecked Sendable`: its words are touched by atomic operations only.
package final class CountPage: @unchecked Sendable {
  /// How many lanes a process has. The first lane of the next process has the next number.
  package static let laneCount = 62
  private let mapping: Mapping

  /// Makes a page, or opens the existing one.
  package init(_ path: String) throws {
    let file = try File.open(path, [.read, .write, .create])
    let size = 64 * Self.wordCount
    try file.allocate(offset: 0, count: size)
    mapping = try Mapping(file, count: size)
  }

  /// Whether the process has come to what it is to be killed in.
  package var isReady: Bool {
    get { mmlog_load_acquire_u64(word(0)) != 0 }
    set { mmlog_store_release_u64(word(0), newValue ? 1 : 0) }
  }

  /// The process's number; 0 if it has not reported.
  package var processID: UInt32 {
    get { UInt32(truncatingIfNeeded: mmlog_load_acquire_u64(word(1))) }
    set { mmlog_store_release_u64(word(1), UInt64(newValue)) }
  }

  /// Whether no thread of the process is in a log call, and none will make another.
  package var isQuiet: Bool {
    get { mmlog_load_acquire_u64(word(2)) != 0 }
    set { mmlog_store_release_u64(word(2), newValue ? 1 : 0) }
  }

  /// Whether its store was closed in order.
  package var isClosed: Bool {
    get { mmlog_load_acquire_u64(word(3)) != 0 }
    set { mmlog_store_release_u64(word(3), newValue ? 1 : 0) }
  }

  /// The test point that the process died at, as a number; nil if it died elsewhere. Setting it is
  /// async-signal-safe.
  package var deathPoint: UInt8? {
    get {
      let value = mmlog_load_acquire_u64(word(4))
      return value == 0 ? nil : UInt8(truncatingIfNeeded: value - 1)
    }
    set { mmlog_store_release_u64(word(4), newValue.map { UInt64($0) + 1 } ?? 0) }
  }

  /// How many records of a lane are acknowledged. Lanes are counted from 0 in each process.
  package subscript(lane: Int) -> Int {
    Int(mmlog_load_acquire_u64(laneWord(lane)))
  }

  /// How many records of each lane are acknowledged.
  package var counts: [Int] { (0..<Self.laneCount).map { self[$0] } }

  /// Counts a record of a lane. Async-signal-safe.
  package func acknowledge(_ lane: Int) { _ = mmlog_fetch_add_u64(laneWord(lane), 1) }

  private static let firstLane = 5
  private static let wordCount = firstLane + laneCount

  private func laneWord(_ lane: Int) -> UnsafeMutablePointer<UInt64> {
    precondition((0..<Self.laneCount).contains(lane))
    return word(Self.firstLane + lane)
  }

  /// The address of a word. Each word has a cache line of its own.
  private func word(_ index: Int) -> UnsafeMutablePointer<UInt64> {
    (mapping.base + 64 * index).assumingMemoryBound(to: UInt64.self)
  }
}
