import CommandLineTool
import LogCommands
import MMLogReader
import MMLogSystem

/// Files in a directory: one for each session, label or hour, each with the records of that
/// session, label or hour.
///
/// The files get their names only when all of them are complete.
final class SplitOutput: ItemSink {
  /// The maximum number of files: more are taken for a mistake.
  static let maximumFiles = 4096

  /// How many bytes of all files together are collected before they are written.
  private static let capacity = 8 << 20

  private let directory: Directory
  private let places: InputPaths
  private let replaces: Bool
  private var key: SplitKey
  private let suffix: String
  private let makeFormatter: () -> any LogFormatter
  private var parts: [Bytewise: Part] = [:]
  private var names: Set<String> = []
  private var last: (key: Bytewise, part: Part)?
  private var waiting = 0
  /// How many times records did not follow those before.
  private var separations = 0

  private final class Part {
    let file: UnfinishedFile
    var formatter: any LogFormatter
    var buffer = TextBuffer()
    /// The separations before the last record.
    var separations: Int

    init(_ file: UnfinishedFile, _ formatter: any LogFormatter, _ separations: Int) {
      (self.file, self.formatter, self.separations) = (file, formatter, separations)
    }
  }

  /// - Parameters:
  ///   - places: The inputs, which must not be overwritten.
  ///   - replaces: Whether a file may replace one that is not empty.
  /// - Throws: if the directory can neither be made nor opened.
  init(
    _ path: String, by key: SplitKey, suffix: String, besides places: InputPaths,
    replaces: Bool, _ formatter: @escaping () -> any LogFormatter
  ) throws {
    (self.places, self.replaces) = (places, replaces)
    try Directory.create(path, mode: 0o777)
    directory = try Directory.open(path)
    self.key = key
    self.suffix = suffix
    makeFormatter = formatter
    Interruption.watch()
  }

  deinit { discard() }

  var hasReader: Bool { !Interruption.isRequested }

  func take(_ item: LogReader.Item) throws {
    guard case .record(let record) = item else { return }
    let part = try part(Bytewise(key.text(of: record)))
    let before = part.buffer.count
    if part.separations != separations {
      part.formatter.appendSeparator(to: &part.buffer)
      part.separations = separations
    }
    part.formatter.append(record, to: &part.buffer)
    waiting += part.buffer.count - before
    if waiting >= Self.capacity { try writeAll() }
  }

  func separate() throws { separations += 1 }

  func finish() throws {
    if Interruption.isRequested {
      discard()
      Interruption.end()
    }
    for part in parts.values { part.formatter.end(&part.buffer) }
    try writeAll()
    for (_, part) in parts.sorted(by: { $0.key < $1.key }) {
      try part.file.finish(in: directory)
    }
  }

  func sync() throws {
    for part in parts.values { try part.file.open(in: directory).syncData() }
    try directory.sync()
  }

  private func part(_ key: Bytewise) throws -> Part {
    if let last, last.key == key { return last.part }
    let part = try parts[key] ?? newPart(key)
    last = (key, part)
    return part
  }

  private func newPart(_ key: Bytewise) throws -> Part {
    guard parts.count < Self.maximumFiles else {
      throw UsageError(
        "there would be more than \(Self.maximumFiles) files; select fewer records, or split by "
          + "something else")
    }
    let name = name(of: key.text) + suffix
    try places.check(name, in: directory)
    if !replaces { try CursorChoice.check(name, hasNoEarlierOutputIn: directory) }
    let path = directory.path(of: name)
    guard case .regular = try NamedFile(name, in: directory, path) else {
      throw UsageError("'\(path)' is no regular file; name another directory")
    }
    let part = Part(try UnfinishedFile(name, in: directory), makeFormatter(), separations)
    part.formatter.begin(&part.buffer)
    parts[key] = part
    return part
  }

  /// The name for a key, which differs from the names of all other keys.
  private func name(of key: String) -> String {
    let name = fileName(of: key)
    var (unique, number) = (name, 1)
    while !names.insert(unique).inserted {
      number += 1
      // No other name has this character.
      unique = "\(name)~\(number)"
    }
    return unique
  }

  private func writeAll() throws {
    for part in parts.values where !part.buffer.isEmpty {
      let file = try part.file.open(in: directory)
      try part.buffer.withUnsafeBytes { try file.writeFully($0) }
      try file.close()
      part.buffer.removeAll(keeping: 4096)
    }
    waiting = 0
  }

  private func discard() {
    for part in parts.values { part.file.discard(in: directory) }
    parts = [:]
  }
}

/// How records are distributed among files.
enum SplitKey {
  case session
  case label
  case hour(TimeFormatter)

  /// Reads the option's value.
  init(_ name: String, _ zone: LogTimeZone) {
    switch name {
    case "session": self = .session
    case "label": self = .label
    default: self = .hour(TimeFormatter(zone))
    }
  }

  /// The text that all records of a file have in common.
  mutating func text(of record: LogReader.Record) -> String {
    switch self {
    case .session: return record.session.id.description
    case .label: return record.label
    case .hour(var hour):
      let name = hour.hour(of: record.time)
      self = .hour(hour)
      return name
    }
  }
}

private let noLabel = "no-label"
/// File systems allow 255 bytes. A suffix and a number need some of them.
private let longestName = 180

/// The name of a file, made of text that was logged.
///
/// Letters, digits, `-`, `_` and `.` stay as they are. Anything else is in hexadecimal, as is a
/// first `-` or `.`. Thus no name leads out of the directory, is hidden, is taken for an option, or
/// affects a terminal. A text that is too long is cut.
private func fileName(of text: String) -> String {
  if text.isEmpty { return noLabel }
  var name = ""
  for (index, byte) in text.utf8.enumerated() {
    let isFirst = index == 0 && (text == noLabel || byte == 0x2D || byte == 0x2E)
    let next = isFirst || !isPlain(byte) ? hexadecimal(byte) : String(UnicodeScalar(byte))
    if name.utf8.count + next.utf8.count > longestName { break }
    name += next
  }
  return name
}

private func isPlain(_ byte: UInt8) -> Bool {
  switch UnicodeScalar(byte) {
  case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": true
  default: false
  }
}

private func hexadecimal(_ byte: UInt8) -> String {
  "%" + byte.allHexDigits.uppercased()
}
