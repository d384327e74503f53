import MMLogFormat

/// A condition of the fields of a record, such as `user == 42 && elapsed_ms > 10`.
///
/// ```
/// condition  = and { "||" and }
/// and        = term { "&&" term }
/// term       = "!" term | "(" condition ")" | NAME | NAME operator value
///            | NAME "in" "(" value { "," value } ")"
/// operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
/// value      = number | duration | size | "text" | 'text' | true | false | nil
/// ```
///
/// - A **NAME** is that of a named argument or of metadata. A name with characters other than
///   letters, digits, `_`, `-` and `.` stands in quotes. `request.path` is the field of that name,
///   or `path` in the dictionary `request`.
/// - `@level`, `@label`, `@message`, `@time`, `@thread`, `@file`, `@line`, `@function`, `@process`
///   and `@session` stand for the record's own. `@span` stands for the span that the record begins,
///   ends or belongs to, and `@trace` for its trace. `@span_name` stands for the name of the span
///   that the record begins or ends, and `@duration` for the duration of the span that the record
///   ends. Other records have none of these four. A text that is compared with any of these needs
///   no quotes if it is one word.
/// - `@level` is compared with the usual name of a level: `@level >= warn`. `@time` is compared
///   with a time, such as `'15:00'`, `15m` (ago) or `2026-11-21T09:00:00Z`, and `@duration` with a
///   duration. `@thread` and `@process` are the name, or the id if they are compared with a number
///   (`@threadID` and `@processID` always are). `@session` is compared with the beginning of the
///   session's id.
/// - A duration is a number with `ns`, `us`, `ms`, `s`, `min`, `h`, `d` or `w`. A size is a number
///   with `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000) or `KiB`, `MiB`, `GiB`, `TiB` (of 1024). The
///   end of a field's name says which unit its values have: `elapsed_ms > 1.5s`, `waitedSeconds`.
///   If the name has no unit, a size is in bytes, and a duration is refused. `min` at the end of a
///   name is no unit, but a minimum; `waited_minutes` has a unit.
/// - A name alone is true if the record has the field, and its value is neither `false` nor nil.
/// - A comparison with a field that the record does not have is false, even with `!=`. If several
///   fields have the same name, one of them has to fit.
/// - Compared with a number, a text that is a number counts as that number. Compared with a text,
///   any value counts as the text that it is shown as; `<` compares byte by byte.
/// - `~` searches for a regular expression (see ``TextPattern``). `!~` is true if the expression is
///   not found.
/// - In quotes, a backslash stands before a quote or a backslash that stands for itself.
///
/// Any thread.
public struct FieldCondition: Sendable, CustomStringConvertible {
  /// The condition as it was written.
  public let description: String
  let root: Node
  /// The fields that a record must have to match, whatever their values are.
  let required: [String]

  /// The names of all fields in the condition, each as it was written.
  package var fieldNames: [String] { root.fieldNames }

  /// Why a text is no condition.
  public struct Invalid: Error, CustomStringConvertible, Sendable {
    /// One sentence without its end: what is wrong, where, and what would be right.
    public let description: String
    /// The word that was written in place of one of some names; nil if something else is wrong.
    package var unknown: (word: String, names: [String])?
  }

  /// Reads a condition.
  ///
  /// - Parameters:
  ///   - text: The condition.
  ///   - zone: The zone of the times in the condition.
  /// - Throws: what is wrong with the condition.
  public init(_ text: String, zone: LogTimeZone = .local) throws(Invalid) {
    description = text
    var parser = FieldConditionParser(text, zone)
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

    /// The fields without which the condition is false.
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
    /// A field by its name, and by the parts of the name between dots.
    case named(String, path: [String])
    case record(RecordField)
  }

  package enum RecordField: String, CaseIterable, Sendable {
    case level, label, message, time, thread, threadID, process, processID, session, file, line
    case function, span, trace, duration
    case spanName = "span_name"

    /// The field as it is written.
    package var name: String { "@\(rawValue)" }

    /// Whether the field has a text in which an expression may be searched for.
    var isText: Bool {
      switch self {
      case .level, .time, .duration, .threadID, .processID, .line: false
      case .label, .message, .thread, .process, .session, .file, .function, .span, .trace: true
      case .spanName: true
      }
    }

    /// The field that is meant in a comparison with a number.
    var byNumber: RecordField {
      switch self {
      case .thread: .threadID
      case .process: .processID
      default: self
      }
    }
  }

  enum Comparison: String, CaseIterable, Sendable {
    case equal = "=="
    case unequal = "!="
    case atMost = "<="
    case atLeast = ">="
    case less = "<"
    case greater = ">"

    /// - Parameter order: −1, 0, 1; nil for values that cannot be compared.
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
    /// The beginning of a text.
    case beginning([UInt8])
    case bool(Bool)
    case null
    case level(Level)
  }
}
