import MMLogDestinations
import MMLogFormat
import MMLogSystem

/// A configuration file: sections of settings, as systemd and git have them.
///
///     [destination collector]
///     url = otlp+https://collector:4318
///     token-file = /etc/mmlog/token
///
///     [directory /var/log/orders]
///     to = collector
struct ConfigurationFile {
  /// A setting, and where it stands.
  struct Entry {
    let name: String
    let value: String
    let place: Place
  }

  /// A line and a column, both from 1.
  struct Place {
    let path: String
    let line: Int
    let column: Int

    func error(_ sentence: String) -> SettingError {
      SettingError("\(path):\(line):\(column): \(sentence)")
    }
  }

  /// What stands below `[KIND NAME]`.
  struct Section {
    let kind: String
    let name: String
    let place: Place
    var entries: [Entry] = []
  }

  private(set) var sections: [Section] = []
  private static let maximum = 1 << 20

  /// Reads a file.
  ///
  /// - Throws: A sentence that begins with file, line and column.
  init(path: String) throws(SettingError) {
    let text: String
    do throws(SystemError) {
      text = try Secret.text(ofFile: path, maximum: Self.maximum)
    } catch {
      throw SettingError("cannot read the configuration file '\(path)': \(error)")
    }
    if text.utf8.count >= Self.maximum {
      throw SettingError("the configuration file '\(path)' is larger than 1 MiB")
    }
    try self.init(text: text, path: path)
  }

  /// Reads the text of a file.
  init(text: String, path: String) throws(SettingError) {
    // A line end of two characters is one `Character`.
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (index, line) in lines.enumerated() {
      guard let start = line.firstIndex(where: { !$0.isWhitespace }) else { continue }
      let content = line[start...]
      if content.first == "#" || content.first == ";" { continue }
      func place(_ position: Substring.Index) -> Place {
        let column = line.distance(from: line.startIndex, to: position) + 1
        return Place(path: path, line: index + 1, column: column)
      }
      if content.first == "[" {
        sections.append(try Self.section(content, place))
      } else {
        try add(content, place)
      }
    }
  }

  private static func section(
    _ content: Substring, _ place: (Substring.Index) -> Place
  ) throws(SettingError) -> Section {
    let trimmed = content.trimmed()
    guard trimmed.last == "]" else {
      throw place(trimmed.endIndex).error("']' is missing at the end of the section's name")
    }
    let words = trimmed.dropFirst().dropLast()
    let kind = words.prefix { !$0.isWhitespace }
    let name = words[kind.endIndex...].trimmed()
    guard kind == "destination" || kind == "directory" else {
      throw place(kind.startIndex).error(
        "there is no section '\(kind)'; there are [destination NAME] and [directory PATH]")
    }
    guard !name.isEmpty else {
      let what = kind == "destination" ? "a name" : "a path"
      throw place(kind.endIndex).error("\(what) is missing: write [\(kind) …]")
    }
    return Section(kind: String(kind), name: String(name), place: place(content.startIndex))
  }

  private mutating func add(
    _ content: Substring, _ place: (Substring.Index) -> Place
  ) throws(SettingError) {
    guard !sections.isEmpty else {
      throw place(content.startIndex).error(
        "a setting stands before the first section; begin with [destination NAME]")
    }
    guard let equals = content.firstIndex(of: "=") else {
      throw place(content.trimmed().endIndex).error("'=' is missing: write NAME = VALUE")
    }
    let name = content[..<equals].trimmed()
    guard !name.isEmpty else {
      throw place(equals).error("the setting's name is missing before '='")
    }
    let value = content[content.index(after: equals)...].trimmed()
    guard !value.isEmpty else {
      throw place(equals).error("'\(name)' has no value behind '='")
    }
    sections[sections.count - 1].entries.append(
      Entry(name: String(name), value: String(value), place: place(value.startIndex)))
  }
}
