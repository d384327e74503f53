import CommandLineTool
import LogCommands
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Where printing begins, and where the position behind it is kept.
struct CursorChoice {
  static let options: [Option] = [.afterCursor, .cursorFile, .showCursor]

  let start: LogReader.Cursor
  /// Whether an earlier run has printed the records before the cursor.
  let hasEarlierOutput: Bool
  private let file: String?
  private let isShown: Bool

  /// Nil if no option asks for a cursor.
  ///
  /// - Parameter places: Where nothing may be written. The cursor's file becomes one of them.
  /// - Throws: what is wrong with the options, or with the file of the cursor.
  init?(_ arguments: Arguments, besides places: inout InputPaths) throws {
    guard let option = Self.options.first(where: { arguments.isSet($0) }) else { return nil }
    for other in [Option.follow, .tail, .reverse, .context, .before, .after]
    where arguments.isSet(other) {
      throw UsageError(
        "--\(option.long) reads from a place on, so it does not go with --\(other.long)")
    }
    file = arguments.value(of: .cursorFile)
    isShown = arguments.isSet(.showCursor)
    var text = arguments.value(of: .afterCursor)
    if let file {
      if file.isEmpty { throw UsageError("--cursor-file needs the name of a file") }
      if text != nil { throw UsageError("--after and --cursor-file both say where; give one") }
      let (parent, name) = file.splitAtLastSlash
      let directory = try Directory.open(parent)
      try places.check(name, in: directory)
      try places.reserve(name, in: directory)
      // Reading a pipe would wait, and a device keeps no cursor.
      guard case .regular = try NamedFile(name, in: directory, file) else {
        throw UsageError("'\(file)' is no regular file; name one, or one that is to be made")
      }
      text = try Self.content(of: file)
      if text?.utf8.count ?? 0 > Self.longest {
        throw UsageError("'\(file)' is longer than any cursor that is read; name another file")
      }
    }
    hasEarlierOutput = file != nil && text != nil
    guard let text else {
      start = LogReader.Cursor()
      return
    }
    guard let cursor = LogReader.Cursor(text) else {
      let place = file.map { "'\($0)' has" } ?? "--after has"
      throw UsageError("\(place) no cursor in it; without it, everything is read from the start")
    }
    start = cursor
    if hasEarlierOutput, arguments.isWritingToFile, !arguments.isSet(.splitBy),
      let (parent, name) = arguments.value(of: .output)?.splitAtLastSlash
    {
      try Self.check(name, hasNoEarlierOutputIn: Directory.open(parent))
    }
  }

  /// Throws if a file that is to be written has records: the cursor is already behind them, and
  /// nothing would print them again.
  static func check(_ name: String, hasNoEarlierOutputIn directory: borrowing Directory) throws {
    guard let status = try directory.status(of: name), status.isRegularFile, status.size > 0
    else { return }
    throw UsageError(
      "'\(directory.path(of: name))' would be replaced, and it may have what was printed the last "
        + "time; use >> FILE, or another name")
  }

  /// The text in a file; nil if there is none.
  private static func content(of path: String) throws(SystemError) -> String? {
    let file: File
    do throws(SystemError) {
      file = try File.openFollowingLinks(path)
    } catch  where error.isNotFound {
      return nil
    }
    let bytes = try file.bytes(at: 0, count: longest + 1)
    return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// A cursor has some 60 bytes for each session.
  private static let longest = 64 << 20

  /// Keeps the position behind what was printed, once the output is safe.
  func keep(_ cursor: LogReader.Cursor, _ output: StandardOutput) throws {
    if isShown {
      try output.append("-- cursor: \(cursor)\n")
      try output.flush()
    }
    guard let file else { return }
    let (parent, name) = file.splitAtLastSlash
    let directory = try Directory.open(parent)
    let unfinished = try UnfinishedFile(name, in: directory)
    defer { unfinished.discard(in: directory) }
    let opened = try unfinished.open(in: directory)
    try Array("\(cursor)\n".utf8).withUnsafeBytes { try opened.writeFully($0) }
    try opened.syncData()
    try unfinished.finish(in: directory)
    try directory.sync()
  }
}

extension Option {
  static let afterCursor = Option(
    "after", value: "CURSOR",
    "Only records that were archived after a cursor, in the order in which they were archived.")
  static let cursorFile = Option(
    "cursor-file", value: "FILE",
    """
    Begin after the cursor in FILE, if FILE exists, and write the next cursor into FILE when all \
    records are printed. A record that only a ring has is printed after it is archived (mmlogctl \
    flush).
    """)
  static let showCursor = Option(
    "show-cursor", "Print the cursor after all records in a last line: '-- cursor: CURSOR'.")
}
