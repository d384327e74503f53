import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

/// Programs with commands of their own.
@Suite struct CommandTests {
  private let tool: Command = {
    let depth = Option("depth", short: "d", value: "N", "How deep.")
    let quiet = Option("quiet", short: "q", "Print less.")
    return Command(
      name: "tool", description: ["Does things: all of them."],
      commands: [
        Command(
          "show", description: ["Shows things."], options: [quiet], operands: Operands("PATH", "")
        ) { _, _ in .success },
        Command(
          "dig", description: ["Digs for things, and not too deep."], options: [depth, quiet],
          examples: [Example("Deep", "tool dig -d 9")]
        ) { _, _ in .failure },
      ],
      tables: [
        ("Settings", [("soil=KIND", "What is dug in."), ("a-long-setting=A-LONG-NAME", "More.")])
      ],
      examples: [Example("All", "tool .")], exitStatuses: [(.success, "it went well")])
  }()

  @Test(
    "the first word chooses a command, and without one it is the first",
    arguments: [
      (["dig", "-q"], "tool dig", ["-q"]), (["x", "dig"], "tool show", ["x", "dig"]),
      ([], "tool show", []), (["--help"], "tool", ["--help"]),
      (["--completions=zsh"], "tool", ["--completions=zsh"]), (["-q"], "tool show", ["-q"]),
      (["./dig"], "tool show", ["./dig"]),
    ])
  func choice(line: [String], name: String, rest: [String]) {
    let (command, arguments) = tool.resolve(line)
    #expect(command.name == name && arguments == rest)
  }

  @Test("help has the commands in short") func helpHasTheCommandsInShort() {
    #expect(
      tool.help == """
        Usage: tool [COMMAND] [options] [PATH ...]

        Does things: all of them.

        Commands (without one, show):
          show  shows things
          dig   digs for things, and not too deep

        'tool COMMAND --help' has the options of each.

        Options:
              --completions bash|zsh|fish
                         Print the script that makes a shell complete this command's
                         options.
              --man      Print the manual page: man <(... --man) shows it.
          -h, --help     Print this help.
              --version  Print the version.

        Settings:
          soil=KIND  What is dug in.
          a-long-setting=A-LONG-NAME
                     More.

        Examples:
          All:
            tool .

        Exit status:
          0  it went well

        """)
    let help = tool.resolve(["dig"]).command.help
    #expect(help.hasPrefix("Usage: tool dig [options]\n") && !help.contains("--man"))
  }

  @Test("the manual page has each option once") func theManualPageHasEachOptionOnce() {
    let page = tool.manualPage
    #expect(page.contains(".SS dig [options]\nDigs for things, and not too deep.\n"))
    #expect(page.components(separatedBy: "\\-\\-quiet").count == 2)
    #expect(page.contains("Print less. (Of show, dig.)\n"))
    #expect(page.contains("How deep. (Of dig.)\n") && page.contains("tool dig \\-d 9"))
  }

  @Test("the manual page has each table as a section") func theManualPageHasEachTable() {
    #expect(
      tool.manualPage.contains(
        """
        .SH SETTINGS
        .TP
        \\fBsoil=KIND\\fR
        What is dug in.
        .TP
        \\fBa\\-long\\-setting=A\\-LONG\\-NAME\\fR
        More.

        """))
  }

  @Test(
    "an option of another command is found",
    arguments: [
      ([], ["--depth", "1"], "'tool show' has no option '--depth'; it is one of 'tool dig'"),
      (
        ["dig"], ["--show"],
        "'tool dig' has no option '--show'; did you mean the command 'tool show'?"
      ),
      (["dig"], ["--quit"], "'tool dig' has no option '--quit'; did you mean '--quiet'?"),
      (["dig"], ["-x"], "'tool dig' has no option '-x'; --help lists those there are"),
    ])
  func other(word: [String], line: [String], sentence: String) {
    let command = tool.resolve(word).command
    #expect(throws: UsageError(sentence)) { try command.parse(line) }
  }

  @Test("bash completes commands and the options of each")
  func bashCompletesCommandsAndTheOptionsOfEach() throws {
    func offers(_ words: String...) throws -> [Substring] {
      let line = """
        compopt() { :; }
        \(tool.completions(for: .bash))
        COMP_WORDS=(tool \(words.map { "'\($0)'" }.joined(separator: " "))); COMP_CWORD=\(words.count)
        cd /proc/self/fdinfo; _tool; printf '%s\\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
        """
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/bash")
      process.arguments = ["-uc", line]
      return String(decoding: try process.output(), as: UTF8.self).split(separator: "\n")
    }
    #expect(try offers("d") == ["dig"])
    #expect(try offers("--m") == ["--man"])
    #expect(try offers("--q") == ["--quiet"])
    #expect(try offers("--he") == ["--help"])
    #expect(try offers("dig", "--") == ["--depth", "--quiet", "--help"])
    #expect(try offers("show", "--") == ["--quiet", "--help"])
    #expect(try offers("x", "--d").isEmpty)
    #expect(try offers("dig", "--depth", "").isEmpty)
  }
}
