extension Command {
  /// The width of help. Only the lines of examples may be longer.
  static let width = 80

  /// The column where the texts beside names begin, unless all names are shorter.
  private static let widestName = 22

  /// The command line in short: `name --needed N [options] [PATH ...]`.
  package var synopsis: String {
    if let main = commands.first {
      return "\(name) [COMMAND] [options] \(main.operands?.synopsis ?? "")"
    }
    let needed = options.filter(\.isRequired).map(\.synopsis)
    return ([name] + needed + ["[options]"] + (operands.map { [$0.synopsis] } ?? []))
      .joined(separator: " ")
  }

  /// What `--help` prints.
  package var help: String {
    var sections = [wrap("Usage: \(synopsis)", indent: 7, first: 0)]
    sections += description.map { wrap($0, indent: 0) }
    if let main = commands.first {
      let end = wrap("'\(name) COMMAND --help' has the options of each.", indent: 0)
      let rows = commands.map { ($0.word, $0.summary) }
      sections.append(section("Commands (without one, \(main.word))", rows) + "\n" + end)
    }
    if let operands {
      sections.append(section("Arguments", [(operands.names, operands.help)]))
    }
    sections.append(section("Options", options.map { ($0.label, $0.sentences) }))
    sections += tables.map { section($0.title, $0.rows) }
    if !examples.isEmpty {
      sections.append(title("Examples") + examples.map(\.text).joined())
    }
    if !exitStatuses.isEmpty {
      let rows = exitStatuses.map { ("\($0.status.rawValue)", $0.meaning) }
      sections.append(section("Exit status", rows))
    }
    return sections.joined(separator: "\n")
  }

  private func title(_ text: String) -> String { "\(text):\n" }

  private func section(_ name: String, _ rows: [(name: String, text: String)]) -> String {
    let widest = rows.map(\.name.count).filter { $0 <= Self.widestName }.max() ?? 0
    return title(name) + rows.map { row($0.name, $0.text, column: widest + 4) }.joined()
  }

  /// A name with a text beside it, or below it if the name is too long.
  private func row(_ name: String, _ text: String, column: Int) -> String {
    let start = "  \(name)"
    if start.count > column - 2 { return "\(start)\n" + wrap(text, indent: column) }
    let padding = String(repeating: " ", count: column - start.count)
    return start + padding + wrap(text, indent: column, first: 0, used: column)
  }

  private func wrap(_ text: String, indent: Int, first: Int? = nil, used: Int = 0) -> String {
    CommandLineTool.wrap(
      text, width: Self.width, indent: indent, first: first ?? indent, used: used)
  }
}

extension Option {
  /// `-l, --level L`; spaces stand for a letter that is missing.
  fileprivate var label: String {
    (short == nil ? "    " : letters.map { "-\($0), " }.joined()) + synopsis
  }

  var sentences: String {
    var text = help
    if isRepeatable && placeholder != nil { text += " May be repeated." }
    if let defaultValue { text += " Default: \(defaultValue)." }
    return text
  }
}

extension Operands {
  /// The names of the operands in the line of help that describes them.
  var names: String { [first, placeholder].compactMap(\.self).joined(separator: " ") }

  var synopsis: String {
    if let first { return "\(first) [\(placeholder) ...]" }
    let more = count.upperBound > 1 ? " ..." : ""
    return count.lowerBound == 0 ? "[\(placeholder)\(more)]" : "\(placeholder)\(more)"
  }
}

extension Example {
  fileprivate var text: String { "  \(purpose):\n    \(line)\n" }
}
