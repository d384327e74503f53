import CMMLogCore
import MMLogFormat

/// The control page: what somebody outside asks the process for, and what it answers.
extension Ring {
  /// The first words of both slots for level requests: as long as the words are equal, so are the
  /// requests.
  var levelRequestHeaders: (UInt64, UInt64) {
    (
      mmlog_load_acquire_u64(address(LevelRequest.offset(ofSlot: 0))),
      mmlog_load_acquire_u64(address(LevelRequest.offset(ofSlot: 1)))
    )
  }

  /// The newest readable request for levels; nil if there is none.
  func newestLevelRequest() -> LevelRequest? {
    // A copy: somebody may be writing to the page now, and what has been checked has to stay as it
    // is.
    let page = UnsafeRawBufferPointer(
      start: base + RingLayout.control, count: ControlLayout.size)
    return Array(page).withUnsafeBytes { LevelRequest.newest(inPage: $0) }
  }

  /// Writes a request of the process to itself, as the first request in a new ring.
  func write(_ request: LevelRequest) {
    guard let bytes = request.encoded else { return }
    (base + RingLayout.control + request.offset).copyMemory(from: bytes, byteCount: bytes.count)
  }

  /// Says that the levels of a request are in effect.
  func acknowledge(levelRequest ordinal: UInt32) {
    mmlog_store_release_u32(address(ControlLayout.appliedLevels), ordinal)
  }

  /// Says what the level of a label is, if there is room for it.
  func publish(level: Level, isOverridden: Bool, ofLabel id: Int) {
    guard (1...ControlLayout.labelCount).contains(id) else { return }
    let byte = level.rawValue + 1 | (isOverridden ? ControlLayout.overridden : 0)
    base.storeBytes(
      of: byte, toByteOffset: RingLayout.control + ControlLayout.labelLevels + id - 1,
      as: UInt8.self)
  }

  /// Says how many records of a statement of the request have passed.
  func publish(passed: UInt64, ofStatement index: Int) {
    let count = base + RingLayout.switchCounts + index * wordSize
    mmlog_store_relaxed_u64(count.assumingMemoryBound(to: UInt64.self), passed)
  }

  // MARK: - Requests

  /// The newest request of somebody outside.
  var controlRequest: ControlRequest {
    ControlRequest(word: mmlog_load_acquire_u64(address(ControlLayout.request)))
  }

  /// Answers a request, and all requests before it.
  func answer(_ answer: ControlAnswer) {
    mmlog_store_release_u64(address(ControlLayout.answer), answer.word)
  }

  /// Says how the drainer fares, for those who cannot ask it.
  func publish(lastPass: Timestamp?, failedPasses: UInt64, failedSyncs: UInt64) {
    let time = UInt64(bitPattern: lastPass?.nanosecondsSince1970 ?? 0)
    mmlog_store_release_u64(address(ControlLayout.lastPass), time)
    mmlog_store_release_u32(
      address(ControlLayout.failedPasses), UInt32(clamping: failedPasses))
    mmlog_store_release_u32(address(ControlLayout.failedSyncs), UInt32(clamping: failedSyncs))
  }

  /// Says how many records rate limits have suppressed.
  func publish(suppressed: UInt64) {
    mmlog_store_release_u64(address(ControlLayout.suppressed), suppressed)
  }

  // MARK: - Flight records

  /// Counts flight records that were evicted or erased. Lock-free and async-signal-safe.
  func forget(_ count: UInt64) {
    if count > 0 { add(count, ControlLayout.forgottenRecords) }
  }

  /// Counts flight records that were captured.
  func countCaptured(_ count: UInt64) { add(count, ControlLayout.capturedRecords) }

  private func add(_ count: UInt64, _ offset: Int) {
    _ = mmlog_fetch_add_u64(address(offset), count)
  }

  private func count(_ offset: Int) -> Int {
    Int(clamping: mmlog_load_acquire_u64(address(offset)))
  }

  /// What has become of the session's flight records.
  var flightCounts: LogStore.FlightCounts {
    LogStore.FlightCounts(
      captured: count(ControlLayout.capturedRecords),
      forgotten: count(ControlLayout.forgottenRecords))
  }

  /// The address of a word of the page.
  private func address<Word>(_ offset: Int) -> UnsafeMutablePointer<Word> {
    (base + RingLayout.control + offset).assumingMemoryBound(to: Word.self)
  }
}
