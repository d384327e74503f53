import CommandLineTool
import MMLogReader

/// Prints what fills the log.
final class StatisticsOutput: ItemSink {
  private var statistics: LogStatistics
  private let isJSON: Bool
  private let target: any OutputTarget

  init(_ zone: LogTimeZone, isJSON: Bool, to target: any OutputTarget) {
    statistics = LogStatistics(zone: zone)
    self.isJSON = isJSON
    self.target = target
  }

  var hasReader: Bool { target.hasReader }

  func take(_ item: LogItem) throws { statistics.add(item) }

  func finish() throws {
    var buffer = TextBuffer()
    if isJSON { statistics.appendJSON(to: &buffer) } else { statistics.appendText(to: &buffer) }
    try buffer.withUnsafeBytes { try target.append($0.bytes) }
    try target.finish()
  }
}

/// Prints how many records there were when.
final class HistogramOutput: ItemSink {
  private var histogram: LogHistogram
  private let target: any OutputTarget

  init(_ histogram: LogHistogram, to target: any OutputTarget) {
    self.histogram = histogram
    self.target = target
  }

  var hasReader: Bool { target.hasReader }

  func take(_ item: LogItem) throws { histogram.add(item) }

  func finish() throws {
    var buffer = TextBuffer()
    histogram.append(to: &buffer)
    try buffer.withUnsafeBytes { try target.append($0.bytes) }
    try target.finish()
  }
}
