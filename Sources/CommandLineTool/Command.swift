/// A program as its user meets it. Parsing and help are both made from this table.
package struct Command: Sendable {
  /// What it is called, also at the start of its messages.
  package let name: String

  /// What `--version` prints after the name.
  package let version: String

  /// Paragraphs; help wraps them.
  package let description: [String]

  /// All options, in the order of help, those that every command has last.
  package let options: [Option]

  /// The arguments that are not options; nil if there are none.
  package let operands: Operands?

  /// What help shows last but one.
  package let examples: [Example]

  /// What each exit status means.
  package let exitStatuses: [(status: Program.Status, meaning: String)]

  /// Declares a command.
  ///
  /// - Parameter options: all but those that every command has, which are added.
  /// - Precondition: no two options have a name in common.
  package init(
    name: String, version: String, description: [String], options: [Option],
    operands: Operands? = nil, examples: [Example] = [],
    exitStatuses: [(status: Program.Status, meaning: String)] = []
  ) {
    self.name = name
    self.version = version
    self.description = description
    self.options = options + [.completions, .man, .help, .version]
    self.operands = operands
    self.examples = examples
    self.exitStatuses = exitStatuses
    precondition(Set(self.options.map(\.long)).count == self.options.count, "a name used twice")
    let letters = self.options.compactMap(\.short)
    precondition(Set(letters).count == letters.count, "a letter used twice")
  }
}

/// The arguments of a command that are not options.
package struct Operands: Sendable {
  /// How help calls one of them, such as `PATH`.
  package let placeholder: String

  /// How many there may be.
  package let count: ClosedRange<Int>

  /// What they are: whole sentences.
  package let help: String

  /// Declares operands.
  package init(_ placeholder: String, count: ClosedRange<Int> = 0...Int.max, _ help: String) {
    self.placeholder = placeholder
    self.count = count
    self.help = help
  }
}

/// A command line that help shows, and what it is good for.
package struct Example: Sendable {
  /// What it is good for, without a full stop.
  package let purpose: String

  /// The line as it is typed. Help does not wrap it.
  package let line: String

  /// Declares an example.
  package init(_ purpose: String, _ line: String) {
    self.purpose = purpose
    self.line = line
  }
}
