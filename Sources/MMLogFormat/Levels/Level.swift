/// How much a record matters. The names and their order are those of swift-log.
///
/// The raw value is what stands on disk.
@frozen
public enum Level: UInt8, CaseIterable, Comparable, Sendable, CustomStringConvertible {
  /// Steps of the program, for tracing it.
  case trace
  /// What helps in debugging.
  case debug
  /// What is worth knowing.
  case info
  /// Not an error, but may need attention.
  case notice
  /// Not an error yet.
  case warning
  /// Something failed.
  case error
  /// The service needs help now.
  case critical
  /// Above all levels: as the lowest level, it lets no record pass. No record has this level: what
  /// is logged at it is not recorded.
  case off

  /// What other libraries call ``warning``.
  @available(*, unavailable, renamed: "warning")
  public static var warn: Level { .warning }

  /// The levels that a record can have, from the least important on: all but ``off``.
  public static let allCases: [Level] = [
    .trace, .debug, .info, .notice, .warning, .error, .critical,
  ]

  /// Orders levels by how much they matter: `trace` is the least.
  @inlinable public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }

  /// The level's name in lower case, as on command lines and in JSON.
  public var description: String { name.description }

  /// The same as ``description``, without reference counting.
  package var name: StaticString {
    switch self {
    case .trace: "trace"
    case .debug: "debug"
    case .info: "info"
    case .notice: "notice"
    case .warning: "warning"
    case .error: "error"
    case .critical: "critical"
    case .off: "off"
    }
  }

  /// OpenTelemetry's number for the level: the first number of TRACE, DEBUG, INFO, WARN, ERROR,
  /// FATAL; INFO2 for `notice`.
  package var severityNumber: Int {
    switch self {
    case .trace: 1
    case .debug: 5
    case .info: 9
    case .notice: 10
    case .warning: 13
    case .error: 17
    case .critical, .off: 21
    }
  }

  /// Makes the level with a name, in upper or lower case; nil if no level has it.
  ///
  /// - Parameter name: One of the names that ``description`` gives.
  public init?(name: some StringProtocol) {
    let lower = name.lowercased()
    let levels = Level.allCases + [.off]
    guard let level = levels.first(where: { $0.description == lower }) else { return nil }
    self = level
  }

  /// The level of a record that a byte from a file stands for; a byte out of range stands for the
  /// highest.
  package init(fromFile byte: UInt8) { self = min(Level(rawValue: byte) ?? .critical, .critical) }
}
