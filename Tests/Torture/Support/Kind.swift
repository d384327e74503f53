import TestSupport
import CommandLineTool
import MMLogSystem

/// One way of torturing stores: a folder beside this one, and a line in main.swift.
struct Kind: Sendable {
  /// What it does with its part of the command line.
  typealias Body =
    @Sendable (_ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput) throws ->
    Program.Status

  /// What it is called on the command line.
  let name: String
  /// One sentence, for the list of kinds.
  let summary: String
  let command: Command
  /// Its arguments in a run of all kinds that takes less than ten minutes.
  let quick: [String]
  /// Its arguments in a run of all kinds that takes two minutes.
  let brief: [String]
  let body: Body

  /// - Parameters:
  ///   - description: What it does, and what it searches for: paragraphs of its own help.
  ///   - options: All but `--seed`, `--jobs` and `--folder`, which every kind has.
  ///   - steps: What it starts in processes of its own, as in `mmlog-torture power log`: the
  ///     operand.
  ///   - quick: Its arguments in a quick run; a minute or two with two processors.
  ///   - brief: Its arguments in a brief run: twenty seconds, and on a slow machine not much more.
  init(
    _ name: String, _ summary: String, description: [String], options: [Option],
    steps: Operands? = nil, examples: [Example], quick: [String], brief: [String],
    _ body: @escaping Body
  ) {
    self.name = name
    self.summary = summary
    self.quick = quick
    self.brief = brief
    self.body = body
    command = Command(
      name: "mmlog-torture \(name)", description: [summary] + description,
      options: options + [.seed, .jobs, .folder], operands: steps, examples: examples,
      exitStatuses: Torture.exitStatuses)
  }

  /// Does what the command line asks for, and ends the process.
  func run(_ arguments: [String]) -> Never {
    Program.run(command, arguments: arguments) { [body] arguments, output in
      let seed = try arguments.value(of: .seed, expected: "a number") { UInt64($0) }
      return try body(arguments, seed ?? UInt64(Clock.realtime() / 1000), output)
    }
  }
}

extension Option {
  static let seed = Option(
    "seed", value: "S",
    "What everything follows from but the processes' pace; else the time. The first run has it.")
  static let jobs = Option("jobs", value: "N", default: "2", "How many runs at a time.")
  static let folder = Option(
    "folder", value: "DIR",
    "Where files are made; what fails stays there. Else a new one in /dev/shm or $TMPDIR.")
}

extension Arguments {
  /// Where files are made: the folder that was asked for, or a new one. Prints the folder and the
  /// seed.
  ///
  /// - Parameter what: What is begun there, in a few words.
  func workFolder(for what: String, _ seed: UInt64, _ output: StandardOutput) throws -> String {
    let folder = try value(of: .folder) ?? Folder.temporary()
    try Folder.make(folder)
    try output.append("\(what) with --seed \(seed), in \(folder)\n")
    try output.flush()
    return folder
  }
}
