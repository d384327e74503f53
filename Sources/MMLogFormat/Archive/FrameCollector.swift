/// Merges the records of segments by time into the rows of one frame after the other.
package struct FrameCollector {
  package private(set) var runs: [CollectedSegment]
  /// The number of the run that has the next record; nil if no run has a record left.
  private var current: Int?
  /// The numbers of the other runs that have a record.
  private var heap = MergeHeap<UInt64, Int>()
  private let cutoff: UInt64

  /// - Parameter cutoff: Records with later ticks are left for the next time, so that frames
  ///   overlap as little as possible.
  package init(_ runs: [CollectedSegment], cutoff: UInt64 = .max) {
    self.runs = runs
    self.cutoff = cutoff
    for (index, run) in runs.enumerated() where !run.isEmpty {
      heap.insert(index, key: run.ticks, order: run.order)
    }
    current = heap.popFirst()?.element
  }

  /// Takes records until `builder` has reached `size` bytes or there are none left.
  ///
  /// - Returns: The parts of segments that were taken.
  package mutating func fill(
    _ builder: inout RowBuilder, size: Int = RowBuilder.targetSize
  ) -> [RingRange] {
    take(to: &builder, size: size)
    return runs.indices.flatMap { runs[$0].takeRanges() }
  }

  private mutating func take(to builder: inout RowBuilder, size: Int) {
    // In place: a copy for each record would cost more than all the rest.
    runs.withUnsafeMutableBufferPointer { runs in
      while builder.size < size, let run = current, runs[run].ticks <= cutoff {
        let limit = heap.firstPlace?.key ?? .max
        runs[run].move(to: &builder, size: size, before: limit, cutoff: cutoff)
        current =
          runs[run].isEmpty
          ? heap.popFirst()?.element
          : heap.exchange(run, key: runs[run].ticks, order: runs[run].order).element
      }
    }
  }
}

extension CollectedSegment {
  /// Of records with equal ticks, those of the earlier use of a segment come first.
  fileprivate var order: Int { Int(truncatingIfNeeded: header.generation) }
}
