import MMLogFormat
import TestSupport

/// The parts of a log statement together with the words of one record's values.
struct GoldenMessage {
  var messageParts: [CallSite.Part] = []
  var words: [UInt64] = []

  init(_ parts: Part...) { self.init(parts) }

  init(_ parts: [Part]) {
    for part in parts {
      messageParts.append(part.messagePart)
      words += part.words
    }
  }

  /// A literal, or an argument with its value.
  struct Part: ExpressibleByStringLiteral {
    let messagePart: CallSite.Part
    let words: [UInt64]

    init(stringLiteral text: String) { (messagePart, words) = (.literal(text), []) }

    init(
      _ value: Value, width: UInt8 = 0, format: UInt64 = 0, align: UInt64 = 0, name: String = "",
      privacy: PrivacyCode = .public
    ) {
      messagePart = .argument(
        .init(
          type: value.type, privacy: privacy.rawValue, width: width, format: format,
          alignment: align, name: name))
      words = ValueWords.argument(value)
    }

    /// An optional argument: nil, or a value of the type.
    init(optional value: Value?, _ type: ValueType, name: String = "") {
      messagePart = .argument(type: type, optional: true, name: name)
      words = value.map { [1] + ValueWords.argument($0) } ?? [0]
    }
  }

  /// The given values with a bar between them.
  static func barred(_ parts: [Part]) -> GoldenMessage {
    GoldenMessage(Array(parts.map { [$0] }.joined(separator: ["|"])))
  }
}

/// A format word, by FORMAT.md, 6.
private func format(
  _ style: UInt64, _ precision: UInt64 = 255, sign: Bool = false, prefix: Bool = false,
  upper: Bool = false, minimum: UInt64 = 0
) -> UInt64 {
  style | precision << 8 | (sign ? 1 << 16 : 0) | (prefix ? 1 << 17 : 0) | (upper ? 1 << 18 : 0)
    | minimum << 24
}

extension GoldenMessage {
  static let started = GoldenMessage("started")

  static let everyType = GoldenMessage(
    "int ", Part(.int(-5), width: 64, name: "int"), " uint ",
    Part(.uint(.max), width: 64, name: "uint"), " double ", Part(.double(0.1), name: "double"),
    " float ", Part(.float(0.1), name: "float"), " bool ", Part(.bool(true), name: "bool"),
    " string ", Part(.text("é😀\0\n\u{1b}"), name: "string"), " bytes ",
    Part(.bytes([0, 0xFF, 0x41]), name: "bytes"), " int128 ",
    Part(.int128(.min), width: 128, name: "int128"), " uint128 ",
    Part(.uint128(.max), width: 128, name: "uint128"), " private ",
    Part(.redacted, name: "private", privacy: .private), " hash ",
    Part(.hash(0x0123_4567_89AB_CDEF), name: "hash", privacy: .hash), " null ",
    Part(.null, name: "null"), " array ", Part(nested, name: "array"), " dictionary ",
    Part(.dictionary([("a", .bool(false)), ("a", .uint(7))]), name: "dictionary"), " empty ",
    Part(.array([])), Part(.dictionary([])), Part(.text("")), Part(.bytes([])))

  private static let nested = Value.array([
    .int(1), .text("b"), .array([.null]), .dictionary([("k", .double(-0.0)), ("", .array([]))]),
    .float(1.5), .int128(-1), .uint128(1), .bytes([0x7A]), .hash(1), .redacted, .bool(true),
  ])

  static let optionals = GoldenMessage.barred([
    Part(optional: nil, .int, name: "none"), Part(optional: .int(3), .int, name: "some"),
    Part(optional: nil, .double), Part(optional: .double(0.5), .double),
    Part(optional: nil, .string), Part(optional: .text("text"), .string, name: "text"),
    Part(optional: .bool(false), .bool), Part(optional: .uint128(5), .uint128),
    Part(optional: .float(.nan), .float), Part(optional: .uint(9), .uint),
    Part(optional: .int128(-9), .int128), Part(optional: .bytes([0x62]), .bytes),
    Part(optional: .array([.int(1)]), .array), Part(optional: nil, .dictionary),
  ])

  static let integers = GoldenMessage.barred([
    Part(.int(-1), width: 8, format: format(2, prefix: true, upper: true, minimum: 4)),
    Part(.int(255), width: 16, format: format(2)),
    Part(.uint(8), width: 64, format: format(3, prefix: true)),
    Part(.int(5), width: 64, format: format(4, minimum: 8)),
    Part(.int(-1), width: 32, format: format(3)),
    Part(.int(5), width: 64, format: format(1, sign: true)),
    Part(.int(-5), width: 64, format: format(1, sign: true, minimum: 3)),
    Part(.int(7), width: 8, format: format(2, sign: true, prefix: true)),
    Part(.int128(-1), width: 128, format: format(2)),
    Part(.uint(3), width: 8, format: format(5, 2)),
    Part(.int(-2), width: 0, format: format(2, prefix: true)),
    Part(.int(.min), width: 64), Part(.int(-3), width: 8, format: format(4, prefix: true)),
  ])

  static let floats = GoldenMessage.barred(
    ([
      0.1, 1, 100, 1e-4, 1e-5, 9_007_199_254_740_992, 9_007_199_254_740_994, 1.25e16, -0.0,
      .infinity, -.infinity, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -1.5e300,
    ] as [Double]).map { Part(.double($0)) }
      + ([0.1, 16_777_216, 16_777_218, 1e-4, 1e-5, 3.4e38, .leastNonzeroMagnitude] as [Float]).map {
        Part(.float($0))
      }
      + [
        Part(.double(2.5), format: format(5, 2)), Part(.double(0.5), format: format(5, 0)),
        Part(.double(1234.5), format: format(6, 3, upper: true)),
        Part(.double(1234.5), format: format(7)), Part(.double(1e20), format: format(7, 3)),
        Part(.double(2.5), format: format(5)), Part(.double(2.5), format: format(0, sign: true)),
        Part(.double(.infinity), format: format(5, sign: true)),
        Part(.double(.nan), format: format(6, sign: true)),
        Part(.double(-2.5), format: format(5, 1, sign: true)),
        Part(.double(1.5), format: format(2)), Part(.float(0.1), format: format(5, 10)),
        Part(.double(.infinity), format: format(6, upper: true)),
      ])

  static let alignments = GoldenMessage.barred([
    Part(.int(7), width: 64, align: 2 | 4 << 8), Part(.text("é"), align: 1 | 4 << 8),
    Part(.text("longer"), align: 2 | 4 << 8), Part(.bool(true), align: 1 | 6 << 8),
    Part(.text("none"), align: 9 << 8), Part(.text("e\u{301}"), align: 2 | 4 << 8),
  ])

  static let text = GoldenMessage(Part(.text("text"), name: "text"))
}

/// Whether a value may be read by everybody who reads the log. Raw values stand on disk.
enum PrivacyCode: UInt8 {
  case `public`
  case `private`
  case hash
  case sealed
}
