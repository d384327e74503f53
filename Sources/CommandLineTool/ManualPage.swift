extension Command {
  /// The manual page, section 1, in the man(7) macros, made from the same table as ``help``. The
  /// page of a program lists its commands, and each of their options once.
  package var manualPage: String {
    var page = """
      .\\" Made by '\(name) --man': do not edit.
      .TH \(roff(name).uppercased()) 1 "" "\(roff("\(name) \(mmlogVersion)"))" "User Commands"
      .SH NAME
      \(roff(name)) \\- \(roff(summary))
      .SH SYNOPSIS
      .B \(roff(name))
      \(roff(synopsis.dropFirst(name.count + 1)))
      .SH DESCRIPTION

      """
    page += paragraphs(description)
    if !commands.isEmpty { page += ".SH COMMANDS\n" + commands.map(manualSection).joined() }
    if let operands = operands ?? commands.first?.operands {
      page += ".SH ARGUMENTS\n" + entry("\\fI\(roff(operands.names))\\fR", operands.help)
    }
    page += ".SH OPTIONS\n" + manualOptions
    for table in tables {
      page += ".SH \(roff(table.title).uppercased())\n"
      page += table.rows.map { entry("\\fB\(roff($0.name))\\fR", $0.text) }.joined()
    }
    if !exitStatuses.isEmpty {
      page += ".SH EXIT STATUS\n"
      page += exitStatuses.map { entry("\\fB\($0.status.rawValue)\\fR", $0.meaning) }.joined()
    }
    let examples = self.examples + commands.flatMap(\.examples)
    if !examples.isEmpty {
      page += ".SH EXAMPLES\n" + examples.map(manualText).joined(separator: ".PP\n")
    }
    return page
  }

  private func paragraphs(_ texts: [String]) -> String {
    texts.map { "\(roff($0))\n" }.joined(separator: ".PP\n")
  }

  private func manualSection(_ command: Command) -> String {
    let synopsis = command.synopsis.dropFirst(name.count + 1)
    return ".SS \(roff(synopsis))\n" + paragraphs(command.description)
  }

  /// Each option once, with the commands that have it.
  private var manualOptions: String {
    var entries: [(option: Option, commands: [String])] = []
    for command in commands {
      for option in command.options where option.long != Option.help.long {
        if let index = entries.firstIndex(where: { $0.option.isSame(as: option) }) {
          entries[index].commands.append(command.word)
        } else {
          entries.append((option, [command.word]))
        }
      }
    }
    let ofCommands = entries.map { option, words in
      manualEntry(option, " (Of \(words.joined(separator: ", ")).)")
    }
    return ofCommands.joined() + options.map { manualEntry($0) }.joined()
  }

  private func manualEntry(_ option: Option, _ end: String = "") -> String {
    var names = option.letters.map { "\\fB\\-\(roff(String($0)))\\fR, " }.joined()
    names += "\\fB\\-\\-\(roff(option.long))\\fR"
    if let value = option.placeholder { names += " \\fI\(roff(value))\\fR" }
    return entry(names, option.sentences + end)
  }

  private func manualText(_ example: Example) -> String {
    "\(roff(example.purpose)):\n.PP\n.RS 4\n.nf\n\(roff(example.line))\n.fi\n.RE\n"
  }

  private func entry(_ name: String, _ text: String) -> String { ".TP\n\(name)\n\(roff(text))\n" }

  /// Text in which typesetting finds no macro and no escape, and changes no hyphen.
  private func roff(_ text: some StringProtocol) -> String {
    let escapes: [Character: String] = [
      "\\": "\\e", "-": "\\-", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti", "`": "\\(ga",
    ]
    let escaped = text.map { escapes[$0] ?? String($0) }.joined()
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }
}

extension Option {
  fileprivate func isSame(as other: Option) -> Bool {
    (long, short, sentences) == (other.long, other.short, other.sentences)
  }
}
