import CommandLineTool
import Glibc
import MMLogReader
import MMLogSystem

/// Shows on a terminal at standard error how far a long reading is, and hands everything on.
final class ProgressSink: ItemSink {
  private var inner: any ItemSink
  private var time: RecordTime
  private var records: UInt64 = 0
  private let began = Clock.monotonic()
  private var shown: UInt64
  private var isShowing = false

  /// Nothing is shown for what ends before, in nanoseconds; and then it is shown anew each quarter.
  private static let patience: UInt64 = 1_000_000_000

  init(_ inner: any ItemSink, zone: LogTimeZone) {
    self.inner = inner
    time = RecordTime(zone: zone)
    shown = began + Self.patience
  }

  var hasReader: Bool { inner.hasReader }

  func take(_ item: LogItem) throws {
    try inner.take(item)
    if case .record(let record) = item { count(1, to: record.time) }
  }

  func take(_ records: LogRecords) throws {
    try inner.take(records)
    if let time = records.lastTime { count(records.count, to: time) }
  }

  private func count(_ more: Int, to time: Int64) {
    let before = records
    records += UInt64(more)
    if before >> 12 != records >> 12 { show(time) }
  }

  func separate() throws { try inner.separate() }

  func flush() throws {
    clear()
    try inner.flush()
  }

  func finish() throws {
    clear()
    try inner.finish()
  }

  private func show(_ reached: Int64) {
    let now = Clock.monotonic()
    guard now >= shown else { return }
    shown = now + Self.patience / 4
    isShowing = true
    let each = Double(records) / Double(now - began) * 1e3
    let rate = "\(Int(each * 10) / 10).\(Int(each * 10) % 10) M/s"
    StandardError.write("\r\u{1b}[K\(records) records, \(rate), at \(time.text(of: reached))")
  }

  private func clear() {
    if isShowing { StandardError.write("\r\u{1b}[K") }
    isShowing = false
  }
}
