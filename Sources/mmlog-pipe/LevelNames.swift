import MMLog
import MMLogReader

/// Levels by the names that loggers write, compared as bytes: no text is made for a line.
struct LevelNames {
  /// No name has more bytes.
  static let longest = 16

  /// A name of at most 16 bytes in lower case.
  private struct Key: Hashable {
    var bytes = SIMD16<UInt8>(repeating: 0)

    /// Nil if the name is longer, or has a byte that is no letter.
    init?(_ name: some Collection<UInt8>) {
      guard name.count <= LevelNames.longest else { return nil }
      for (index, byte) in name.enumerated() {
        guard byte.isLetter else { return nil }
        bytes[index] = byte | 0x20
      }
    }
  }

  private let levels: [Key: Level]

  init() {
    var levels: [Key: Level] = [:]
    // "all" is only for thresholds; in a line, it is a usual word.
    for (name, level) in Level.usualNames where name != "all" {
      if let key = Key(name.utf8) { levels[key] = level }
    }
    self.levels = levels
  }

  subscript(_ name: some Collection<UInt8>) -> Level? { Key(name).flatMap { levels[$0] } }
}

extension Level {
  /// A severity of syslog (RFC 5424), 0 to 7.
  init?(severity: Int) {
    guard 0...7 ~= severity else { return nil }
    self = [.critical, .critical, .critical, .error, .warning, .notice, .info, .debug][severity]
  }

  /// A number that stands for a level in JSON: a severity of syslog below 8, and above that a level
  /// of bunyan and pino, 10 for trace and 60 for fatal. A greater number is no level.
  init?(number: Int) {
    switch number {
    case ..<8: self.init(severity: number)
    case ..<20: self = .trace
    case ..<30: self = .debug
    case ..<40: self = .info
    case ..<50: self = .warning
    case ..<60: self = .error
    case 60: self = .critical
    default: return nil
    }
  }
}

extension UInt8 {
  /// Whether it is an ASCII letter.
  var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }

  /// Whether it is an ASCII letter, a digit or an underscore.
  var isWordByte: Bool {
    isLetter || UInt8(ascii: "0")...UInt8(ascii: "9") ~= self || self == UInt8(ascii: "_")
  }
}
