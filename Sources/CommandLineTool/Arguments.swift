/// What a user gave on the command line, checked against the command's table.
package struct Arguments: Sendable {
  /// The arguments that are not options, in order.
  package internal(set) var operands: [String] = []

  /// The command that the arguments were given to.
  package let command: Command
  private var given: [String: [String]] = [:]

  init(of command: Command) {
    self.command = command
  }

  mutating func add(_ option: Option, _ value: String) {
    given[option.long, default: []].append(value)
  }

  /// True if the option was given.
  package func isSet(_ option: Option) -> Bool {
    !values(given: option).isEmpty
  }

  /// The values of a repeatable option, in order; its default if it was not given.
  package func values(of option: Option) -> [String] {
    let values = values(given: option)
    return values.isEmpty ? option.defaultValue.map { [$0] } ?? [] : values
  }

  /// The value of an option. If it was not given: its default, or nil.
  package func value(of option: Option) -> String? {
    values(of: option).last
  }

  /// The value of an option that always has one.
  ///
  /// - Precondition: the option is required or has a default.
  package func required(_ option: Option) -> String {
    guard let value = value(of: option) else {
      preconditionFailure("--\(option.long) is neither required nor has a default")
    }
    return value
  }

  /// The value of an option, converted to what it stands for; nil if it was not given.
  ///
  /// - Parameters:
  ///   - expected: what a right value is, such as `a time as in 2025-03-01T12:00:00`.
  ///   - convert: returns nil for a wrong value.
  /// - Throws: a sentence with the option, the value and what a right value is.
  package func value<Result>(
    of option: Option, expected: String, _ convert: (String) -> Result?
  ) throws(UsageError) -> Result? {
    guard let text = value(of: option) else { return nil }
    guard let result = convert(text) else {
      throw .badValue(text, of: option, expected: expected)
    }
    return result
  }

  /// The value of an option as a number, nil if it was not given.
  ///
  /// - Throws: if it is not a decimal number within the range.
  package func integer(
    of option: Option, in range: ClosedRange<Int>
  ) throws(UsageError) -> Int? {
    let (minimum, maximum) = (range.lowerBound, range.upperBound)
    let expected =
      "a number " + (maximum == .max ? "not below \(minimum)" : "from \(minimum) to \(maximum)")
    return try value(of: option, expected: expected) { text in
      Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// None for an option that the command does not have: commands share code that reads their
  /// options.
  private func values(given option: Option) -> [String] { given[option.long] ?? [] }
}
