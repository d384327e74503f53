import CommandLineTool
import Glibc
import MMLogReader
import MMLogSystem

/// Shows on a terminal at standard error how far a long reading is, and passes everything on.
final class ProgressSink: ItemSink {
  private var inner: any ItemSink
  private var time: TimeFormatter
  private var records = 0
  /// When the last record was logged.
  private var reached: Timestamp?
  private var shown: UInt64
  private var isShowing = false

  /// In nanoseconds. Work that ends before this time shows nothing. After it, progress is shown
  /// anew at each quarter of it.
  private static let firstDelay: UInt64 = 1_000_000_000

  init(_ inner: any ItemSink, zone: LogTimeZone) {
    self.inner = inner
    time = TimeFormatter(zone)
    shown = Clock.monotonic() + Self.firstDelay
  }

  var isEmpty: Bool { inner.isEmpty }
  var isSummary: Bool { inner.isSummary }
  var hasReader: Bool { inner.hasReader }

  func take(_ item: LogReader.Item) throws {
    try inner.take(item)
    if case .record(let record) = item { (records, reached) = (records + 1, record.time) }
  }

  func take(_ new: LogReader.Records) throws {
    try inner.take(new)
    records += new.count
    reached = new.lastTime ?? reached
  }

  func take(unreadable error: LogError) throws { try inner.take(unreadable: error) }

  func note(progress: () -> Double) {
    let now = Clock.monotonic()
    // A pager may have taken the terminal since.
    guard now >= shown, Terminal.has(STDERR_FILENO) else { return }
    shown = now + Self.firstDelay / 4
    isShowing = true
    let percent = Int(progress() * 100)
    let place = reached.map { ", at \(time.text(of: $0))" } ?? ""
    let line = "\(percent) %, \(records) records\(place)"
    // The next line replaces this one only if it is on one line of the terminal.
    let columns = terminalSize(of: STDERR_FILENO).columns
    StandardError.write("\r\u{1b}[K\(line.cut(to: columns - 1))")
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

  func sync() throws { try inner.sync() }

  private func clear() {
    if isShowing { StandardError.write("\r\u{1b}[K") }
    isShowing = false
  }
}
