/// A program, or one of the commands of a program, as its user sees it. Parsing, help, the manual
/// page and completions are all made from this table.
package struct Command: Sendable {
  /// What a command does: prints on standard output, and says how it went.
  package typealias Body = @Sendable (Arguments, StandardOutput) throws -> Program.Status

  /// The name: `mmlog-decode`, or for one of its commands, `mmlog-decode crash`.
  package private(set) var name: String

  /// Paragraphs; help wraps them. The first sentence is the summary.
  package let description: [String]

  /// All options in the order of help. Options that every command has come last.
  package let options: [Option]

  /// The arguments that are not options; nil if there are none.
  package let operands: Operands?

  /// What help shows second to last.
  package let examples: [Example]

  /// The meaning of each exit status. Those of a program also apply to all of its commands.
  package let exitStatuses: [(status: Program.Status, meaning: String)]

  /// A title, and rows: what a user may write, and its meaning.
  package typealias Table = (title: String, rows: [(name: String, text: String)])

  /// Other things that the user of a program chooses among, such as settings.
  private(set) var tables: [Table] = []

  /// The commands of a program. The first one runs where a command line names none.
  package private(set) var commands: [Command] = []

  /// True for the command that runs where the first word of a command line is no command.
  package private(set) var isImplied = false

  /// The commands of the program that this command belongs to.
  private(set) var siblings: [Command] = []

  /// Lists values for a shell that completes a command line. An option names the kind of its
  /// values; `words` are the words of that command line. Nil if the program lists none.
  private(set) var candidates: (@Sendable (_ kind: String, _ words: [String]) -> [String])?

  /// The work of the command; nil where ``Program/run(_:arguments:_:)`` gets it as an argument.
  let body: Body?

  /// Declares a program that does one thing.
  ///
  /// - Parameter options: all except those that every program has. This initializer adds them.
  /// - Precondition: no two options have a name in common.
  package init(
    name: String, description: [String], options: [Option],
    operands: Operands? = nil, examples: [Example] = [],
    exitStatuses: [(status: Program.Status, meaning: String)] = []
  ) {
    self.init(
      name, description, options + [.completions, .man, .help, .version], operands,
      examples, exitStatuses, nil)
  }

  /// Declares a program with commands. The first one runs where a command line names none.
  ///
  /// - Parameters:
  ///   - tables: Other things that its user chooses among, such as settings.
  ///   - candidates: Lists values for a shell that completes a command line. An option names the
  ///     kind of its values; `words` are the words of that command line.
  /// - Precondition: there is a command, and no two have the same name.
  package init(
    name: String, description: [String], commands: [Command], tables: [Table] = [],
    examples: [Example], exitStatuses: [(status: Program.Status, meaning: String)],
    candidates: (@Sendable (_ kind: String, _ words: [String]) -> [String])? = nil
  ) {
    self.init(
      name, description, [.completions, .man, .help, .version], nil, examples,
      exitStatuses, nil)
    (self.tables, self.candidates) = (tables, candidates)
    precondition(!commands.isEmpty && Set(commands.map(\.name)).count == commands.count)
    let named = commands.map { command in
      var command = command
      command.name = "\(name) \(command.name)"
      return command
    }
    self.commands = named.map { command in
      var command = command
      command.siblings = named
      return command
    }
  }

  /// Declares a command of a program, and its work.
  ///
  /// - Parameters:
  ///   - word: the command's name, which follows the program's name.
  ///   - options: all except `--help`. This initializer adds it.
  package init(
    _ word: String, description: [String], options: [Option], operands: Operands? = nil,
    examples: [Example] = [], body: @escaping Body
  ) {
    self.init(word, description, options + [.help], operands, examples, [], body)
  }

  private init(
    _ name: String, _ description: [String], _ options: [Option],
    _ operands: Operands?, _ examples: [Example],
    _ exitStatuses: [(status: Program.Status, meaning: String)], _ body: Body?
  ) {
    self.name = name
    self.description = description
    self.options = options
    self.operands = operands
    self.examples = examples
    self.exitStatuses = exitStatuses
    self.body = body
    precondition(Set(options.map(\.long)).count == options.count, "a name used twice")
    let letters = options.flatMap(\.letters)
    precondition(Set(letters).count == letters.count, "a letter used twice")
  }

  /// The command's name, without the program's name: `crash`.
  package var word: String { name.split(separator: " ").last.map(String.init) ?? name }

  /// What messages begin with: the program's name.
  var program: String { name.split(separator: " ").first.map(String.init) ?? name }

  /// The first sentence of the description, without a capital letter and a full stop.
  var summary: String {
    let sentence = (description.first ?? "").prefix { $0 != "." && $0 != ":" }
    return sentence.prefix(1).lowercased() + sentence.dropFirst()
  }

  /// The command that a command line is for, and the arguments for it.
  func resolve(_ arguments: [String]) -> (command: Command, arguments: [String]) {
    guard var main = commands.first else { return (self, arguments) }
    if let named = commands.first(where: { $0.word == arguments.first }) {
      return (named, Array(arguments.dropFirst()))
    }
    let first = arguments.first?.prefix { $0 != "=" } ?? ""
    main.isImplied = arguments.first?.hasPrefix("-") == false
    let isOwn = options.contains { $0.names.contains(String(first)) }
    return (isOwn ? self : main, arguments)
  }

  /// The command whose name is nearest to a word that is no command: `stats` for `stat`.
  package func suggestedCommand(for word: String) -> String? {
    nearest(to: word, among: siblings.map(\.word))
  }
}

/// The arguments of a command that are not options.
package struct Operands: Sendable {
  /// The name of the first operand in help, if it differs from the others, such as `RULES`.
  package let first: String?

  /// The name of each operand in help, such as `PATH`.
  package let placeholder: String

  /// How many there may be.
  package let count: ClosedRange<Int>

  /// What the operands are: whole sentences.
  package let help: String

  /// Declares operands.
  package init(_ placeholder: String, count: ClosedRange<Int> = 0...Int.max, _ help: String) {
    (first, self.placeholder, self.count, self.help) = (nil, placeholder, count, help)
  }

  /// Declares operands of which the first one differs from the others, and is required.
  package init(_ first: String, then placeholder: String, _ help: String) {
    (self.first, self.placeholder, count, self.help) = (first, placeholder, 1...Int.max, help)
  }
}

/// A command line that help shows, and its purpose.
package struct Example: Sendable {
  /// The purpose of the line, without a full stop.
  package let purpose: String

  /// The line as it is typed. Help does not wrap it.
  package let line: String

  /// Declares an example.
  package init(_ purpose: String, _ line: String) {
    self.purpose = purpose
    self.line = line
  }
}
