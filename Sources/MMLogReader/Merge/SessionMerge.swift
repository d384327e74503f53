import MMLogFormat

/// Sessions merged by the wall time of their next items.
struct SessionMerge {
  private var heap = MergeHeap<Int64, SessionReader>()
  /// The session whose turn it is, taken out of the heap.
  private var current: SessionReader?
  private var currentOrder = 0
  /// The session keeps its turn as long as its time is not greater.
  private var limit = Timestamp.distantFuture
  private var count = 0

  /// Adds a session. Of sessions with equal times, the one added first comes first.
  mutating func insert(_ session: SessionReader) {
    if session.hasNext {
      heap.insert(session, key: session.time.nanosecondsSince1970, order: count)
    }
    count += 1
  }

  /// The next item; nil at the end.
  mutating func next() -> LogReader.Item? {
    while let session = front() {
      if let item = session.next() { return item }
    }
    return nil
  }

  /// The next items; nil at the end.
  mutating func nextChunk() -> LogReader.Chunk? { front()?.nextChunk(until: limit) }

  private mutating func front() -> SessionReader? {
    // Not before the next item is asked for: by now, the caller has mostly released what was given
    // before.
    current?.readAhead()
    var next: (element: SessionReader, order: Int)?
    if let current, current.hasNext {
      if current.time <= limit { return current }
      next = heap.exchange(current, key: current.time.nanosecondsSince1970, order: currentOrder)
    } else {
      next = heap.popFirst()
    }
    current = next?.element
    currentOrder = next?.order ?? 0
    limit = Timestamp(
      nanosecondsSince1970: heap.firstPlace.map { $0.lastKey(before: currentOrder) } ?? .max)
    return current
  }
}
