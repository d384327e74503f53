/// Sessions merged by the wall time of their next items.
struct SessionMerge {
  private typealias Place = MergeHeap<Int64, SessionReader>.Place
  private var heap = MergeHeap<Int64, SessionReader>()
  /// The session whose turn it is, taken out of the heap.
  private var current: SessionReader?
  private var currentOrder = 0
  private var limit: Place?
  private var count = 0

  /// Adds a session. Of equal times, that of the one added first comes first.
  mutating func insert(_ session: SessionReader) {
    if session.hasNext { heap.insert(session, key: session.time, order: count) }
    count += 1
  }

  /// The next item; nil at the end.
  mutating func next() -> LogItem? {
    if let current, current.hasNext {
      let isBehind = limit.map { $0 < Place(key: current.time, order: currentOrder) } ?? false
      if !isBehind { return current.next() }
      heap.insert(current, key: current.time, order: currentOrder)
    }
    current = nil
    guard let (session, order) = heap.popFirst() else { return nil }
    (current, currentOrder) = (session, order)
    limit = heap.firstPlace
    return session.next()
  }
}
