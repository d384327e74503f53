/// Collects the rows of one frame.
package struct RowBuilder {
  private var threads: [ThreadIdentity] = []
  private var known: Set<UInt32> = []
  private var rows: [UInt8] = []
  package private(set) var summary = RecordSummary()

  package init() {}

  package var isEmpty: Bool { rows.isEmpty }
  /// The size that the payload would have now, in bytes.
  package var size: Int { wordSize + threads.count * ThreadLayout.size + rows.count }

  /// Adds a record or fragment of `thread`, at `ticks` in place of its own (see FORMAT.md, 5).
  package mutating func add(_ record: RecordView, thread: ThreadIdentity, ticks: UInt64) {
    if known.insert(thread.ordinal).inserted { threads.append(thread) }
    let start = rows.count
    rows.append(contentsOf: record.bytes)
    rows.withUnsafeMutableBytes { all in
      let row = UnsafeMutableRawBufferPointer(rebasing: all[start...])
      row.store(thread.ordinal, 4)
      row.store(ticks, RecordLayout.ticksWord * wordSize)
    }
    summary.add(ticks: ticks, level: record.level)
  }

  /// The payload: thread table, then rows.
  package func payload() -> [UInt8] {
    var table = [UInt8](repeating: 0, count: wordSize + threads.count * ThreadLayout.size)
    table.withUnsafeMutableBytes { out in
      out.store(UInt32(threads.count), 0)
      for (index, thread) in threads.enumerated() {
        let offset = wordSize + index * ThreadLayout.size
        out.store(thread.ordinal, offset + ThreadLayout.ordinal)
        out.store(thread.id, offset + ThreadLayout.threadID)
        out.store(text: thread.name, offset + ThreadLayout.name, SegmentLayout.threadNameSize)
      }
    }
    return table + rows
  }

  /// Forgets everything but the memory it was in.
  package mutating func removeAll() {
    threads.removeAll(keepingCapacity: true)
    known.removeAll(keepingCapacity: true)
    rows.removeAll(keepingCapacity: true)
    summary = RecordSummary()
  }
}
