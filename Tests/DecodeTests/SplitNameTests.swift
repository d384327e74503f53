import Foundation
import MMLogFormat
import TestSupport
import Testing

/// File names that are made from labels: harmless, and one for each label.
@Suite struct SplitNameTests {
  private func split(_ labels: [String]) throws -> [String: String] {
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 65536, segmentSize: 65536, segmentCount: 4))
    log.writesRing = false
    let site = log.site(.argument(type: .int))
    for (number, name) in labels.enumerated() {
      let label = name.isEmpty ? 0 : log.label(name)
      log.write(
        TestRecord(
          ticks: UInt64(number), site: site, label: label,
          words: ValueWords.argument(.int(Int64(number)))))
    }
    log.archive()
    log.close()
    log.save()
    let folder = TemporaryDirectory()
    let run = try decode(
      ["--format", "message", "--split-by=label", "-o", folder("out"), log.folder.path])
    #expect(run == Run(output: "", errors: "", status: 0))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder("out"))
    return try names.reduce(into: [:]) {
      $0[$1] = try String(contentsOfFile: folder("out/\($1)"), encoding: .utf8)
    }
  }

  @Test("no name is an option hidden or a path") func noNameIsAnOptionHiddenOrAPath() throws {
    let files = try split([
      "-rf", "..", ".x", "a/b", "a\nb", "a-b.c_d", "", "no-label", "%2Drf", "é",
    ])
    #expect(
      files == [
        "%2Drf.log": "0\n", "%2E..log": "1\n", "%2Ex.log": "2\n", "a%2Fb.log": "3\n",
        "a%0Ab.log": "4\n", "a-b.c_d.log": "5\n", "no-label.log": "6\n", "%6Eo-label.log": "7\n",
        "%252Drf.log": "8\n", "%C3%A9.log": "9\n",
      ])
  }

  @Test("labels are told apart by their bytes") func labelsByBytes() throws {
    let files = try split(["caf\u{e9}", "cafe\u{301}", "caf\u{e9}"])
    #expect(files == ["caf%C3%A9.log": "0\n2\n", "cafe%CC%81.log": "1\n"])
  }

  @Test("a line separates records that do not follow one another, in each file")
  func separators() throws {
    let log = TestLog()
    let label = log.label("l")
    for number in 0..<9 as Range<UInt64> {
      log.write(
        TestRecord(
          ticks: number, site: log.textSite, label: number % 2 == 0 ? label : 0,
          words: ValueWords.argument(.text("record \(number)"))))
    }
    log.save()
    let folder = TemporaryDirectory()
    let run = try decode([
      "--template", "{message}", "-C", "1", "-g", "record [18]", "--split-by=label",
      "-o", folder("out"), log.folder.path,
    ])
    #expect(run.status == 0, "\(run)")
    let texts = ["l.log", "no-label.log"].map { Folder.text(folder("out/\($0)")) }
    #expect(
      texts == [
        "record 0\nrecord 2\n--\nrecord 8\n", "record 1\n--\nrecord 7\n",
      ])
  }

  @Test("long labels that begin alike are two files")
  func longLabelsThatBeginAlikeAreTwoFiles() throws {
    let long = String(repeating: "é", count: 300)
    let files = try split([long + "1", long + "2", String(repeating: "x", count: 250)])
    #expect(files.count == 3 && Set(files.values) == ["0\n", "1\n", "2\n"])
    #expect(files.keys.allSatisfy { $0.utf8.count < 240 })
    // Names are cut between two bytes, not within the number of one byte.
    #expect(
      files.keys.filter { $0.contains("%") }.allSatisfy {
        $0.contains("%A9.") || $0.contains("%A9~")
      })
  }
}
