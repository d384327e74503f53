import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem

/// What of a session has still to be shown, and the thread that shows it.
///
/// Proof of `@unchecked Sendable`: `state` is a mutex; the drainer alone touches `dictionaryTaken`,
/// the worker's thread alone `reader` and `formatter`, and the rest never changes.
final class ConsoleEcho: RecordEcho, @unchecked Sendable {
  /// Records of a frame.
  private struct Batch {
    let payload: [UInt8]
    let count: UInt64
    /// What of the dictionary the batch before did not come with.
    let entries: [UInt8]
    let clock: TickClock
  }

  private struct State {
    var batches: [Batch] = []
    /// Of batches that are not yet shown, those at work included.
    var bytes = 0
    /// Records that were not shown since that was reported last.
    var missing: UInt64 = 0
  }

  /// How long a store's closing waits for what is still to be shown, in nanoseconds.
  private static let timeout: Int64 = 1_000_000_000

  private let console: Console
  private let identity: SessionIdentity
  private let levels: UInt8
  private let state = LockedValue(State())
  private let worker = Worker("mmlog-console")
  /// Fulfilled when all has been shown.
  private let end = Promise<Void>()
  private var dictionaryTaken = 0
  private lazy var reader = RowsReader(identity)
  private lazy var formatter = console.makeFormatter()

  init(_ console: Console, _ identity: SessionIdentity) {
    (self.console, self.identity) = (console, identity)
    levels = .max << console.level.rawValue
  }

  // MARK: - On the drainer's thread

  func take(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ clock: TickClock
  ) {
    guard rows.summary.levels & levels != 0 else { return }
    let count = rows.count(levels: levels)
    let payload = rows.payload(levels: levels)
    let entries = Array(dictionary[dictionaryTaken...])
    let isTaken = state.withLock { state in
      guard state.bytes == 0 || state.bytes + payload.count <= console.capacity else {
        state.missing += count
        return false
      }
      state.bytes += payload.count
      state.batches.append(
        Batch(payload: payload, count: count, entries: entries, clock: clock))
      return true
    }
    if isTaken { dictionaryTaken = dictionary.count }
    // At the first records. If there can be no thread now, the next ones try.
    try? worker.start { [self] in showAll(isLast: $0) }
    worker.wake()
  }

  func finish() {
    worker.finish()
    // Else it goes away by itself, if whoever keeps it waiting ever lets it.
    if worker.isStarted { _ = end.wait(atMost: Self.timeout) }
  }

  // MARK: - On its own thread

  private func showAll(isLast: Bool) -> Int64 {
    while true {
      let (batches, missing) = state.withLock { state in
        defer { (state.batches, state.missing) = ([], 0) }
        return (state.batches, state.missing)
      }
      for batch in batches { show(batch) }
      // What was missing came after what was taken at the same time.
      if missing > 0, !write(Array(console.notice(ofMissing: missing).utf8)) { miss(missing) }
      if batches.isEmpty { break }
    }
    if isLast { end.fulfill(()) }
    return 60_000_000_000
  }

  private func show(_ batch: Batch) {
    var output = TextBuffer()
    reader.learn(batch.entries)
    reader.read(batch.payload, batch.clock) { formatter.append($0, to: &output) }
    formatter.pause(&output)
    if !write(output.withUnsafeBytes { Array($0) }) { miss(batch.count) }
    state.withLock { $0.bytes -= batch.payload.count }
  }

  private func miss(_ count: UInt64) { state.withLock { $0.missing += count } }

  /// Writes to what the descriptor is now: whoever opened it may have put something else there.
  ///
  /// - Returns: Whether all could be written.
  private func write(_ bytes: [UInt8]) -> Bool {
    do throws(SystemError) {
      let file = try File.duplicate(console.descriptor, path: "console")
      try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
        try file.writeFully(bytes)
      }
      return true
    } catch {
      return false
    }
  }
}
