package import MMLogFormat

/// The numbered entries of a session that its files have, and where some are missing.
///
/// Each writer numbers the records and fragments that it commits, and those that it loses, from 0;
/// so between two that are there, exactly as many are missing as their numbers say. Parts may be
/// added in any order, and more than once.
package struct EntryNumbers {
  /// Entries that are there.
  package struct Part: Equatable, Sendable {
    package var numbers: NumberRange
    /// When they were logged; nil if that is not known.
    package var times: ClosedRange<Timestamp>?
    /// Whether what is missing before them was reported by an earlier reader.
    package var isRead = false
  }

  /// Entries that are missing.
  package struct Gap: Equatable, Sendable {
    package var writer: UInt32
    /// The number of the first one that is missing.
    package var first: UInt64
    package var count: UInt64
    /// What has the entry before them; nil if nothing before them is there.
    package var before: Part?
    /// What has the entry behind them.
    package var after: Part
  }

  private var parts: [UInt32: [Part]] = [:]

  package init() {}

  /// Takes in what a frame has that can be read.
  ///
  /// - Parameter isRead: Whether an earlier reader has read the frame.
  package mutating func add(_ header: FrameHeader, isRead: Bool = false) {
    let (first, last) = (header.summary.firstWall, header.summary.lastWall)
    let times = header.summary.count > 0 && first <= last ? first...last : nil
    for case let numbers? in header.ranges.map(\.numbers) where numbers.count > 0 {
      add(numbers, times: times, isRead: isRead)
    }
  }

  /// Takes in entries that are there; of none, that those before them were numbered.
  ///
  /// - Parameters:
  ///   - times: When they were logged, if that is known.
  ///   - isRead: Whether an earlier reader has reported what is missing before them.
  package mutating func add(
    _ numbers: NumberRange, times: ClosedRange<Timestamp>? = nil, isRead: Bool = false
  ) {
    parts[numbers.writer, default: []].append(
      Part(numbers: numbers, times: times, isRead: isRead))
  }

  /// What is missing before and between the entries that are there, by writer and number. What is
  /// missing behind the last entry of a writer, nothing says.
  ///
  /// - Complexity: O(*n* log *n*) in the number of parts.
  package func gaps() -> [Gap] {
    parts.sorted { $0.key < $1.key }.flatMap { Self.gaps(in: $0.value) }
  }

  /// How many entries of a writer there are.
  package struct Total: Equatable, Sendable {
    package var writer: UInt32
    /// The ordinal of the thread; 0 if several shared the writer.
    package var thread: UInt32
    /// How many were numbered up to the last one that is there.
    package var numbered: UInt64
    /// How many of these are there.
    package var present: UInt64
  }

  /// How many entries there are of each writer.
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
    // Of two with the same, the one that was read first.
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
