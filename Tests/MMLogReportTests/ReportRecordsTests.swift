import Foundation
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

@testable import MMLogReport

@Suite("The records of a page") struct ReportRecordsTests {
  @Test("a text that is too long is cut between characters") func cutTexts() throws {
    for padding in 0..<3 {
      let log = TestLog()
      let text = String(repeating: "x", count: padding) + String(repeating: "€", count: 3000)
      log.writeFragments(
        TestRecord(ticks: 1, site: log.textSite, words: ValueWords.argument(.text(text))),
        partWords: 60)
      let columns = try chunk(of: page(log), sizes: 8000..<9000)
      #expect(columns.suffix(3) == Array("€".utf8)[...], "\(columns.suffix(4))")
    }
  }

  @Test("a message is as it was logged") func rawMessages() throws {
    let log = TestLog()
    // What is short is not compressed.
    let message = String(repeating: "a\n\t\u{1B}\u{202E}é\\\"", count: 100)
    log.write(message, ticks: 1)
    let columns = try chunk(of: page(log), sizes: 1000..<2000)
    #expect(columns.suffix(message.utf8.count) == Array(message.utf8)[...], "\(columns)")
  }

  @Test("long warnings take no more than their quarter from newer records") func longWarnings() {
    let log = TestLog()
    log.write(String(repeating: "w", count: 3000), ticks: 1, level: .warning)
    log.write(String(repeating: "i", count: 1500), ticks: 2)
    log.save()
    let both = LogReader.records(in: log.folder)
    // Each chunk has about a mebibyte.
    var records = ReportRecords(maximumBytes: 4 << 20)
    for _ in 0..<3000 { for record in both { records.add(record, ReportRecords.References()) } }
    let counts = records.lanes.map(\.count)
    #expect(counts[0] > 500, "\(counts)")
    #expect(counts[1] > 500, "\(counts)")
  }

  private func page(_ log: TestLog) -> String {
    var report = LogReport(zone: .utc)
    log.save()
    for item in LogReader(paths: [log.folder.path]) { report.add(item) }
    var page = TextBuffer()
    report.append(made: 0, to: &page)
    return page.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// What the first chunk of a page holds.
  private func chunk(of page: String, sizes: Range<Int>) throws -> [UInt8] {
    let start = try #require(page.range(of: #"class="chunk" data-packed="">"#)).upperBound
    let data = try #require(Data(base64Encoded: String(page[start...].prefix { $0 != "<" })))
    let decompressor = try #require(Decompressor())
    let bytes = data.withUnsafeBytes { packed in
      // A page does not say how large they were.
      sizes.lazy.compactMap { try? decompressor.decompress(packed, size: $0) }.first
    }
    return try #require(bytes)
  }
}
