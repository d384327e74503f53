package import MMLogFormat

/// The names of a store's files: made and taken apart here only. See FORMAT.md, 9.
package enum FileNames {
  package static let ringSuffix = ".ring"
  package static let archiveSuffix = ".mmlog"
  /// Added to a ring's name until it is complete.
  package static let unfinishedSuffix = ".new"
  /// What the name of a store's settings ends in.
  private static let settingsSuffix = ".settings"
  /// Added to a ring's name when nothing of it can be recovered.
  package static let unreadableSuffix = ".unreadable"

  /// Whether a name is of the kind that a store's files have, also those beside rings and archives.
  package static func isOurs(_ name: String) -> Bool {
    let suffixes = [
      archiveSuffix, archiveSuffix + ArchiveInfo.State.sidecarSuffix, ringSuffix,
      ringSuffix + unfinishedSuffix, ringSuffix + unreadableSuffix, settingsSuffix,
    ]
    return name.hasPrefix(".mmlog") || ConsumerFile.consumer(ofFileName: name) != nil
      || suffixes.contains { name.hasSuffix($0) }
  }

  /// The name of the file that has a store's settings.
  package static func settings(of store: String) -> String { escaped(store) + settingsSuffix }

  /// The store whose archive or settings have a file name; nil if it is neither's.
  static func store(ofFileName name: String) -> String? {
    name.without(suffix: settingsSuffix).flatMap { unescaped($0[...]) }
      ?? Archive(fileName: name)?.store
  }

  /// A ring's file name, taken apart.
  package struct Ring: Hashable, Sendable {
    package var store: String
    package var session: SessionID

    package init(store: String, session: SessionID) {
      self.store = store
      self.session = session
    }

    package var fileName: String { "\(escaped(store)).\(session)\(ringSuffix)" }

    /// Takes a name apart, or gives nil if it is not a ring's.
    package init?(fileName: String) {
      guard fileName.hasSuffix(ringSuffix) else { return nil }
      // By bytes: a dot and what is before it may be one character.
      let stem = fileName.utf8.dropLast(ringSuffix.utf8.count)
      guard let dot = stem.lastIndex(of: UInt8(ascii: ".")), dot != stem.startIndex,
        let session = SessionID(Substring(stem[stem.index(after: dot)...])),
        let store = unescaped(Substring(stem[..<dot]))
      else { return nil }
      self.init(store: store, session: session)
    }
  }

  /// An archive's file name, taken apart.
  package struct Archive: Hashable, Sendable {
    package var store: String
    /// `YYYYMMDDThhmmssZ`.
    package var start: String
    package var session: SessionID
    package var number: UInt32

    package init(store: String, created: Timestamp, session: SessionID, number: UInt32) {
      self.store = store
      self.start = UTCTime(created).compact
      self.session = session
      self.number = number
    }

    package var fileName: String {
      let digits = String(number)
      let padding = String(repeating: "0", count: max(0, 6 - digits.count))
      return "\(escaped(store))-\(start)-\(session)-\(padding)\(digits)\(archiveSuffix)"
    }

    /// Takes a name apart, or gives nil if it is not an archive's.
    package init?(fileName: String) {
      guard fileName.hasSuffix(archiveSuffix) else { return nil }
      var rest = fileName.utf8.dropLast(archiveSuffix.utf8.count)
      let hyphen = rest.lastIndex(of: UInt8(ascii: "-"))
      let digits = hyphen.map { rest[rest.index(after: $0)...] } ?? rest
      // `-`, the time, `-`, the session, `-`, the number.
      guard digits.count >= 6, digits.allSatisfy({ (48...57).contains($0) }),
        let number = UInt32(Substring(digits)), rest.count > digits.count + 51
      else { return nil }
      rest = rest.dropLast(digits.count + 1)
      guard let session = SessionID(Substring(rest.suffix(32))),
        rest.dropLast(32).last == UInt8(ascii: "-")
      else { return nil }
      rest = rest.dropLast(33)
      let start = rest.suffix(16)
      guard start.last == UInt8(ascii: "Z"), rest.dropLast(16).last == UInt8(ascii: "-"),
        let store = unescaped(Substring(rest.dropLast(17)))
      else { return nil }
      (self.store, self.session, self.number) = (store, session, number)
      self.start = String(Substring(start))
    }
  }

  /// Why `name` cannot be a store's, in a few words, or nil if it can.
  package static func problem(withStoreName name: String) -> String? {
    if name.isEmpty { return "is empty" }
    if name.utf8.count > 100 { return "is longer than 100 bytes" }
    if name.utf8.contains(UInt8(ascii: "/")) { return "contains a slash" }
    if name.utf8.contains(0) { return "contains a zero byte" }
    return escaped(name).utf8.count > 160 ? "has too many characters that must be escaped" : nil
  }

  /// A store's name as file names have it: without control characters, which spoil listings, and
  /// without a dot at its beginning, which hides a file. Such bytes, and `%`, are written as `%`
  /// and two hexadecimal digits.
  package static func escaped(_ store: String) -> String {
    var result = ""
    for scalar in store.unicodeScalars {
      if scalar.isControl || scalar == "%" || (scalar == "." && result.isEmpty) {
        for byte in String(scalar).utf8 {
          result += "%" + byte.allHexDigits.uppercased()
        }
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The name of the folder that copies of a store's or a host's archives are in, at a receiver:
  /// as ``escaped(_:)`` has it, with `%2F` for slashes; `unknown` for an empty name. It is neither
  /// `.` nor `..`.
  package static func folder(_ name: String) -> String {
    if name.isEmpty { return "unknown" }
    // By bytes, as file systems find slashes: a slash and what is behind it may be one character.
    let slash = UInt8(ascii: "/")
    let parts = escaped(name).utf8.split(separator: slash, omittingEmptySubsequences: false)
    return parts.map { String(Substring($0)) }.joined(separator: "%2F")
  }

  /// The store's name for the form that names of files have; nil if the text is no such form.
  package static func unescaped(_ text: Substring) -> String? {
    if text.isEmpty { return nil }
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var (bytes, rest) = ([UInt8](), text.utf8)
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "%") {
        bytes.append(byte)
        continue
      }
      guard let code = UInt8(Substring(rest.prefix(2)), radix: 16) else { return nil }
      bytes.append(code)
      rest = rest.dropFirst(2)
    }
    guard let store = String(validating: bytes, as: UTF8.self), escaped(store) == text else {
      return nil
    }
    return store
  }
}

extension String {
  /// The text without a suffix; nil if it does not end with it.
  func without(suffix: String) -> String? {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : nil
  }

  /// Whether it has only letters of ASCII, digits, hyphens, underscores and dots.
  var isPlainName: Bool {
    utf8.allSatisfy { byte in
      (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }
  }
}

extension Unicode.Scalar {
  /// Whether it is a control character.
  var isControl: Bool { value < 32 || (127..<160).contains(value) }
}
