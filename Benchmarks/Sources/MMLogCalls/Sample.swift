import Glibc

/// The values that go into messages.
///
/// Proof of `@unchecked Sendable`: the C strings are constant and never freed.
public struct Sample: @unchecked Sendable {
  /// The text of most messages.
  public let user = "trader-17"
  /// 100 bytes.
  public let text = String(repeating: "0123456789", count: 10)
  /// ``user`` for C, ready: converting is not what is measured.
  public let cUser: UnsafePointer<CChar>
  /// ``text`` for C.
  public let cText: UnsafePointer<CChar>
  /// Bytes in ``user``.
  public static let userLength = 9
  /// Bytes in ``text``.
  public static let textLength = 100
  /// How many call sites there are in the workload of that name.
  public static let siteCount = 20

  /// Makes the strings.
  public init() {
    cUser = Self.copy(user)
    cText = Self.copy(text)
  }

  private static func copy(_ text: String) -> UnsafePointer<CChar> {
    guard let copy = strdup(text) else { preconditionFailure("no memory") }
    return UnsafePointer(copy)
  }

  /// The order message's floating-point number.
  @inlinable @inline(__always)
  public static func elapsed(_ index: Int) -> Double { Double(index) * 0.25 }

  /// The order message's second integer.
  @inlinable @inline(__always)
  public static func quantity(_ index: Int) -> Int { index & 127 }
}
