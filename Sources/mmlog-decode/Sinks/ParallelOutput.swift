import MMLogReader
import MMLogSystem

/// Prints records in a format in which each record stands by itself. Threads make the bytes, in
/// batches, while the caller reads on. The caller writes the batches in their order. If the caller
/// is ahead, it makes bytes, too: thus each thread has work, no matter which of the two takes
/// longer.
final class ParallelOutput: ItemSink {
  /// How many records make a batch: some hundred microseconds of work, in a processor's own cache.
  private static let batchSize = 1024
  /// How many batches may be under way for each thread: what they hold of files is in memory.
  private static let batchesPerThread = 16
  /// Records that keep this many bytes in memory make a batch, too.
  private static let batchBytes = 4 << 20
  /// The maximum size of a batch's text in bytes. The caller makes the rest when the batch is
  /// written: a few records may have messages of gigabytes.
  fileprivate static let batchText = 2 * batchBytes
  /// How many bytes in memory the batches under way may keep for each thread.
  private static let bytesPerThread = 16 << 20

  private let target: any OutputTarget
  private let makeFormatter: @Sendable () -> any LogFormatter
  /// The caller's own formatter, for batches.
  private var formatter: any LogFormatter
  /// Prints what comes before all records, and what batches have no room for.
  private let rest: FormattedOutput
  private let queue: BatchQueue
  private var threads: [Thread] = []
  private let threadCount: Int
  /// The batches that have been handed over and not been written, the oldest first.
  private var underWay: [Batch] = []
  private var records: [LogReader.Records] = []
  private var recordCount = 0
  /// How many bytes ``records`` keep in memory, and how many the batches under way keep.
  private var (size, sizeUnderWay) = (0, 0)
  private var kept = KeptBytes()
  private var hasBegun = false

  /// - Parameters:
  ///   - makeFormatter: Makes a formatter for each thread. Formatters print the same bytes for a
  ///     record, no matter what they printed before.
  ///   - threadCount: The number of threads that work, including the caller's, at least 2.
  init(
    _ makeFormatter: @escaping @Sendable () -> any LogFormatter, to target: any OutputTarget,
    threadCount: Int
  ) {
    (self.makeFormatter, self.target, self.threadCount) = (makeFormatter, target, threadCount)
    formatter = makeFormatter()
    rest = FormattedOutput(makeFormatter(), to: target)
    queue = BatchQueue(wakingAt: (threadCount - 1) * Self.batchesPerThread / 2)
  }

  deinit { end() }

  var hasReader: Bool { target.hasReader }

  func take(_ item: LogReader.Item) throws {
    guard case .record(let record) = item else { return }
    try take(LogReader.Records(record))
  }

  func take(_ new: LogReader.Records) throws {
    try begin()
    records.append(new)
    recordCount += new.count
    size += kept.add(new)
    if recordCount >= Self.batchSize || size >= Self.batchBytes { try handOver() }
  }

  func flush() throws {
    try handOver()
    try write(until: 0)
    try target.flush()
  }

  func finish() throws {
    try begin()
    try handOver()
    try write(until: 0)
    end()
    try target.finish()
  }

  func sync() throws { try target.sync() }

  private func begin() throws {
    if hasBegun { return }
    hasBegun = true
    rest.begin()
    try rest.write()
    for number in 1..<threadCount {
      threads.append(
        try Thread(name: "format \(number)") { [queue, makeFormatter] in
          var formatter = makeFormatter()
          while let batch = queue.next() { batch.format(&formatter) }
        })
    }
  }

  private func end() {
    queue.end()
    for thread in threads { thread.join() }
    threads = []
  }

  private func handOver() throws {
    if records.isEmpty { return }
    let batch = Batch(records, size: size)
    sizeUnderWay += size
    (records, recordCount, size) = ([], 0, 0)
    underWay.append(batch)
    queue.append(batch)
    try write(
      until: threadCount * Self.batchesPerThread, size: threadCount * Self.bytesPerThread)
  }

  /// Writes the oldest batches until at most `count` are left, which keep at most `size` bytes; and
  /// also further batches that are ready.
  private func write(until count: Int, size: Int = .max) throws {
    while let batch = underWay.first {
      if let text = batch.text {
        underWay.removeFirst()
        sizeUnderWay -= batch.size
        try target.append(text.bytes.span.bytes)
        for records in text.rest { try rest.take(records) }
        try rest.write()
      } else if underWay.count <= count && sizeUnderWay <= size {
        return
      } else if let other = queue.newest() {
        other.format(&formatter)
      } else {
        batch.wait()
      }
    }
  }
}

/// Records that are printed together.
private final class Batch: Sendable {
  /// How many bytes the records keep in memory until they are printed.
  let size: Int
  private let records: LockedValue<[LogReader.Records]>
  private let result = Promise<Text>()

  /// The text of the records, and the records that are not in it.
  struct Text: Sendable {
    var bytes: [UInt8] = []
    var rest: [LogReader.Records] = []
  }

  init(_ records: [LogReader.Records], size: Int) {
    (self.records, self.size) = (LockedValue(records), size)
  }

  /// Prints the records. Only one thread calls it, once.
  func format(_ formatter: inout any LogFormatter) {
    let records = records.withLock { records in
      defer { records = [] }
      return records
    }
    var buffer = TextBuffer(capacity: 1 << 20)
    var text = Text()
    for part in records {
      let count = text.rest.isEmpty ? Self.append(part, with: &formatter, to: &buffer) : 0
      if count < part.count { text.rest.append(part.dropFirst(count)) }
    }
    text.bytes = buffer.withUnsafeBytes { Array($0) }
    result.fulfill(text)
  }

  private struct NoRoom: Error {}

  /// Prints records as long as there is room for the text.
  ///
  /// - Returns: The number of records that were printed.
  private static func append(
    _ records: LogReader.Records, with formatter: inout any LogFormatter,
    to buffer: inout TextBuffer
  ) -> Int {
    var count = 0
    do throws(NoRoom) {
      try records.forEach { (record) throws(NoRoom) in
        let end = buffer.count
        formatter.append(record, to: &buffer)
        if buffer.count > ParallelOutput.batchText {
          buffer.cut(to: end)
          throw NoRoom()
        }
        count += 1
      }
    } catch {}
    return count
  }

  /// The text; nil if it is not ready.
  var text: Text? { result.wait(atMost: 0) }

  /// Waits until the text is ready, but may return earlier.
  func wait() { _ = result.wait(atMost: 1_000_000_000) }
}

/// Batches that no thread has begun.
private final class BatchQueue: Sendable {
  private let batches = LockedValue<(waiting: [Batch], isEnded: Bool)>(([], false))
  private let changes = EventCount()
  private let wakingCount: Int

  /// - Parameter count: The number of waiting batches at which threads are woken. Waking is slow.
  ///   The caller prints batches for which no thread was woken.
  init(wakingAt count: Int) { wakingCount = count }

  func append(_ batch: Batch) {
    let count = batches.withLock { batches in
      batches.waiting.append(batch)
      return batches.waiting.count
    }
    if count >= wakingCount { changes.advance() }
  }

  func end() {
    batches.withLock { $0.isEnded = true }
    changes.advance()
  }

  /// The batch that was appended last, of which the caller's cache has most; nil if none waits.
  func newest() -> Batch? { batches.withLock { $0.waiting.popLast() } }

  /// The batch that has waited longest. Waits for one; nil when there is none and none will come.
  func next() -> Batch? {
    while true {
      let seen = changes.current
      let (batch, isEnded) = batches.withLock { batches in
        (batches.waiting.isEmpty ? nil : batches.waiting.removeFirst(), batches.isEnded)
      }
      if let batch { return batch }
      if isEnded { return nil }
      changes.wait(since: seen, atMost: 1_000_000_000)
    }
  }
}
