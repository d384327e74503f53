package import MMLogFormat

/// The numbered entries that a session's files have, and where entries are missing.
///
/// Each writer numbers the records and fragments that it commits or loses, from 0. Therefore the
/// numbers of two entries say exactly how many are missing between them. Parts may be added in any
/// order, and more than once.
package struct EntryNumbers {
  /// Entries that exist.
  package struct Part: Equatable, Sendable {
    package var numbers: NumberRange
    /// When the entries were logged; nil if that is not known.
    package var times: ClosedRange<Timestamp>?
    /// Whether an earlier reader has reported what is missing before the entries.
    package var isRead = false
  }

  /// Entries that are missing.
  package struct Gap: Equatable, Sendable {
    package var writer: UInt32
    /// The number of the first missing entry.
    package var first: UInt64
    package var count: UInt64
    /// The part with the entry before the missing ones; nil if there is no such entry.
    package var before: Part?
    /// The part with the entry behind the missing ones.
    package var after: Part
  }

  private var parts: [UInt32: [Part]] = [:]

  package init() {}

  /// Adds the entries of a frame that can be read.
  ///
  /// - Parameter isRead: Whether an earlier reader has read the frame.
  package mutating func add(_ header: FrameHeader, isRead: Bool = false) {
    let (first, last) = (header.summary.firstWall, header.summary.lastWall)
    let times = header.summary.count > 0 && first <= last ? first...last : nil
    for case let numbers? in header.ranges.map(\.numbers) where numbers.count > 0 {
      add(numbers, times: times, isRead: isRead)
    }
  }

  /// Adds entries that exist. A part without entries says that the entries before it were numbered.
  ///
  /// - Parameters:
  ///   - times: When the entries were logged, if that is known.
  ///   - isRead: Whether an earlier reader has reported what is missing before the entries.
  package mutating func add(
    _ numbers: NumberRange, times: ClosedRange<Timestamp>? = nil, isRead: Bool = false
  ) {
    parts[numbers.writer, default: []].append(
      Part(numbers: numbers, times: times, isRead: isRead))
  }

  /// Returns what is missing before and between the entries that exist, by writer and number. It is
  /// not known what is missing behind the last entry of a writer.
  ///
  /// - Complexity: O(*n* log *n*) in the number of parts.
  package func gaps() -> [Gap] {
    parts.sorted { $0.key < $1.key }.flatMap { Self.gaps(in: $0.value) }
  }

  /// The number of entries of a writer.
  package struct Total: Equatable, Sendable {
    package var writer: UInt32
    /// The ordinal of the thread; 0 if several shared the writer.
    package var thread: UInt32
    /// How many entries were numbered up to the last one that exists.
    package var numbered: UInt64
    /// How many of these exist.
    package var present: UInt64
  }

  /// Returns the number of entries of each writer.
  ///
  /// - Complexity: O(*n* log *n*) in the number of parts.
  package func totals() -> [Total] {
    parts.sorted { $0.key < $1.key }.map { writer, parts in
      let missing = Self.gaps(in: parts).reduce(0) { $0 &+ $1.count }
      let numbered = parts.reduce(0) { max($0, $1.numbers.end) }
      let threads = Set(parts.map(\.numbers.thread))
      return Total(
        writer: writer, thread: threads.count == 1 ? threads.first ?? 0 : 0, numbered: numbered,
        present: numbered &- missing)
    }
  }

  private static func gaps(in parts: [Part]) -> [Gap] {
    var (gaps, next, last) = ([Gap](), UInt64(0), Part?.none)
    // Of two parts with the same first number, the one that was read comes first.
    for part in parts.sorted(by: {
      ($0.numbers.first, $0.isRead ? 0 : 1) < ($1.numbers.first, $1.isRead ? 0 : 1)
    }) {
      if part.numbers.first > next {
        gaps.append(
          Gap(
            writer: part.numbers.writer, first: next, count: part.numbers.first - next,
            before: last, after: part))
      }
      if part.numbers.end >= next { (next, last) = (part.numbers.end, part) }
    }
    return gaps
  }
}
