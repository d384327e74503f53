import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem

/// The records of a session that a tap has yet to get, and the thread that writes them.
///
/// Proof of `@unchecked Sendable`: `state` is a mutex; the drainer alone touches `dictionaryTaken`,
/// the worker's thread alone `reader` and `work`, and the rest never changes.
final class TapThread: RecordTap, @unchecked Sendable {
  /// Records of a frame.
  private struct Batch {
    let payload: [UInt8]
    let count: UInt64
    /// The entries of the dictionary that earlier batches did not bring.
    let entries: [UInt8]
    let clock: TickClock
    let areFlight: Bool
  }

  /// What the thread takes one after the other.
  private enum Item {
    case batch(Batch)
    /// This many records found no room.
    case missing(UInt64)
  }

  private struct State {
    var items: [Item] = []
    /// The bytes of batches that are not written yet, including the one at work.
    var bytes = 0
    /// The records that are neither written nor counted as missed.
    var unsettled = 0
    /// Whether the store has stopped waiting, and these records count as missed.
    var isGivenUp = false
    /// Until when a store that closes waits.
    var deadline = Deadline(after: .max)

    /// Notes that records found no room.
    mutating func miss(_ count: UInt64) {
      if case .missing(let known)? = items.last {
        items[items.count - 1] = .missing(known + count)
      } else {
        items.append(.missing(count))
      }
    }
  }

  /// What the thread is working on.
  private struct Work {
    var output: any LogTap.Output
    var items: ArraySlice<Item> = []
    /// The records of the batch at work that are not written yet.
    var records: ArraySlice<LogReader.Record> = []
    /// The size of that batch.
    var bytes = 0
    /// Records that are missing before the next one, and are to be reported there.
    var missing: UInt64 = 0
    /// All records that were missed.
    var missed: UInt64 = 0
    /// How often in a row the next record could not be written.
    var failures = 0
    /// Whether the failure was reported.
    var isFailing = false
    /// Since when nothing could be written, as monotonic time.
    var failingSince: UInt64 = 0
    /// When writing is tried again.
    var retry = Backoff(shortest: UInt64(TapThread.shortestPause), longest: 1_000_000_000)
  }

  /// An output that has failed for so many nanoseconds when the store closes is not tried again.
  private static let longFailure: UInt64 = 1_000_000_000
  /// How often a record is tried.
  private static let tries = 10
  /// The first pause before another try, in nanoseconds.
  private static let shortestPause: Int64 = 100_000_000

  private let tap: LogTap
  private let reports: TapReports
  private let levels: UInt8
  private let state = LockedValue(State())
  private let worker = Worker("mmlog-tap")
  /// Fulfilled when everything has been written.
  private let end = Promise<Void>()
  private var dictionaryTaken = 0
  private let reader: TapReader
  private lazy var work = Work(output: tap.makeOutput())

  init(_ tap: LogTap, _ identity: SessionIdentity, _ reports: TapReports) {
    (self.tap, self.reports) = (tap, reports)
    reader = TapReader(identity, tap.filter)
    levels = .max << tap.filter.minimumLevel.rawValue
  }

  // MARK: - On the drainer's thread

  func take(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ clock: TickClock,
    areFlight: Bool
  ) {
    guard rows.summary.levels & levels != 0 else { return }
    let count = rows.count(levels: levels)
    let payload = rows.payload(levels: levels)
    let entries = Array(dictionary[dictionaryTaken...])
    let isTaken = state.withLock { state in
      guard state.bytes == 0 || state.bytes + payload.count <= tap.capacity else {
        state.miss(count)
        return false
      }
      state.bytes += payload.count
      state.unsettled += Int(count)
      state.items.append(
        .batch(
          Batch(
            payload: payload, count: count, entries: entries, clock: clock, areFlight: areFlight)))
      return true
    }
    if isTaken { dictionaryTaken = dictionary.count } else { reports.missed(count) }
    // The thread starts at the first records. If it cannot start now, the next records try again.
    try? worker.start { [self] in pass(isLast: $0) }
    worker.wake()
  }

  func finish(until deadline: Deadline) {
    state.withLock { $0.deadline = deadline }
    worker.finish()
  }

  func waitForEnd() {
    let deadline = state.withLock { $0.deadline }
    if worker.isStarted, end.wait(atMost: deadline.left) != nil { return }
    // A thread that does not end in time ends by itself, if its output ever stops waiting.
    let left = state.withLock { state in
      state.isGivenUp = true
      return state.unsettled
    }
    reports.missed(UInt64(max(0, left)))
  }

  // MARK: - On its own thread

  /// - Returns: After how many nanoseconds this is to be called again.
  private func pass(isLast: Bool) -> Int64 {
    let now = Clock.monotonic()
    if !work.retry.isDue, !isLast { return work.retry.delay }
    defer { if isLast { end.fulfill(()) } }
    // Read after it was set, if this pass is the last one.
    let deadline = state.withLock { $0.deadline }
    var failures = 0
    while true {
      do {
        while try writeNext() {}
        return 60_000_000_000
      } catch {
        if !isLast {
          failed(error)
          return work.retry.delay
        }
        // What fails may work again in a moment: these are the last records. What has failed for
        // longer than that, or as often as any record is tried, will not.
        failures += 1
        let hasFailedLong = work.isFailing && now - work.failingSince > Self.longFailure
        if hasFailedLong || failures == Self.tries || deadline.left <= 2 * Self.shortestPause {
          return giveUp()
        }
        Sleep.nanoseconds(Self.shortestPause)
      }
    }
  }

  /// Writes some of the next records.
  ///
  /// - Returns: False if there is nothing to write.
  private func writeNext() throws -> Bool {
    if work.records.isEmpty, !findRecords(), work.missing == 0 { return false }
    if work.missing > 0 {
      try work.output.write(missing: work.missing)
      work.missing = 0
    }
    if !work.records.isEmpty {
      let count = try work.output.write(work.records)
      precondition(
        (1...work.records.count).contains(count),
        "LogTap.Output.write wrote \(count) of \(work.records.count) records")
      work.records = work.records.dropFirst(count)
      settle(count)
      if work.records.isEmpty { endBatch() }
    }
    succeeded()
    return true
  }

  /// Takes items until there are records to write.
  ///
  /// - Returns: False if no item is left.
  private func findRecords() -> Bool {
    while work.records.isEmpty {
      if work.items.isEmpty {
        work.items = state.withLock { state in
          defer { state.items = [] }
          return state.items[...]
        }
      }
      switch work.items.popFirst() {
      case nil: return false
      case .missing(let count):
        work.missing += count
        work.missed += count
        // To be reported before the records that follow.
        return true
      case .batch(let batch): begin(batch)
      }
    }
    return true
  }

  private func begin(_ batch: Batch) {
    var records: [LogReader.Record] = []
    let missed = work.missed
    reader.learn(batch.entries)
    reader.read(batch.payload, batch.clock, areFlight: batch.areFlight) { record in
      if let record = edited(record) { records.append(record) }
    }
    // Fragments are no records, and the filter or the edit leaves records out.
    settle(Int(batch.count) - Int(work.missed - missed) - records.count)
    (work.records, work.bytes) = (records[...], batch.payload.count)
    if records.isEmpty { endBatch() }
  }

  /// Returns the record as the tap's owner wants it; nil if it is not to be written.
  private func edited(_ record: LogReader.Record) -> LogReader.Record? {
    guard let edit = tap.edit else { return record }
    var copy = EditableRecord(record)
    guard edit(&copy) else { return nil }
    if let edited = copy.records?.first { return edited }
    // The original is not written instead: the edit may have taken something private out of it.
    miss(1)
    return nil
  }

  private func endBatch() {
    state.withLock { $0.bytes -= work.bytes }
    work.bytes = 0
  }

  private func succeeded() {
    work.failures = 0
    work.retry.reset()
    if !work.isFailing { return }
    work.isFailing = false
    reports.resumed(tap.name, missed: missed)
  }

  /// All records that were missed, including those whose place has not been reached.
  private var missed: UInt64 {
    (work.items + state.withLock { $0.items }).reduce(work.missed) { sum, item in
      if case .missing(let count) = item { sum + count } else { sum }
    }
  }

  private func failed(_ error: any Error) {
    if !work.isFailing {
      reports.failed(tap.name, error)
      work.failingSince = Clock.monotonic()
    }
    work.isFailing = true
    work.failures += 1
    if work.failures >= Self.tries, !work.records.isEmpty {
      work.failures = 0
      work.retry.reset()
      work.records.removeFirst()
      miss(1)
      if work.records.isEmpty { endBatch() }
    }
    work.retry.postpone()
  }

  private func miss(_ count: UInt64) {
    work.missing += count
    work.missed += count
    if settle(Int(count)) { reports.missed(count) }
  }

  /// Notes that records are written or missed.
  ///
  /// - Returns: Whether they do not count as missed already.
  @discardableResult
  private func settle(_ count: Int) -> Bool {
    state.withLock { state in
      state.unsettled -= count
      return !state.isGivenUp
    }
  }

  /// Counts what is left as missed: the store closes.
  private func giveUp() -> Int64 {
    repeat {
      miss(UInt64(work.records.count))
      work.records = []
    } while findRecords()
    return 0
  }
}
