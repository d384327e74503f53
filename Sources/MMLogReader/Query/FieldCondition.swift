import MMLogFormat

/// What the fields of a record have to be, such as `user == 42 && elapsed_ms > 10`.
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
/// - A **NAME** is that of a named argument or of metadata. Where it has others than letters,
///   digits, `_`, `-` and `.`, it stands in quotes. `request.path` is the field of that name, or
///   `path` in the dictionary `request`.
/// - `@level`, `@label`, `@message`, `@time`, `@thread`, `@file`, `@line`, `@function`, `@process`
///   and `@session` stand for the record's own; `@span` for the span that it begins, ends or
///   belongs to, `@trace` for its trace; `@span_name` for the name of the span that it begins or
///   ends, and `@duration` for how long the one took that it ends. Other records have none of these
///   four. Texts of these need no quotes where they are one word.
/// - `@level` is compared with a level as people call it: `@level >= warn`. `@time` with a time, as
///   `'15:00'`, `15m` (ago) or `2026-11-21T09:00:00Z`. `@duration` with a duration. `@thread` and
///   `@process` are the name, and the id where they are compared with a number (`@threadID` and
///   `@processID` always are). `@session` is how the session's id begins.
/// - A duration is a number with `ns`, `us`, `ms`, `s`, `min`, `h`, `d` or `w`; a size one with
///   `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000) or `KiB`, `MiB`, `GiB`, `TiB` (of 1024). A
///   field's name says at its end which unit its values have: `elapsed_ms > 1.5s`,
///   `waitedSeconds`; without, a size is in bytes, and a duration is refused. `min` at the end of a
///   name is no unit, but a minimum: `waited_minutes` has one.
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
    /// What was written in place of one of some names; nil if it is something else that is wrong.
    package var unknown: (word: String, names: [String])?
  }

  /// Reads a condition.
  ///
  /// - Parameters:
  ///   - text: The condition.
  ///   - zone: In which zone the times are that it names.
  /// - Throws: what is wrong with it.
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

  package enum RecordField: String, CaseIterable, Sendable {
    case level, label, message, time, thread, threadID, process, processID, session, file, line
    case function, span, trace, duration
    case spanName = "span_name"

    /// As it is written.
    package var name: String { "@\(rawValue)" }

    /// Whether it has a text that an expression may be searched for in.
    var isText: Bool {
      switch self {
      case .level, .time, .duration, .threadID, .processID, .line: false
      case .label, .message, .thread, .process, .session, .file, .function, .span, .trace: true
      case .spanName: true
      }
    }

    /// What it is where it is compared with a number.
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
    /// How a text begins.
    case beginning([UInt8])
    case bool(Bool)
    case null
    case level(Level)
  }
}
