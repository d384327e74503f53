import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

@Suite struct CompletionTests {
  /// The words that bash offers for a line that ends with the last of `words`.
  private func bash(_ words: String...) throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try sample.completions(for: .bash).write(
      to: folder.appendingPathComponent("script"), atomically: true, encoding: .utf8)
    try "".write(to: folder.appendingPathComponent("a file"), atomically: true, encoding: .utf8)
    let line = """
      set -u; compopt() { :; }; source ./script
      COMP_WORDS=(sample \(words.map { "'\($0)'" }.joined(separator: " "))); COMP_CWORD=\(words.count)
      _sample; printf '%s\\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
      """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", line]
    process.currentDirectoryURL = folder
    let output = try process.output()
    #expect(process.terminationStatus == 0)
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test("bash offers options values and files") func bashOffersOptionsValuesAndFiles() throws {
    #expect(try bash("--f") == ["--format", "--follow"])
    #expect(try bash("--format", "") == ["text", "json", "message"])
    #expect(try bash("-f", "j") == ["json"])
    #expect(try bash("--format", "=", "t") == ["text"])
    #expect(try bash("--count", "") == [])
    #expect(try bash("a") == ["a file"])
  }

  @Test("every shell knows every option") func everyShellKnowsEveryOption() {
    for shell in Shell.allCases {
      let script = sample.completions(for: shell)
      for option in sample.options {
        #expect(script.contains(option.long), "\(shell): \(option.long)")
        for choice in option.choices { #expect(script.contains(choice), "\(shell): \(choice)") }
      }
    }
  }

  @Test("the manual page has what help has") func theManualPageHasWhatHelpHas() {
    let page = sample.manualPage
    #expect(page.contains(".TH SAMPLE 1"))
    #expect(page.contains(".SH NAME\nsample \\- prints samples"))
    for text in ["SYNOPSIS", "DESCRIPTION", "ARGUMENTS", "OPTIONS", "EXIT STATUS", "EXAMPLES"] {
      #expect(page.contains(".SH \(text)\n"))
    }
    #expect(page.contains("\\fB\\-n\\fR, \\fB\\-\\-name\\fR \\fIN\\fR\nWhat it is called."))
    #expect(page.contains("sample \\-n a \\-\\-format json | jq ."))
  }

  @Test("what typesetting would take for its own is escaped")
  func whatTypesettingWouldTakeForItsOwnIsEscaped() {
    let command = Command(
      name: "x", description: [".SH no", "back\\slash 'quote' a-b"], options: [])
    #expect(command.manualPage.contains("\n\\&.SH no\n"))
    #expect(command.manualPage.contains("back\\eslash \\(aqquote\\(aq a\\-b"))
  }

  @Test("they are printed whatever else is missing")
  func theyArePrintedWhateverElseIsMissing() throws {
    guard case .manualPage = try sample.parse(["--man"]) else { throw UsageError("no page") }
    guard case .completions(.zsh) = try sample.parse(["--completions", "zsh"]) else {
      throw UsageError("no script")
    }
    #expect(throws: UsageError.self) { try sample.parse(["--completions", "csh"]) }
  }
}
