import MMLogFormat

/// Records that are missing between other records of their threads, as the numbers of those prove.
public struct MissingRecords: Hashable, Sendable {
  /// The number of records. If a record was written in fragments, each fragment counts.
  public private(set) var count: UInt64
  /// The ordinals of the threads that logged them, in rising order; empty if that is not known.
  public private(set) var threads: [UInt32]
  /// When they were logged, from the earliest possible time to the latest; nil if that is not
  /// known.
  public private(set) var times: ClosedRange<Timestamp>?

  private init(_ gap: EntryNumbers.Gap) {
    count = gap.count
    threads = gap.after.numbers.thread == 0 ? [] : [gap.after.numbers.thread]
    guard let last = gap.after.times?.upperBound else { return }
    let first = gap.before?.times?.lowerBound ?? gap.after.times?.lowerBound ?? last
    times = min(first, last)...last
  }

  /// What is missing, by time. Records that may be of the same time are reported together.
  static func merged(_ gaps: [EntryNumbers.Gap]) -> [MissingRecords] {
    let all = gaps.map(MissingRecords.init).sorted { $0.start < $1.start }
    var merged: [MissingRecords] = []
    for records in all {
      if let last = merged.last, last.overlaps(records) {
        merged[merged.count - 1].add(records)
      } else {
        merged.append(records)
      }
    }
    // Sorted once, at the end: there may be as many threads as gaps.
    for index in merged.indices { merged[index].threads = Set(merged[index].threads).sorted() }
    return merged
  }

  private var start: Timestamp { times?.lowerBound ?? .distantPast }

  private func overlaps(_ other: MissingRecords) -> Bool {
    guard let times, let others = other.times else { return times == other.times }
    return times.overlaps(others)
  }

  /// Afterwards, threads may be in any order, and occur more than once.
  private mutating func add(_ other: MissingRecords) {
    let (sum, overflow) = count.addingReportingOverflow(other.count)
    count = overflow ? .max : sum
    threads += other.threads
    guard let mine = times, let others = other.times else { return }
    times = min(mine.lowerBound, others.lowerBound)...max(mine.upperBound, others.upperBound)
  }

  /// `12 records of thread 3 are missing, logged between 2026-11-21T09:00:00Z and
  /// 2026-11-21T09:00:01Z`, with times as `text` makes them.
  func summary(_ text: (Timestamp) -> String) -> String {
    let noun = count == 1 ? "1 record" : "\(count) records"
    let owner =
      switch threads.count {
      case 0: ""
      case 1: " of thread \(threads[0])"
      default: " of \(threads.count) threads"
      }
    let sentence = "\(noun)\(owner) \(count == 1 ? "is" : "are") missing"
    guard let times else { return sentence }
    return "\(sentence), logged between \(text(times.lowerBound)) and \(text(times.upperBound))"
  }
}
