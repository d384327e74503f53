extension Command {
  /// The manual page, section 1, in the man(7) macros, made from the same table as ``help``.
  package var manualPage: String {
    var page = """
      .\\" Made by '\(name) --man': do not edit.
      .TH \(roff(name).uppercased()) 1 "" "\(roff("\(name) \(version)"))" "User Commands"
      .SH NAME
      \(roff(name)) \\- \(roff(summary))
      .SH SYNOPSIS
      .B \(roff(name))
      \(roff(synopsis.dropFirst(name.count + 1)))
      .SH DESCRIPTION

      """
    page += description.map { "\(roff($0))\n" }.joined(separator: ".PP\n")
    if let operands {
      page += ".SH ARGUMENTS\n" + entry("\\fI\(roff(operands.placeholder))\\fR", operands.help)
    }
    page += ".SH OPTIONS\n" + options.map(manualEntry).joined()
    if !exitStatuses.isEmpty {
      page += ".SH EXIT STATUS\n"
      page += exitStatuses.map { entry("\\fB\($0.status.rawValue)\\fR", $0.meaning) }.joined()
    }
    if !examples.isEmpty {
      page += ".SH EXAMPLES\n" + examples.map(manualText).joined(separator: ".PP\n")
    }
    return page
  }

  /// The first sentence of the description, as NAME wants it: no capital letter, no full stop.
  private var summary: String {
    let first = description.first ?? ""
    let sentence = first.prefix { $0 != "." && $0 != ":" }
    return sentence.prefix(1).lowercased() + sentence.dropFirst()
  }

  private func manualEntry(_ option: Option) -> String {
    var names = option.short.map { "\\fB\\-\(roff(String($0)))\\fR, " } ?? ""
    names += "\\fB\\-\\-\(roff(option.long))\\fR"
    if let value = option.valueSynopsis { names += " \\fI\(roff(value))\\fR" }
    return entry(names, option.sentences)
  }

  private func manualText(_ example: Example) -> String {
    "\(roff(example.purpose)):\n.PP\n.RS 4\n.nf\n\(roff(example.line))\n.fi\n.RE\n"
  }

  private func entry(_ name: String, _ text: String) -> String { ".TP\n\(name)\n\(roff(text))\n" }

  /// Text in which nothing is a macro, an escape or a hyphen that typesetting may change.
  private func roff(_ text: some StringProtocol) -> String {
    let escapes: [Character: String] = [
      "\\": "\\e", "-": "\\-", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti", "`": "\\(ga",
    ]
    let escaped = text.map { escapes[$0] ?? String($0) }.joined()
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }
}
