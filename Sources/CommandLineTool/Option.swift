/// One option of a command: what parsing and help both know about it.
///
/// Declared once, as a static member of an extension of `Option`, so that the table of the command
/// and the code that asks for its value name the same thing:
///
///     extension Option {
///       static let level = Option("level", short: "l", value: "L", default: "info", "Least
///       level.")
///     }
package struct Option: Sendable {
  /// The name after the two dashes.
  package let long: String

  /// The name after one dash: a letter.
  package let short: Character?

  /// Another letter, for people who know it from other programs.
  package let otherShort: Character?

  /// The name of the value in help; nil if the option is a flag, which takes no value.
  package let placeholder: String?

  /// The only values that the option takes, if not empty.
  package let choices: [String]

  /// The value if the option is not given.
  package let defaultValue: String?

  /// True if the command cannot run without the option.
  package let isRequired: Bool

  /// True if the option may be given more than once with different values.
  package let isRepeatable: Bool

  /// Converts a value to the form that is compared with the ``choices``.
  package let canonical: @Sendable (String) -> String

  /// The kind of values that the program lists for a shell that completes this option's value: see
  /// ``Command/candidates``. Nil if the program lists none.
  package let candidates: String?

  /// What the option does: whole sentences.
  package let help: String

  /// A flag: given or not.
  ///
  /// A flag may be repeated.
  package init(_ long: String, short: Character? = nil, _ help: String) {
    self.init(long, short, repeatable: true, help)
  }

  /// An option with a value of any form.
  ///
  /// - Parameters:
  ///   - placeholder: the name of the value in help, such as `N`.
  ///   - defaultValue: the value if the option is not given; help shows it.
  ///   - candidates: the kind of values that the program lists for a shell that completes the
  ///     value.
  package init(
    _ long: String, short: Character? = nil, value placeholder: String,
    default defaultValue: String? = nil, required: Bool = false, repeatable: Bool = false,
    candidates: String? = nil, _ help: String
  ) {
    self.init(
      long, short, value: placeholder, default: defaultValue, required: required,
      repeatable: repeatable, candidates: candidates, help)
  }

  /// An option with one of a few values; help lists them.
  ///
  /// - Parameters:
  ///   - otherShort: another letter for it.
  ///   - canonical: converts another name of a value to its name in the list.
  package init(
    _ long: String, short: Character? = nil, or otherShort: Character? = nil,
    oneOf choices: [String], default defaultValue: String? = nil, repeatable: Bool = false,
    canonical: @escaping @Sendable (String) -> String = { $0 },
    _ help: String
  ) {
    precondition(!choices.isEmpty, "--\(long) needs at least one choice")
    let placeholder = choices.joined(separator: "|")
    self.init(
      long, short, or: otherShort, value: placeholder, oneOf: choices, default: defaultValue,
      repeatable: repeatable, canonical: canonical, help)
  }

  private init(
    _ long: String, _ short: Character?, or otherShort: Character? = nil,
    value placeholder: String? = nil, oneOf choices: [String] = [],
    default defaultValue: String? = nil, required isRequired: Bool = false,
    repeatable isRepeatable: Bool, candidates: String? = nil,
    canonical: @escaping @Sendable (String) -> String = { $0 }, _ help: String
  ) {
    self.long = long
    self.short = short
    self.otherShort = otherShort
    self.placeholder = placeholder
    self.choices = choices
    self.defaultValue = defaultValue
    self.isRequired = isRequired
    self.isRepeatable = isRepeatable
    self.canonical = canonical
    self.candidates = candidates
    self.help = help
  }
}

extension Option {
  /// Prints the help; every command has it.
  package static let help = Option("help", short: "h", "Print this help.")

  /// Prints the manual page; every program has it.
  package static let man = Option("man", "Print the manual page: man <(... --man) shows it.")

  /// Prints a script for a shell; every program has it.
  package static let completions = Option(
    "completions", oneOf: Shell.allCases.map(\.rawValue),
    "Print the script that makes a shell complete this command's options.")

  /// Prints the version; every program has it.
  package static let version = Option("version", "Print the version.")

  /// `-h` and `--help`.
  var names: [String] { letters.map { "-\($0)" } + ["--\(long)"] }

  /// The option's letters.
  var letters: [Character] { [short, otherShort].compactMap(\.self) }

  /// The option with its value, as a user writes it: `--level L`.
  var synopsis: String { "--\(long)" + (placeholder.map { " \($0)" } ?? "") }
}
