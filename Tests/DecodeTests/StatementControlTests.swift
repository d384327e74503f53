import MMLog
import TestSupport
import Testing

/// Single statements of running processes: `mmlogctl enable`, `disable`, `levels`.
@Suite struct StatementControlTests {
  private let folder = TemporaryDirectory()

  /// The lines that a run has printed, without the process at their beginning.
  private func lines(_ run: Run) -> [String] {
    #expect(run.status == 0 && run.errors == "", "\(run)")
    return run.output.split(separator: "\n").map { String($0.drop { $0 != "]" }.dropFirst(3)) }
  }

  @Test("a statement is turned on shown and turned off")
  func aStatementIsTurnedOnShownAndTurnedOff() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "book")
    func logBoth(_ round: Int) {
      log.debug("on \(round)", line: 42)
      log.debug("off \(round)", line: 43)
    }
    logBoth(0)
    let place = "StatementControlTests.swift:42"
    let enabled = try control(["enable", place, "--for", "10m", "--limit", "3", folder.path])
    #expect(
      lines(enabled) == [
        "\(place) on; no statement there has had a record yet, and the program's debug information "
          + "has none there"
      ])
    logBoth(1)
    let again = try control(["enable", place, "--limit", "3", folder.path])
    #expect(lines(again) == ["\(place) on: 1 statement"])
    let listed = lines(try control(["levels", folder.path]))
    #expect(
      listed == [
        "info      book", "rule \(place) holds until it is taken back, 0 of 3 records so far",
      ])
    // Other commands do not change the switch.
    _ = try control(["set-level", "book=error", folder.path])
    _ = try control(["set-level", "default", folder.path])
    logBoth(2)
    #expect(lines(try control(["disable", place, folder.path])) == ["\(place) off"])
    #expect(lines(try control(["disable", "all", folder.path])) == ["nothing of it was on"])
    logBoth(3)
    try store.close()
    #expect(try decode(["--format", "message", folder.path]).output == "on 1\non 2\n")
  }

  /// The debug information of the test program has all statements.
  @Test("statements that have not run yet are counted")
  func statementsThatHaveNotRunYetAreCounted() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "book")
    let line = #line + 1
    func one(_ isWanted: Bool) { if isWanted { log.debug("a \(line)") } else { log.trace("b") } }
    let place = "DecodeTests/StatementControlTests.swift:\(line)"
    #expect(
      lines(try control(["enable", place, folder.path])) == [
        "\(place) on: 2 statements, without a record so far"
      ])
    one(true)
    #expect(
      lines(try control(["enable", place, folder.path])) == [
        "\(place) on: 2 statements, 1 of which had a record so far"
      ])
    one(false)
    #expect(lines(try control(["enable", place, folder.path])) == ["\(place) on: 2 statements"])
    try store.close()
    #expect(try decode(["--format", "message", folder.path]).output == "a \(line)\nb\n")
  }

  @Test(
    "what makes no sense is refused",
    arguments: [
      (["enable", "Book.swift"], "'Book.swift' is no statement"),
      (["enable", "Book.swift:0"], "is no statement"), (["disable", "Book.swift"], "no statement"),
      (["enable", "Book.swift:1", "--limit", "0"], "--limit"),
      (["enable", "Book.swift:1", "--for", "soon"], "10m"),
    ])
  func whatMakesNoSenseIsRefused(_ arguments: [String], _ reason: String) throws {
    let run = try control(arguments + [folder.path])
    #expect(run.status == 2 && run.errors.contains(reason), "\(run)")
  }
}
