/// A mistake in a command line: one sentence that says what is wrong, and what would be right.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The sentence, without a capital letter and a full stop.
  package let description: String

  /// An error that the program itself finds in its arguments.
  package init(_ description: String) {
    self.description = description
  }
}

extension UsageError {
  static func unknown(_ written: String, in command: Command) -> UsageError {
    let names = command.options.map { "--\($0.long)" }
    let start = start(written, command)
    if let sibling = command.siblings.first(where: { "--\($0.word)" == written }) {
      return UsageError("\(start); did you mean the command '\(sibling.name)'?")
    }
    let others = command.siblings.filter { $0.options.contains { $0.names.contains(written) } }
    if !others.isEmpty {
      return UsageError("\(start); it is one of \(list(others.map { "'\($0.name)'" }))")
    }
    guard let near = nearest(to: written, among: names) else {
      return UsageError("\(start); --help lists those there are")
    }
    return UsageError("\(start); did you mean '\(near)'?")
  }

  static func unknownLetter(
    _ letter: Character, in argument: String, of command: Command
  ) -> UsageError {
    let place = argument.count > 2 ? " (in '\(argument)')" : ""
    return UsageError("\(start("-\(letter)", command))\(place); --help lists those there are")
  }

  private static func start(_ written: String, _ command: Command) -> String {
    command.siblings.isEmpty
      ? "there is no option '\(written)'" : "'\(command.name)' has no option '\(written)'"
  }

  static func oneDash(_ argument: String) -> UsageError {
    UsageError("'\(argument)' has one dash too few; did you mean '-\(argument)'?")
  }

  static func missingValue(of option: Option, next: String? = nil) -> UsageError {
    let fix = next.map { "; if the value is '\($0)', write '--\(option.long)=\($0)'" } ?? ""
    return UsageError("option '--\(option.long)' needs a value: '\(option.synopsis)'\(fix)")
  }

  static func unwantedValue(_ value: String, of option: Option) -> UsageError {
    UsageError("option '--\(option.long)' takes no value; leave '=\(value)' away")
  }

  static func givenTwice(_ option: Option) -> UsageError {
    UsageError("option '--\(option.long)' is given twice; give it once")
  }

  static func missing(_ option: Option) -> UsageError {
    UsageError("option '--\(option.long)' is missing; add '\(option.synopsis)'")
  }

  static func missing(_ operands: Operands) -> UsageError {
    if let first = operands.first { return UsageError("\(first) is missing; name it") }
    let minimum = operands.count.lowerBound
    let fix = minimum == 1 ? "name one" : "name \(minimum)"
    return UsageError("\(operands.placeholder) is missing; \(fix)")
  }

  static func surplus(_ operand: String, in command: Command) -> UsageError {
    guard let operands = command.operands else {
      return UsageError("'\(operand)' is not an option, and \(command.name) takes nothing else")
    }
    let maximum = operands.count.upperBound
    return UsageError(
      "'\(operand)' is one \(operands.placeholder) too many; give at most \(maximum)")
  }

  package static func badValue(
    _ value: String, of option: Option, expected: String
  ) -> UsageError {
    UsageError("'\(value)' is not a value of '--\(option.long)'; it takes \(expected)")
  }

  static func badChoice(_ value: String, of option: Option) -> UsageError {
    guard let near = nearest(to: value, among: option.choices) else {
      return badValue(value, of: option, expected: list(option.choices))
    }
    return UsageError(
      "'\(value)' is not a value of '--\(option.long)'; did you mean '\(near)'?")
  }

  /// `a, b or c`.
  private static func list(_ choices: [String]) -> String {
    let all = choices.dropLast().joined(separator: ", ")
    return all.isEmpty ? choices[0] : "\(all) or \(choices[choices.count - 1])"
  }
}
