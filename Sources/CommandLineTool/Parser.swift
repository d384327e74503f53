extension Command {
  /// What a command line asks for.
  package enum Request: Sendable {
    /// The text of ``Command/help``.
    case help

    /// The name and the version.
    case version

    /// The text of ``Command/manualPage``.
    case manualPage

    /// The script of ``Command/completions(for:)``.
    case completions(Shell)

    /// The command's work.
    case run(Arguments)
  }

  /// Reads a command line, as getopt_long(3) would, without its abbreviations: `--k v`, `--k=v`,
  /// `-k v`, `-kv`, `-k=v`, `-abc`, and `--` before arguments that only look like options.
  /// Options and operands may be mixed; `-` is an operand.
  ///
  /// - Parameter arguments: without the program's name.
  /// - Throws: the first mistake. `--help` and the like end the reading: then mistakes after them,
  ///   and missing arguments, do not matter.
  package func parse(_ arguments: [String]) throws(UsageError) -> Request {
    var parser = Parser(command: self, rest: arguments[...], result: Arguments(of: self))
    return try parser.parse()
  }
}

/// One pass over the arguments.
struct Parser {
  let command: Command
  var rest: ArraySlice<String>
  var result: Arguments

  mutating func parse() throws(UsageError) -> Command.Request {
    while let argument = rest.popFirst() {
      if argument == "--" { break }
      try take(argument)
      if let request = result.informationRequest { return request }
    }
    result.operands += rest
    try checkWhatIsMissing()
    return .run(result)
  }

  private mutating func take(_ argument: String) throws(UsageError) {
    if argument.hasPrefix("--") {
      try takeLong(argument)
    } else if argument.hasPrefix("-") && argument != "-" {
      try takeLetters(argument)
    } else {
      result.operands.append(argument)
    }
  }

  private mutating func takeLong(_ argument: String) throws(UsageError) {
    let (name, attached) = split(argument.dropFirst(2))
    guard let option = command.option(named: name) else {
      throw .unknown("--\(name)", in: command)
    }
    if let attached, option.placeholder == nil {
      throw .unwantedValue(attached, of: option)
    }
    try add(option, attached)
  }

  private mutating func takeLetters(_ argument: String) throws(UsageError) {
    var letters = argument.dropFirst()
    // Otherwise `-directory x` would be read as `-d irectory`.
    if letters.count > 1, command.option(named: split(letters).name) != nil {
      throw .oneDash(argument)
    }
    // By scalars: a value may begin with a scalar that combines with the letter.
    while let letter = letters.unicodeScalars.popFirst().map(Character.init) {
      guard let option = command.option(lettered: letter) else {
        throw .unknownLetter(letter, in: argument, of: command)
      }
      let hasSign = letters.utf8.first == UInt8(ascii: "=")
      let value = hasSign ? Substring(letters.utf8.dropFirst()) : letters
      if option.placeholder != nil {
        return try add(option, letters.isEmpty ? nil : String(value))
      }
      if hasSign { throw .unwantedValue(String(value), of: option) }
      try add(option, nil)
    }
  }

  /// `attached` is nil where an option's value, if it takes one, is the next argument.
  private mutating func add(_ option: Option, _ attached: String?) throws(UsageError) {
    if option.placeholder == nil { return result.add(option, "") }
    if result.isSet(option) && !option.isRepeatable { throw .givenTwice(option) }
    let value = if let attached { attached } else { try nextValue(for: option) }
    let canonical = option.canonical(value)
    guard option.choices.isEmpty || option.choices.contains(canonical) else {
      throw .badChoice(value, of: option)
    }
    result.add(option, canonical)
  }

  private mutating func nextValue(for option: Option) throws(UsageError) -> String {
    guard let next = rest.first else { throw .missingValue(of: option) }
    if looksLikeOption(next) { throw .missingValue(of: option, next: next) }
    rest.removeFirst()
    return next
  }

  /// `-5` and `-` are values, unless the command has an option `-5`.
  private func looksLikeOption(_ argument: String) -> Bool {
    if argument.hasPrefix("--") { return true }
    guard argument.hasPrefix("-"), let letter = argument.dropFirst().first else { return false }
    return command.option(lettered: letter) != nil
  }

  private func checkWhatIsMissing() throws(UsageError) {
    for option in command.options where option.isRequired && !result.isSet(option) {
      throw .missing(option)
    }
    let allowed = command.operands?.count ?? 0...0
    if result.operands.count > allowed.upperBound {
      throw .surplus(result.operands[allowed.upperBound], in: command)
    }
    if let operands = command.operands, result.operands.count < allowed.lowerBound {
      throw .missing(operands)
    }
  }

  private func split(_ text: Substring) -> (name: String, value: String?) {
    // By bytes: a value may begin with a scalar that combines with the sign.
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      return (String(text), nil)
    }
    return (String(text[..<equals]), String(text[text.utf8.index(after: equals)...]))
  }
}

extension Arguments {
  /// What the program prints instead of doing its work.
  fileprivate var informationRequest: Command.Request? {
    if isSet(.help) { return .help }
    // A command of a program leaves these options to the program.
    guard command.option(named: Option.version.long) != nil else { return nil }
    if isSet(.version) { return .version }
    if isSet(.man) { return .manualPage }
    return value(of: .completions).flatMap(Shell.init).map { .completions($0) }
  }
}

extension Command {
  func option(named name: String) -> Option? {
    options.first { $0.long == name }
  }

  func option(lettered letter: Character) -> Option? {
    options.first { $0.letters.contains(letter) }
  }
}
