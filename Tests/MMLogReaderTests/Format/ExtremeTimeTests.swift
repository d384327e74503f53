import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogReport
import TestSupport
import Testing

/// Files may contain any time.
@Suite struct ExtremeTimeTests {
  private static let times: [Timestamp] = [
    .distantPast, .distantPast + 1, -1, 0, 1, .distantFuture + -1, .distantFuture,
  ]

  /// A log with a record at each time. Its session started at the first time.
  private func log(_ times: [Timestamp]) -> TestLog {
    let log = TestLog()
    log.writesRing = false
    log.identity.startTime = times[0]
    log.write("first", ticks: 1)
    log.archive()
    for time in times {
      log.write("at \(time)", ticks: 2)
      let start = log.archives[0].count
      log.archive()
      log.archives[0].withUnsafeMutableBytes { bytes in
        for offset in stride(from: start, to: bytes.count, by: 8)
        where UnsafeRawBufferPointer(bytes).load(offset, as: UInt64.self) == FrameLayout.markerValue
        {
          bytes.store(UInt64(2), offset + FrameLayout.clockTicks)
          bytes.store(time, offset + FrameLayout.clockWall)
        }
      }
      log.archives[0] = ChecksumFix.archive(log.archives[0])
    }
    return log
  }

  @Test(
    "a histogram has each record, whatever its time",
    arguments: [
      times, [Timestamp](repeating: .distantPast, count: 3) + [TestLog.epoch, TestLog.epoch + 1],
    ])
  func aHistogramHasEachRecord(times: [Timestamp]) {
    let log = log(times)
    for rows in [1, 5, 40] {
      var (histogram, count) = (LogHistogram(zone: .utc, rows: rows), 0)
      for item in LogReader(paths: log.save()) {
        histogram.add(item)
        if case .record = item { count += 1 }
      }
      var output = TextBuffer()
      histogram.append(to: &output)
      let counts = output.text().split(separator: "\n").dropLast().map {
        Int($0.split(separator: " ")[1]) ?? 0
      }
      #expect(counts.reduce(0, +) == count, "\(output.text())")
      #expect(count == times.count + 1)
    }
  }

  @Test("are gone through by all that puts records out")
  func areGoneThroughByAllThatPutsRecordsOut() throws {
    for times in [Self.times, Self.times.reversed()] {
      let log = log(times)
      let files = LogFiles(log.save().map(LogReader.Input.path))
      var (statistics, histogram, report) = (LogStatistics(), LogHistogram(), LogReport())
      var formatters: [any LogFormatter] = [
        TextFormatter(colors: true), JSONFormatter(), LogfmtFormatter(), TableFormatter(.csv),
        OTLPFormatter(), ChromeFormatter(), MessageFormatter(isEscaping: true),
        TemplateFormatter(try TextTemplate("{time} {message}")),
        TerminalFormatter(colors: true, columns: 60),
      ]
      var output = TextBuffer()
      var seen: [Timestamp] = []
      for item in LogReader(files) {
        statistics.add(item)
        histogram.add(item)
        report.add(item)
        guard case .record(let record) = item else { continue }
        seen.append(record.time)
        for index in formatters.indices { formatters[index].append(record, to: &output) }
      }
      #expect(Set(seen).isSuperset(of: times), "\(seen)")
      statistics.appendText(to: &output)
      statistics.appendJSON(to: &output)
      histogram.append(to: &output)
      report.append(made: .distantPast, to: &output)
      report.append(made: .distantFuture, to: &output)
      withExtendedLifetime(log) {}
      #expect(files.lastRecords(2).next() != nil && files.overview().count == 1)
    }
  }
}
