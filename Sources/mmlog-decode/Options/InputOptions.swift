import CommandLineTool
import MMLogReader

/// What is read.
enum InputOptions {
  static let all: [Option] = []

  static let operands = Operands(
    "PATH", count: 1...Int.max,
    """
    A file, a directory (of which all *.mmlog and *.ring are read), or - for one file at standard \
    input.
    """)

  static func inputs(_ arguments: Arguments) -> [LogInput] {
    arguments.operands.map { $0 == "-" ? .standardInput : .path($0) }
  }
}
