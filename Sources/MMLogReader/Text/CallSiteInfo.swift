package import MMLogFormat
import MMLogSystem

/// A call site, prepared once to show many records.
package final class CallSiteInfo: Sendable {
  package let file: String
  package let function: String
  package let line: Int
  package let parts: [CallSite.Part]
  let hasNames: Bool
  /// Whether the message has text of its own.
  package let hasText: Bool
  /// The message with `{}` or `{name}` where its arguments belong.
  package let template: String
  /// The name of spans that begin here: the template, or the function's name if the template has no
  /// text of its own.
  let spanName: String
  /// The same parts, prepared for output.
  let message: MessagePlan

  init(_ site: CallSite) {
    file = site.file
    function = site.function
    line = Int(site.line)
    parts = site.parts
    hasNames = parts.contains {
      if case .argument(let argument) = $0 { !argument.name.isEmpty } else { false }
    }
    template = parts.map { part in
      switch part {
      case .literal(let text): text
      case .argument(let argument): "{\(argument.name)}"
      }
    }.joined()
    hasText = parts.contains { if case .literal = $0 { true } else { false } }
    spanName = hasText ? template : function
    message = MessagePlan(site)
  }
}

extension CallSite.Argument {
  var style: ValueStyle { ValueStyle(format, width: width) }
}

/// How a value is shown: a format word of a call site, taken apart (FORMAT.md, 6).
struct ValueStyle: BitwiseCopyable, Sendable {
  let base: UInt8
  /// Nil if the format asks for none of C's.
  let float: FloatText?
  let precision: Int
  let showsSign: Bool
  let showsPrefix: Bool
  let isUpperCase: Bool
  let minimumDigits: Int
  /// Bits of the integer; 0 if not known.
  let width: Int
  /// Whether the style changes nothing.
  let isPlain: Bool

  /// About how many bytes a number has at least in this style.
  var textSize: Int { max(minimumDigits, float == nil ? 0 : precision) }

  /// The usual style.
  static let plain = ValueStyle(0, width: 0)

  init(_ word: UInt64, width: UInt8) {
    let style = UInt8(truncatingIfNeeded: word)
    base = [2: 16, 3: 8, 4: 2][style] ?? 10
    float = [5: .fixed, 6: .exponential, 7: .hybrid][style]
    let digits = UInt8(truncatingIfNeeded: word >> 8)
    precision = digits == 255 ? 6 : Int(digits)
    showsSign = word >> 16 & 1 != 0
    showsPrefix = word >> 17 & 1 != 0
    isUpperCase = word >> 18 & 1 != 0
    minimumDigits = Int(UInt8(truncatingIfNeeded: word >> 24))
    self.width = Int(width)
    isPlain =
      base == 10 && float == nil && !showsSign && !showsPrefix && !isUpperCase && minimumDigits <= 1
  }
}

/// The minimum width of an argument, and where the spaces go.
struct Alignment: BitwiseCopyable, Sendable {
  enum Side: UInt8, Sendable {
    case none
    case left
    case right
  }

  let side: Side
  let columns: Int

  /// More than any terminal has, and little enough if a file is forged.
  static let maximum = 1 << 16

  init(_ word: UInt64) {
    side = Side(rawValue: UInt8(truncatingIfNeeded: word)) ?? .none
    columns = min(Int(word >> 8 & 0xFF_FFFF), Self.maximum)
  }
}
