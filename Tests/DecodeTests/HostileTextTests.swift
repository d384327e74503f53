import Foundation
import MMLogFormat
import TestSupport
import Testing

/// Text that would move a terminal's cursor, clear its screen or fake a line, in each place where a
/// log can have text.
@Suite struct HostileTextTests {
  private static let hostile = "\u{1b}]0;t\u{7}\u{1b}[2J\r\nfake\u{9b}31m\u{202e}\u{85}\u{2028}x"

  private func log() -> TestLog {
    let log = TestLog()
    let hostile = Self.hostile
    log.identity.processName = "p\(hostile)"
    log.identity.hostName = "h\(hostile)"
    log.identity.timeZone = "z\(hostile)"
    log.identity.storeName = "s\(hostile)"
    log.writesRing = false
    let site = log.site(
      .literal("literal \(hostile) "), .argument(type: .string, name: "name \(hostile)"),
      file: "File\(hostile).swift")
    let label = log.label("label \(hostile)")
    log.write(
      TestRecord(
        ticks: 1, site: site, label: label, words: ValueWords.argument(.text("value \(hostile)"))))
    log.archive()
    return log
  }

  private func unsafe(_ text: String) -> [String] {
    text.unicodeScalars.filter {
      $0 != "\n"
        && ($0.properties.generalCategory == .control
          || "\u{202e}\u{2028}".unicodeScalars.contains($0))
    }.map { String($0.value, radix: 16) }
  }

  @Test("reaches no terminal", arguments: ["text", "json"])
  func reachesNoTerminal(format: String) throws {
    let log = log()
    log.save()
    let run = try decode(["--utc", "--format", format, log.folder.path])
    #expect(unsafe(run.output).isEmpty && unsafe(run.errors).isEmpty)
    #expect(run.output.split(separator: "\n").count == 1, "one record, one line")
    #expect(!run.output.contains("\nfake") && !run.errors.contains("\nfake"))
    let list = try decode(["sessions", log.folder.path])
    #expect(unsafe(list.output).isEmpty && list.output.split(separator: "\n").count == 3)
    let inspected = try decode(["inspect", log.folder.path])
    #expect(unsafe(inspected.output).isEmpty && !inspected.output.contains("\nfake"))
  }

  @Test("reaches no terminal from the names of files")
  func reachesNoTerminalFromTheNamesOfFiles() throws {
    let folder = TemporaryDirectory()
    let name = "n\(Self.hostile.replacingOccurrences(of: "/", with: "")).mmlog"
    folder.put(name, Array("no log at all".utf8))
    for arguments in [[folder(name)], [folder.path], ["\(folder.path)/none\(Self.hostile)"]] {
      let run = try decode(arguments)
      #expect(run.status == 3 && run.output.isEmpty)
      #expect(unsafe(run.errors).isEmpty && !run.errors.isEmpty)
      #expect(run.errors.split(separator: "\n").count == 1)
    }
  }

  @Test("reaches no terminal from the command line")
  func reachesNoTerminalFromTheCommandLine() throws {
    for arguments in [
      ["--\(Self.hostile)"], ["--level", Self.hostile], ["--tz", Self.hostile, "x"],
    ] {
      let run = try decode(arguments)
      #expect(run.status == 2)
      #expect(
        unsafe(run.output).isEmpty && unsafe(run.errors).isEmpty, "\(run.errors.debugDescription)")
    }
  }
}
