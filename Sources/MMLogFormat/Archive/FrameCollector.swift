/// Merges the records of segments by time into the rows of one frame after the other.
package struct FrameCollector {
  package private(set) var runs: [SegmentRun]
  /// Numbers of the runs that have a record, as a binary heap: the earliest first.
  private var heap: [Int] = []
  private let cutoff: UInt64

  /// - Parameter cutoff: Records with later ticks are left for the next time, so that frames
  ///   overlap as little as possible.
  package init(_ runs: [SegmentRun], cutoff: UInt64 = .max) {
    self.runs = runs
    self.cutoff = cutoff
    for index in runs.indices where !runs[index].isEmpty { push(index) }
  }

  /// Takes records until `builder` has reached `size` bytes or there are none left.
  ///
  /// - Returns: The parts of segments that were taken.
  package mutating func fill(_ builder: inout RowBuilder, size: Int) -> [RingRange] {
    while builder.size < size, let first = heap.first, runs[first].ticks <= cutoff {
      let limit = nextTicks
      // In place: a copy for each record would cost more than all the rest.
      runs.withUnsafeMutableBufferPointer {
        $0[first].move(to: &builder, size: size, before: limit, cutoff: cutoff)
      }
      if runs[first].isEmpty { removeFirst() } else { siftDown() }
    }
    return runs.indices.flatMap { runs[$0].takeRanges() }
  }

  // MARK: - The heap

  /// The ticks of the run that comes after the first.
  private var nextTicks: UInt64 {
    var ticks = UInt64.max
    for child in 1..<3 where child < heap.count { ticks = min(ticks, runs[heap[child]].ticks) }
    return ticks
  }

  private func isEarlier(_ a: Int, _ b: Int) -> Bool {
    (runs[a].ticks, runs[a].header.generation) < (runs[b].ticks, runs[b].header.generation)
  }

  private mutating func push(_ run: Int) {
    heap.append(run)
    var child = heap.count - 1
    while child > 0, isEarlier(heap[child], heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    siftDown()
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      let children = [2 * parent + 1, 2 * parent + 2]
      var minimum = parent
      for child in children where child < heap.count && isEarlier(heap[child], heap[minimum]) {
        minimum = child
      }
      if minimum == parent { return }
      heap.swapAt(parent, minimum)
      parent = minimum
    }
  }
}
