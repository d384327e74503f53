import CommandLineTool
import MMLogReader

/// What is read, and how much of it.
let inputOptions: [Option] = [.recursive, .follow, .head, .tail, .lastCrash]

let inputOperands = Operands(
  "PATH",
  """
  A file, a directory (of which all *.mmlog and *.ring are read), or - for one file at standard \
  input. A pipe is copied first, into half of the free space of $TMPDIR or /tmp at most; a device \
  is refused.
  """)

/// Which of the records that pass are wanted.
enum WantedPart {
  case all
  case first(Int)
  case last(Int)
  /// The last so many of each thread before a crash.
  case beforeCrash(Int)
}

extension Arguments {
  var inputs: [LogReader.Input] {
    operands.map { operand in
      if operand == "-" { return .standardInput }
      return isSet(.recursive) ? .tree(operand) : .path(operand)
    }
  }

  /// Whether to go on with what is logged from now on.
  func follows() throws(UsageError) -> Bool {
    guard isSet(.follow) else { return false }
    if operands.contains("-") {
      throw UsageError("standard input cannot be followed; give --follow a directory or a file")
    }
    if isSet(.lastCrash) {
      throw UsageError("--follow and --last-crash contradict each other; give one of them")
    }
    return true
  }

  func wantedPart() throws(UsageError) -> WantedPart {
    let parts = [Option.head, .tail, .lastCrash].filter { isSet($0) }
    if parts.count > 1 {
      throw UsageError(
        "--\(parts[0].long) and --\(parts[1].long) contradict each other; give one of them")
    }
    if let count = try integer(of: .head, in: 0...Int.max) { return .first(count) }
    if let count = try integer(of: .tail, in: 0...100_000_000) { return .last(count) }
    if let count = try integer(of: .lastCrash, in: 1...100_000_000) { return .beforeCrash(count) }
    // As of tail; but whoever says from when on wants it all.
    return isSet(.follow) && !isSet(.since) ? .last(10) : .all
  }
}

extension Option {
  fileprivate static let recursive = Option(
    "recursive", short: "r", "Read directories below those given, too.")
  static let follow = Option(
    "follow",
    """
    Go on with what is logged from now on, across rotation and in new processes, until \
    interrupted, in the order in which log calls of this machine followed one another. Without \
    --since, --head and --tail it begins with the last 10 records. A file that is replaced by \
    another one of its name is opened anew.
    """)
  fileprivate static let head = Option("head", value: "N", "Print only the first N records.")
  static let tail = Option(
    "tail", short: "n", value: "N", "Print only the last N records.")
  fileprivate static let lastCrash = Option(
    "last-crash", number: "N", implied: "20",
    """
    Print only the last N records of each thread of the session that ended last without being \
    closed. A PATH of digits alone is to be written as ./PATH behind it.
    """)
}
