import Foundation
import MMLogFormat
import MMLogReader
import MMLogReport
import TestSupport
import Testing

@Suite struct LongTextTests {
  @Test("a page cuts it between characters") func aPageCutsItBetweenCharacters() throws {
    for padding in 0..<3 {
      let log = TestLog()
      let text = String(repeating: "x", count: padding) + String(repeating: "€", count: 3000)
      log.writeFragments(
        TestRecord(ticks: 1, site: log.textSite, words: ValueWords.argument(.text(text))),
        partWords: 60)
      var report = LogReport(zone: .utc)
      log.save()
      for item in LogReader(paths: [log.folder.path]) { report.add(item) }
      var page = TextBuffer()
      report.append(made: 0, to: &page)

      let columns = try chunk(of: page.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
      #expect(columns.suffix(3) == Array("€".utf8)[...], "\(columns.suffix(4))")
    }
  }

  /// What the first chunk of a page holds.
  private func chunk(of page: String) throws -> [UInt8] {
    let start = try #require(page.range(of: #"class="chunk" data-packed="">"#)).upperBound
    let data = try #require(Data(base64Encoded: String(page[start...].prefix { $0 != "<" })))
    let decompressor = try #require(Decompressor())
    let bytes = data.withUnsafeBytes { packed in
      // A page does not say how large they were.
      (8000..<9000).lazy.compactMap { try? decompressor.decompress(packed, size: $0) }.first
    }
    return try #require(bytes)
  }
}
