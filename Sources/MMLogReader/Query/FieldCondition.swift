import MMLogFormat

/// What the fields of a record have to be, such as `user == 42 && elapsed_ms > 10`.
///
/// ```
/// condition  = and { "||" and }
/// and        = term { "&&" term }
/// term       = "!" term | "(" condition ")" | NAME | NAME operator value
///            | NAME "in" "(" value { "," value } ")"
/// operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
/// value      = number | "text" | 'text' | true | false | nil | LEVEL
/// ```
///
/// - A **NAME** is that of a named argument or of metadata. Where it has others than letters,
///   digits, `_`, `-` and `.`, it stands in quotes. `request.path` is the field of that name, or
///   `path` in the dictionary `request`.
/// - `@level`, `@label`, `@message`, `@thread` (its name), `@threadID`, `@file`, `@line` and
///   `@function` stand for the record's own; `@span` for the span that it begins, ends or belongs
///   to, in 16 hexadecimal digits, as a text: `@span == "3f0e5a7c00400004"`; `@trace` for the trace
///   that it belongs to, in 32. Other records have none. A LEVEL is for `@level` alone: `@level >=
///   warning`.
/// - Alone, a name is true if the record has the field, and it is neither `false` nor nil.
/// - A comparison with a field that the record does not have is false, `!=` too. Of fields with the
///   same name, one has to fit.
/// - Compared with a number, a text that is one counts as that number. Compared with a text, any
///   value counts as the text that it is shown as; `<` compares byte by byte.
/// - `~` searches for a regular expression (see ``TextPattern``), `!~` is true where it is not
///   found.
/// - In quotes, a backslash before a quote or a backslash stands for that.
///
/// Any thread.
public struct FieldCondition: Sendable, CustomStringConvertible {
  /// As it was written.
  public let description: String
  let root: Node
  /// The fields that have to be among a record's for it to match, whatever their values.
  let required: [String]

  /// The names of all fields that it asks for, each as it was written.
  package var fieldNames: [String] { root.fieldNames }

  /// Why a text is no condition.
  public struct Invalid: Error, CustomStringConvertible, Sendable {
    /// One sentence without its end: what is wrong, where, and what would be right.
    public let description: String
  }

  /// Reads a condition.
  ///
  /// - Throws: what is wrong with it.
  public init(_ text: String) throws(Invalid) {
    description = text
    var parser = FieldConditionParser(text)
    root = try parser.parse()
    required = root.required
  }

  /// A condition taken apart.
  indirect enum Node: Sendable {
    case any([Node])
    case all([Node])
    case not(Node)
    case exists(Field)
    case compare(Field, Comparison, Operand)
    case find(Field, TextPattern, isNot: Bool)

    var fieldNames: [String] {
      switch self {
      case .any(let nodes), .all(let nodes): nodes.flatMap(\.fieldNames)
      case .not(let node): node.fieldNames
      case .exists(.named(let name, _)), .compare(.named(let name, _), _, _),
        .find(.named(let name, _), _, _):
        [name]
      case .exists, .compare, .find: []
      }
    }

    /// Fields without which it is false.
    var required: [String] {
      switch self {
      case .all(let nodes): nodes.flatMap(\.required)
      case .any(let nodes): nodes.count == 1 ? nodes[0].required : []
      case .not: []
      case .exists(.named(let name, _)), .compare(.named(let name, _), _, _),
        .find(.named(let name, _), _, _):
        [name]
      case .exists, .compare, .find: []
      }
    }
  }

  enum Field: Sendable, Hashable {
    /// A field by its name, and by the parts of that between dots.
    case named(String, path: [String])
    case record(RecordField)
  }

  enum RecordField: String, CaseIterable, Sendable {
    case level, label, message, thread, threadID, file, line, function, span, trace
  }

  enum Comparison: String, CaseIterable, Sendable {
    case equal = "=="
    case unequal = "!="
    case atMost = "<="
    case atLeast = ">="
    case less = "<"
    case greater = ">"

    /// - Parameter order: −1, 0, 1; nil for what cannot be compared.
    func holds(_ order: Int?) -> Bool {
      guard let order else { return self == .unequal }
      return switch self {
      case .equal: order == 0
      case .unequal: order != 0
      case .atMost: order <= 0
      case .atLeast: order >= 0
      case .less: order < 0
      case .greater: order > 0
      }
    }
  }

  enum Operand: Sendable, Hashable {
    case whole(Int128)
    case real(Double)
    case text([UInt8])
    case bool(Bool)
    case null
    case level(Level)
  }
}
