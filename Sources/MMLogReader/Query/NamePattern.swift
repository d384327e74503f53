import MMLogFormat

/// A pattern of threads or processes: their number, or a pattern of their name.
///
/// Any thread.
public struct NamePattern: Hashable, Sendable, CustomStringConvertible {
  /// The pattern as it was written.
  public let description: String
  private let number: UInt32?
  private let name: Glob

  /// Reads `4711`, or a name in which `*` stands for any bytes and `?` for one byte.
  public init(_ text: String) {
    description = text
    number = UInt32(text)
    name = Glob(text)
  }

  func matches(number: UInt32, name: String) -> Bool {
    self.number == number || self.name.matches(name)
  }
}
