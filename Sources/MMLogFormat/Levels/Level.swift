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

  /// Orders levels by how much they matter: `trace` is the least.
  @inlinable public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }

  /// The level's name in lower case, as on command lines and in JSON.
  public var description: String {
    switch self {
    case .trace: "trace"
    case .debug: "debug"
    case .info: "info"
    case .notice: "notice"
    case .warning: "warning"
    case .error: "error"
    case .critical: "critical"
    }
  }

  /// The level of that name in any case, or nil.
  ///
  /// - Parameter name: One of the names that ``description`` gives.
  public init?(name: some StringProtocol) {
    let lower = name.lowercased()
    guard let level = Level.allCases.first(where: { $0.description == lower }) else { return nil }
    self = level
  }

  /// The level that a byte from a file stands for; a byte out of range stands for the highest.
  package init(fromFile byte: UInt8) { self = Level(rawValue: byte) ?? .critical }
}
