import MMLogFormat
package import MMLogReader

/// The spans of a log, each with its duration, its parent, and how it ended.
///
/// Memory is bounded: of many spans that have ended, the ones that took longest are kept, 200,000
/// or more. The others are only counted. For one thread at a time.
package struct LogSpans {
  /// How a span ended.
  package enum Outcome: String, CaseIterable, Sendable {
    case ok, failed
    /// The span has not ended, as far as the log says.
    case open

    package static let all = Set(allCases)
  }

  /// A span that has begun.
  package struct Span {
    package let session: SessionID
    package let number: UInt64?
    package let parent: UInt64?
    package let start: Timestamp
    /// Nil for an open span.
    package let duration: Duration?
    /// For an open span, how long it was open when its session ended, or has been until now; nil if
    /// that is not known.
    package let age: Duration?
    package let outcome: Outcome
    /// The first 200 characters of the name.
    package let name: String?
    /// The first 200 characters of the name that the span has got since it began.
    let newName: String?
    /// The message of the record that began the span; nil if that record was not read.
    package let message: String?
    /// The first 200 characters of the label.
    package let label: String
    package let thread: String

    /// What lists for people call the span.
    package var title: String { newName ?? message ?? name ?? "(unknown)" }
  }

  private let capacity: Int
  private let outcomes: Set<Outcome>
  private let durations: ClosedRange<Duration>
  private var beginnings = OpenSpans()
  private var ended: [Span] = []
  /// When each session ended; for running sessions, now.
  private var ends: [SessionID: Timestamp] = [:]
  /// The number of ended spans that are not kept.
  package private(set) var others = 0
  /// The number of open spans that are not kept.
  package var otherOpen: Int { outcomes.contains(.open) ? beginnings.countNotKept : 0 }

  /// Makes an empty list.
  ///
  /// - Parameters:
  ///   - outcomes: The outcomes of spans to keep.
  ///   - durations: The durations of spans to keep. For an open span, its age counts.
  ///   - capacity: How many ended spans are kept at least.
  package init(
    outcomes: Set<Outcome> = Outcome.all, durations: ClosedRange<Duration>? = nil,
    capacity: Int = 200_000
  ) {
    (self.outcomes, self.durations) = (outcomes, durations ?? .zero ... .seconds(Int64.max))
    self.capacity = capacity
  }

  /// Adds what a reader gave.
  package mutating func add(_ item: LogReader.Item) {
    if case .sessionEnded(let session, let ending, let lastTime) = item {
      ends[session.id] = ending.time(lastRecord: lastTime)
    }
    guard case .record(let record) = item, let span = record.span else { return }
    let beginning = beginnings.add(record)
    guard case .end(let start, let duration, let failed) = span.event else { return }
    let outcome: Outcome = failed ? .failed : .ok
    guard outcomes.contains(outcome), durations.contains(duration) else { return }
    if ended.count == 2 * capacity { keepLongest() }
    let thread = record.thread
    ended.append(
      Span(
        session: record.session.id, number: span.number, parent: beginning?.parent, start: start,
        duration: duration, age: nil, outcome: outcome, name: span.name?.first200,
        newName: record.content.newSpanName?.first200,
        message: beginning?.message, label: record.label.first200,
        thread: beginning?.thread ?? (thread.name.isEmpty ? "\(thread.id)" : thread.name)))
  }

  private mutating func keepLongest() {
    ended.sort { $0.duration ?? .zero > $1.duration ?? .zero }
    others += ended.count - capacity
    ended.removeSubrange(capacity...)
  }

  /// All spans that were kept, by their start.
  package var list: [Span] {
    let open = outcomes.contains(.open) ? beginnings.list.map(open) : []
    let all = ended + open.filter { durations.contains($0.age ?? .zero) }
    return all.sorted { ($0.start, $0.number ?? 0) < ($1.start, $1.number ?? 0) }
  }

  private func open(_ span: OpenSpans.Open) -> Span {
    Span(
      session: span.session, number: span.number, parent: span.parent, start: span.time,
      duration: nil, age: ends[span.session].map { max(.zero, $0 - span.time) }, outcome: .open,
      name: nil, newName: nil, message: span.message, label: span.label, thread: span.thread)
  }

  /// The spans, each with its depth. Parts of a span come behind the span.
  var tree: [(depth: Int, span: Span)] {
    let all = list
    var byNumber: [Key: Int] = [:]
    for (index, span) in all.enumerated() {
      if let key = span.key { byNumber[key] = index }
    }
    var children: [Int: [Int]] = [:]
    var roots: [Int] = []
    for (index, span) in all.enumerated() {
      let parent = span.parent.flatMap { byNumber[Key(session: span.session, number: $0)] }
      if let parent, parent != index {
        children[parent, default: []].append(index)
      } else {
        roots.append(index)
      }
    }
    return walk(all, children, roots)
  }

  fileprivate struct Key: Hashable {
    let session: SessionID
    let number: UInt64
  }

  /// The parents in a file may form a circle. Each span is returned once, those of circles at the
  /// end.
  private func walk(
    _ all: [Span], _ children: [Int: [Int]], _ roots: [Int]
  ) -> [(depth: Int, span: Span)] {
    var result: [(Int, Span)] = []
    var isDone = [Bool](repeating: false, count: all.count)
    for root in roots + Array(all.indices) where !isDone[root] {
      var stack = [(depth: 0, index: root)]
      while let (depth, index) = stack.popLast() {
        if isDone[index] { continue }
        isDone[index] = true
        result.append((depth, all[index]))
        stack += (children[index] ?? []).reversed().map { (depth + 1, $0) }
      }
    }
    return result
  }
}

extension LogSpans.Span {
  fileprivate var key: LogSpans.Key? {
    number.map { LogSpans.Key(session: session, number: $0) }
  }
}
