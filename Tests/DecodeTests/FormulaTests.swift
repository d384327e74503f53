import Foundation
import MMLogFormat
import TestSupport
import Testing

/// Cells that a spreadsheet would interpret as formulas.
@Suite struct FormulaTests {
  private static let formulas = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠1",
  ]

  private func cells(_ arguments: [String], _ messages: [String]) throws -> [String] {
    let log = TestLog()
    log.writesRing = false
    for (ticks, message) in messages.enumerated() { log.write(message, ticks: UInt64(ticks)) }
    log.archive()
    log.close()
    log.save()
    let run = try decode(arguments + [log.folder.path])
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    let separator = arguments.contains("csv") ? "," : "\t"
    return run.output.components(separatedBy: .newlines).filter { !$0.isEmpty }.dropFirst()
      .map { $0.components(separatedBy: separator)[5] }
  }

  @Test("none is left where that is asked for", arguments: ["csv", "tsv"])
  func noneIsLeftWhereThatIsAskedFor(format: String) throws {
    let quote = format == "csv" ? "\"" : ""
    let found = try cells(["--format", format, "--csv-safe"], Self.formulas + ["a=1", "", "'=1"])
    let shown = [
      "=1+1", "+1", "-1", "@SUM(A1)", "\\t=1", "\\r=1", "\\n=1", "＝1", "＋1", "－1", "＠1",
    ]
    let expected = shown.map { $0.hasPrefix("\\") ? $0 : "'" + $0 } + ["a=1", "", "'=1"]
    #expect(found == expected.map { quote + $0 + quote })
  }

  @Test("otherwise cells stay as they were logged")
  func otherwiseCellsStayAsTheyWereLogged() throws {
    #expect(try cells(["--format", "csv"], ["=1+1"]) == ["\"=1+1\""])
  }

  @Test("every text of a record is meant") func everyTextOfARecordIsMeant() throws {
    let log = TestLog()
    log.writesRing = false
    (log.identity.storeName, log.identity.hostName) = ("=store", "=host")
    log.identity.processName = "=process"
    let site = log.site(.literal("x"), file: "=file")
    log.write(TestRecord(ticks: 1, site: site, label: log.label("=label")))
    log.archive()
    log.close()
    log.folder.put("a.mmlog", log.archives[0])
    let run = try decode(["--format", "csv", "--csv-safe", log.folder.path])
    for text in ["label", "file", "store", "process", "host"] {
      #expect(run.output.contains("\"'=\(text)\""), "\(run.output)")
    }
    #expect(!run.output.contains("\"="))
  }

  @Test("it has no meaning with other formats") func itHasNoMeaningWithOtherFormats() throws {
    let run = try decode(["--csv-safe", "--format", "json", "/nonexistent"])
    #expect(run.status == 2 && run.errors.contains("--format csv"), "\(run.errors)")
  }
}
