import CommandLineTool

/// The options for how many of the records that pass are printed.
let partOptions: [Option] = [.maximum, .context, .before, .after]

extension Arguments {
  /// Which part of the records that pass is wanted. Options that a command does not have count as
  /// not given.
  func part() throws(UsageError) -> Decoder.Part {
    var part = Decoder.Part()
    part.maximum = try integer(of: .maximum, in: 0...Int.max) ?? .max
    part.surroundings = try surroundings()
    part.last = try integer(of: .tail, in: 0...100_000_000)
    return part
  }

  private func surroundings() throws(UsageError) -> Surroundings {
    var around = Surroundings()
    for option in [Option.context, .before, .after] {
      guard let count = try integer(of: option, in: 0...100_000) else { continue }
      guard isSet(.grep) || isSet(.condition) else {
        throw UsageError(
          "--\(option.long) needs something to be around: give --grep or --where too")
      }
      if option.long != Option.after.long { around.before = count }
      if option.long != Option.before.long { around.after = count }
    }
    return around
  }
}

extension Option {
  static let tail = Option("tail", short: "n", value: "N", "Only the last N records.")
  static let maximum = Option(
    "max-count", short: "m", value: "N", "Stop after N records that match.")
  static let context = Option(
    "context", short: "C", value: "N",
    "Also print N records before and after each record that --grep or --where finds.")
  static let before = Option(
    "before-context", short: "B", value: "N", "Also print N records before each found record.")
  static let after = Option(
    "after-context", short: "A", value: "N", "Also print N records after each found record.")
}
