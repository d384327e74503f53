import CommandLineTool
import MMLogReader
import MMLogSystem

/// Writes a page for a browser.
final class ReportOutput: ItemSink {
  private var report: LogReport
  private let target: any OutputTarget

  init(_ report: LogReport, to target: any OutputTarget) {
    self.report = report
    self.target = target
  }

  var hasReader: Bool { target.hasReader }

  func take(_ item: LogItem) throws { report.add(item) }

  func finish() throws {
    var buffer = TextBuffer(capacity: 1 << 20)
    report.append(made: Clock.realtime(), to: &buffer)
    try buffer.withUnsafeBytes { try target.append($0.bytes) }
    try target.finish()
  }
}
