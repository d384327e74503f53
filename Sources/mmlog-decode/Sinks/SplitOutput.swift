import CommandLineTool
import MMLogReader
import MMLogSystem

/// Files in a directory: one for each session, label or hour, each with the records that belong there.
///
/// They have their names only once all is written.
final class SplitOutput: ItemSink {
  /// More are taken for a mistake.
  static let mostFiles = 4096

  /// Bytes of all files together that are collected before they are written.
  private static let capacity = 8 << 20

  private let directory: Directory
  private var key: SplitKey
  private let suffix: String
  private let makeFormatter: () -> any LogFormatter
  private var parts: [String: Part] = [:]
  private var last: (name: String, part: Part)?
  private var waiting = 0

  private final class Part {
    let file: UnfinishedFile
    var formatter: any LogFormatter
    var buffer = TextBuffer()

    init(_ file: UnfinishedFile, _ formatter: any LogFormatter) {
      (self.file, self.formatter) = (file, formatter)
    }
  }

  /// - Throws: if the directory can neither be made nor opened.
  init(
    _ path: String, by key: SplitKey, suffix: String, _ formatter: @escaping () -> any LogFormatter
  ) throws {
    try Directory.create(path, mode: 0o777)
    directory = try Directory.open(path)
    self.key = key
    self.suffix = suffix
    makeFormatter = formatter
    Interruption.watch()
  }

  deinit { discard() }

  var hasReader: Bool { !Interruption.isRequested }

  func take(_ item: LogItem) throws {
    guard case .record(let record) = item else { return }
    let part = try part(named: key.name(of: record))
    let before = part.buffer.count
    part.formatter.append(record, to: &part.buffer)
    waiting += part.buffer.count - before
    if waiting >= Self.capacity { try writeAll() }
  }

  func finish() throws {
    if Interruption.isRequested {
      discard()
      Interruption.end()
    }
    for part in parts.values { part.formatter.end(&part.buffer) }
    try writeAll()
    for (name, part) in parts.sorted(by: { $0.key < $1.key }) {
      try part.file.finish(in: directory)
      parts[name] = nil
    }
  }

  private func part(named name: String) throws -> Part {
    if let last, last.name == name { return last.part }
    let part = try parts[name] ?? newPart(name)
    last = (name, part)
    return part
  }

  private func newPart(_ name: String) throws -> Part {
    guard parts.count < Self.mostFiles else {
      throw UsageError(
        "there would be more than \(Self.mostFiles) files; select fewer records, or split by "
          + "something else")
    }
    let part = Part(try UnfinishedFile(name + suffix, in: directory), makeFormatter())
    part.formatter.begin(&part.buffer)
    parts[name] = part
    return part
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

/// What records are told apart by.
enum SplitKey {
  case session
  case label
  case hour(RecordTime)

  /// The name of the file that a record belongs into, without what its format adds.
  mutating func name(of record: LogRecord) -> String {
    switch self {
    case .session: return record.session.id.description
    case .label: return fileName(record.label)
    case .hour(var hour):
      let name = hour.hour(of: record.time)
      self = .hour(hour)
      return name
    }
  }

  /// Letters, digits, `-`, `_` and `.` as they are, anything else in hexadecimal: nothing leads out of the
  /// directory, hides, or reaches a terminal.
  private func fileName(_ label: String) -> String {
    if label.isEmpty { return "no-label" }
    var name = ""
    for (index, byte) in label.utf8.enumerated() {
      let scalar = UnicodeScalar(byte)
      let isPlain = byte < 0x80 && (scalar.properties.isAlphabetic || (48...57).contains(byte))
      if isPlain || byte == 0x2D || byte == 0x5F || (byte == 0x2E && index > 0) {
        name.unicodeScalars.append(scalar)
      } else {
        name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    // File systems take 255 bytes. Labels that begin alike come together.
    return String(name.prefix(180))
  }
}
