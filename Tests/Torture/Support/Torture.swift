import TestSupport
import CommandLineTool
import MMLogSystem

/// What all kinds have in common on the command line, and running all of them.
enum Torture {
  static let exitStatuses: [(status: Program.Status, meaning: String)] = [
    (.success, "nothing was found"), (.failure, "something was found"),
    (.usage, "the command line was wrong"),
  ]

  /// Does what the command line asks for, and ends the process.
  static func run(_ kinds: [Kind]) -> Never {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if let kind = kinds.first(where: { $0.name == arguments.first }) {
      kind.run(Array(arguments.dropFirst()))
    }
    Program.run(command(kinds), arguments: arguments) { arguments, output in
      guard arguments.operands == ["all"] else {
        throw UsageError(
          "'\(arguments.operands[0])' is nothing that can be done: "
            + "it is all, \(kinds.map(\.name).joined(separator: ", "))")
      }
      return try runAll(kinds, arguments, output)
    }
  }

  private static func command(_ kinds: [Kind]) -> Command {
    Command(
      name: "mmlog-torture",
      description: [
        "Tortures stores in every way that a machine may, and checks whether they keep what they promise."
      ] + kinds.map { "\($0.name): \($0.summary) See mmlog-torture \($0.name) --help." },
      options: [.quick, .brief, .seed, .jobs],
      operands: Operands(
        "all|KIND", count: 1...1, "What to do: all kinds one after the other, or one of them."),
      examples: [
        Example("All kinds, in less than ten minutes", "mmlog-torture all --quick"),
        Example("All kinds, with each change", "mmlog-torture all --brief"),
        Example("What one kind can do", "mmlog-torture power --help"),
      ],
      exitStatuses: exitStatuses)
  }

  /// Runs each kind in a process of its own, so that the end of one is not the end of all.
  private static func runAll(
    _ kinds: [Kind], _ arguments: Arguments, _ output: StandardOutput
  ) throws -> Program.Status {
    var failed: [String] = []
    for kind in kinds {
      let start = Clock.monotonic()
      try output.append("== \(kind.name): \(kind.summary)\n")
      try output.flush()
      var options = ["--jobs", arguments.required(.jobs)]
      if let seed = arguments.value(of: .seed) { options += ["--seed", seed] }
      if arguments.isSet(.quick) { options += kind.quick }
      if arguments.isSet(.brief) { options += kind.brief }
      let child = try ChildProcess(ChildProcess.ownPath, [kind.name] + options, output: nil)
      let ending = child.wait(seconds: .max)
      let isGood = ending == .success
      let seconds = (Clock.monotonic() - start) / 1_000_000_000
      try output.append(
        "== \(kind.name): \(isGood ? "nothing was found" : "it \(ending)") (\(seconds) s)\n")
      if !isGood { failed.append(kind.name) }
    }
    if !failed.isEmpty { try output.append("Failed: \(failed.joined(separator: ", "))\n") }
    return failed.isEmpty ? .success : .failure
  }
}

extension Option {
  fileprivate static let quick = Option("quick", "Each for a minute or two, not in full.")
  fileprivate static let brief = Option("brief", "Each for twenty seconds.")
}
