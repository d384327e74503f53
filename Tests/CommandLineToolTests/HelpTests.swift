import Testing

@testable import CommandLineTool

@Suite struct HelpTests {
  @Test("help shows the whole table") func helpShowsTheWholeTable() {
    #expect(
      sample.help == """
        Usage: sample --name N [options] [PATH ...]

        Prints samples, in an order that is nobody's business, one after the other,
        until there are none.

        A second paragraph.

        Arguments:
          PATH  A file, or a directory of files.

        Options:
          -n, --name N         What it is called.
          -f, --format text|json|message
                               How each record is printed, which is a sentence long
                               enough to need a second line. Default: text.
              --label PATTERN  Only these labels. May be repeated.
          -c, --count K        Print the last K only.
          -q, --quiet          Print less.
          -F, --follow         Wait for more.
              --completions bash|zsh|fish
                               Print the script that makes a shell complete this
                               command's options.
              --man            Print the manual page: man <(... --man) shows it.
          -h, --help           Print this help.
              --version        Print the version.

        Examples:
          The last ten:
            sample -n a -c 10 /var/log/samples
          All, for another program:
            sample -n a --format json | jq .

        Exit status:
          0  all was printed
          2  the command line was wrong

        """)
  }

  @Test("help of a command without anything is short")
  func helpOfACommandWithoutAnythingIsShort() {
    let bare = Command(name: "bare", description: ["Does little."], options: [])
    #expect(
      bare.help == """
        Usage: bare [options]

        Does little.

        Options:
              --completions bash|zsh|fish
                         Print the script that makes a shell complete this command's
                         options.
              --man      Print the manual page: man <(... --man) shows it.
          -h, --help     Print this help.
              --version  Print the version.

        """)
  }

  @Test("no line is wider than a terminal") func noLineIsWiderThanATerminal() {
    let words = String(repeating: "twelve chars ", count: 40)
    let command = Command(
      name: "wide", description: [words],
      options: [
        Option("x", value: "V", words), Option("a-rather-long-name", value: "AND-VALUE", words),
      ],
      operands: Operands("PATH", count: 1...1, words), exitStatuses: [(.success, words)])
    for line in command.help.split(separator: "\n") {
      #expect(line.count <= 80, "\(line)")
      #expect(line.last != " ", "\(line)")
    }
  }

  @Test("a line may be exactly as wide as allowed") func aLineMayBeExactlyAsWideAsAllowed() {
    #expect(wrap("aaa bbb", width: 7, indent: 2, first: 0, used: 0) == "aaa bbb\n")
    #expect(wrap("aaa bbb", width: 6, indent: 2, first: 0, used: 0) == "aaa\n  bbb\n")
  }

  @Test("a word wider than a line has one of its own") func aWordWiderThanALineHasOneOfItsOwn() {
    let text = wrap("a bbbbbbbb c", width: 6, indent: 2, first: 2, used: 0)
    #expect(text == "  a\n  bbbbbbbb\n  c\n")
  }

  @Test(
    "the synopsis shows how many operands there may be",
    arguments: [
      (1...1, "x [options] P"), (1...2, "x [options] P ..."), (0...1, "x [options] [P]"),
      (0...9, "x [options] [P ...]"),
    ])
  func theSynopsisShowsHowManyOperandsThereMayBe(count: ClosedRange<Int>, synopsis: String) {
    let command = Command(
      name: "x", description: [], options: [],
      operands: Operands("P", count: count, ""))
    #expect(command.synopsis == synopsis)
  }
}
