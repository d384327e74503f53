import CMMLogCore
import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem

/// What of a session has still to be shown, and the thread that shows it.
///
/// Proof of `@unchecked Sendable`: `state` is a mutex, `signal` is touched by atomic operations
/// only; the drainer alone touches `dictionaryTaken`, and the rest never changes.
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
    var isOver = false
    var hasEnded = false
    var thread: Thread?
  }

  /// How long a store's closing waits for what is still to be shown, in nanoseconds.
  private static let timeout: UInt64 = 1_000_000_000

  private let console: Console
  private let identity: SessionIdentity
  private let levels: UInt8
  private let state = LockedValue(State())
  private var dictionaryTaken = 0
  /// Counts batches, the end of the session and that of the thread.
  private let signal: UnsafeMutablePointer<UInt32>

  init(_ console: Console, _ identity: SessionIdentity) {
    self.console = console
    self.identity = identity
    levels = .max << console.level.rawValue
    signal = .allocate(capacity: 1)
    signal.initialize(to: 0)
  }

  deinit { signal.deallocate() }

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
      // At the first records. If there can be no thread now, the next ones try.
      if state.thread == nil {
        state.thread = try? Thread(name: "mmlog-console") { [self] in run() }
      }
      return true
    }
    if isTaken { dictionaryTaken = dictionary.count }
    wake()
  }

  func finish() {
    let hasThread = state.withLock { state in
      state.isOver = true
      return state.thread != nil
    }
    wake()
    let deadline = Clock.monotonic() + Self.timeout
    while hasThread {
      let seen = mmlog_load_acquire_u32(signal)
      let now = Clock.monotonic()
      // Else it goes away by itself, if whoever keeps it waiting ever lets it.
      if state.withLock({ $0.hasEnded }) || now >= deadline { return }
      _ = Futex.wait(signal, expected: seen, timeout: Int64(deadline - now))
    }
  }

  private func wake() {
    _ = mmlog_fetch_add_u32(signal, 1)
    Futex.wake(signal)
  }

  // MARK: - On its own thread

  private func run() {
    let reader = RowsReader(identity)
    var formatter = console.makeFormatter()
    while true {
      let seen = mmlog_load_acquire_u32(signal)
      let (batches, missing, isOver) = state.withLock { state in
        defer { (state.batches, state.missing) = ([], 0) }
        return (state.batches, state.missing, state.isOver)
      }
      for batch in batches { show(batch, reader, &formatter) }
      // What was missing came after what was taken at the same time.
      if missing > 0, !write(Array(console.notice(ofMissing: missing).utf8)) { miss(missing) }
      if !batches.isEmpty { continue }
      if isOver { break }
      _ = Futex.wait(signal, expected: seen, timeout: 60_000_000_000)
    }
    state.withLock { $0.hasEnded = true }
    wake()
  }

  private func show(_ batch: Batch, _ reader: RowsReader, _ formatter: inout any LogFormatter) {
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
