/// Decides what of an HTTP exchange must not be recorded: in the log call, before anything is
/// stored.
///
/// Values are found by their names: those of header fields, of a URL's query, of forms, of cookies
/// and of JSON. A ``Rule`` says what becomes of the values of some names; the newest rule for a
/// name counts. Names are compared as their readers decode them: percent-encoded, with escapes of
/// JSON, in any case, and with or without signs between words. Letters beyond ASCII are compared as
/// they are written, in lowercase, in capitals, or with a capital first. Each part between such
/// signs is compared, too, and so is each word that begins with a capital behind a lowercase letter
/// or a digit: `cvc` counts for `card[cvc]`, and `pass` for `db_pass` and `dbPass`. This does not
/// hold for rules that keep, nor for `key`, `auth` and `session` of the standard rules. The
/// standard rule `sid` does not count for words: `messageSid` is kept. The user information of URLs
/// is redacted whatever the rules are, but not that of URLs in texts of JSON.
///
/// ```swift
/// var options = HTTPLog.Options()
/// options.redactor = Redactor(rules: [.hash("*account*"), .keep("key"), .drop("x-trace")])
/// ```
///
/// ``standard`` is what an ``HTTPLog`` has by default. Not everything that is secret has a name: a
/// path, a host, a message or a method is recorded as it is, and so is a secret in a field that no
/// rule names. A rule for `*` before others turns that around: it redacts every value with a name
/// that none of the others keeps. ``unlistedHeaders`` does so for header fields alone, and
/// ``unlistedValues`` for values behind `=`; fields of JSON that no rule names are kept.
///
/// A value: its rules are compiled once, and shared by its copies. Any thread.
public struct Redactor: Sendable {
  /// What becomes of a value.
  public enum Action: Sendable {
    /// It is recorded as it is.
    case keep
    /// `REDACTED` stands in its place.
    case redact
    /// Nothing stands in its place: a header field is left out, and the value of a field of JSON is
    /// `null`.
    case drop
    /// A hash stands in its place, keyed with a secret of the process: see `Logger.Privacy.hash`.
    case hash
  }

  /// What becomes of the values of some names.
  public struct Rule: Sendable {
    /// The names: letters and digits, with a `*` at the beginning or end for anything; `*` alone is
    /// every name, and a `*` within does not count. If the rule does not keep, it counts for words
    /// of names, too.
    public var name: String
    /// What becomes of their values.
    public var action: Action
    /// What of a name the rule counts for, if it does not keep.
    fileprivate var scope = Scope.words

    /// Each scope includes those before it.
    fileprivate enum Scope { case wholeNames, parts, words }

    var countsForParts: Bool { action != .keep && scope != .wholeNames }
    var countsForWords: Bool { action != .keep && scope == .words }

    /// Makes a rule.
    ///
    /// - Parameters:
    ///   - name: The names: letters and digits, with a `*` at the beginning or end for anything.
    ///     Case and other signs do not count in it. `*` alone is every name.
    ///   - action: What becomes of their values.
    public init(_ name: String, _ action: Action) {
      self.name = name
      self.action = action
    }

    /// Keeps the values of such names.
    public static func keep(_ name: String) -> Rule { Rule(name, .keep) }
    /// Redacts the values of such names.
    public static func redact(_ name: String) -> Rule { Rule(name, .redact) }
    /// Drops the values of such names.
    public static func drop(_ name: String) -> Rule { Rule(name, .drop) }
    /// Hashes the values of such names.
    public static func hash(_ name: String) -> Rule { Rule(name, .hash) }
  }

  /// What stands in the place of a value.
  static let placeholder: StaticString = "REDACTED"

  /// The names that are redacted by default: of passwords, tokens, keys, signatures, sessions,
  /// cookies, cards.
  public static let standardRules: [Rule] =
    [
      "*authorization*", "*cookie*", "*password*", "*passwd*", "*passphrase*", "*passcode*", "pwd",
      "pw", "pass", "*passkey*", "*secret*", "*token*", "*jwt*", "*apikey*", "*accesskey*",
      "*privatekey*", "*signingkey*", "*encryptionkey*", "*subscriptionkey*", "*applicationkey*",
      "*appkey*", "*accountkey*", "*masterkey*", "*functionskey*", "fastlykey", "*authkey*",
      "*authcode*", "*credential*", "*signature*", "sig", "*sessionid*", "*sessionkey*",
      "phpsessid", "*csrf*", "*xsrf*", "*codeverifier*", "*oauthverifier*", "devicecode", "*otp",
      "pin", "*assertion*", "samlresponse", "*bearer*", "*cardnumber*", "*creditcard*", "cvv",
      "cvv2", "cvc", "cvc2", "ssn",
    ].map { .redact($0) }
    // These are also parts of many names that have no secret: `sort_key`, `auth_type`,
    // `session_count`.
    + ["key", "auth", "xauth", "session", "xsession"].map { redact($0, only: .wholeNames) }
    // As a word, `sid` is in identifiers that are no secrets: `messageSid`. As a part, it names a
    // session: `connect.sid`.
    + [redact("sid", only: .parts)]

  private static func redact(_ name: String, only scope: Rule.Scope) -> Rule {
    var rule = Rule.redact(name)
    rule.scope = scope
    return rule
  }

  /// The standard rules alone.
  public static let standard = Redactor()

  /// The rules, the newest last.
  public let rules: [Rule]
  /// What becomes of header fields that no rule names.
  public let unlistedHeaders: Action
  /// What becomes of values that no rule names behind a name and `=`: in queries and forms, and in
  /// header fields and messages, such as `q` in `accept: text/html;q=0.9`.
  public let unlistedValues: Action

  let compiled: Compiled

  /// Makes a redactor.
  ///
  /// - Parameters:
  ///   - rules: What becomes of which values; a rule counts more than those before it. Traps if
  ///     there are more than 4,095 in all, or more than 24,000 letters. In names beyond ASCII, each
  ///     byte is a letter, in each spelling of the name, and there is room for 5,600 or more.
  ///   - base: Rules before these. Default: ``standardRules``.
  ///   - unlistedHeaders: What becomes of header fields that no rule names. Default: they are kept.
  ///   - unlistedValues: What becomes of values that no rule names behind a name and `=`. Default:
  ///     they are kept.
  /// - Complexity: O(letters of the rules); allocates.
  public init(
    rules: [Rule] = [], base: [Rule] = Redactor.standardRules, unlistedHeaders: Action = .keep,
    unlistedValues: Action = .keep
  ) {
    self.rules = base + rules
    self.unlistedHeaders = unlistedHeaders
    self.unlistedValues = unlistedValues
    precondition(self.rules.count <= NameAutomaton.maximumRules, "a redactor has too many rules")
    precondition(
      NameAlphabet.hasRoom(for: self.rules.map(\.name)), "the rules of a redactor are too long")
    compiled = Compiled(self.rules, unlistedHeaders, unlistedValues)
  }

  /// The rules as they are used.
  final class Compiled: Sendable {
    let names: NameMatcher
    let unlistedHeaders: Action
    let unlistedValues: Action
    private let actions: [Action]

    init(_ rules: [Rule], _ unlistedHeaders: Action, _ unlistedValues: Action) {
      names = NameMatcher(rules)
      actions = rules.map(\.action)
      self.unlistedHeaders = unlistedHeaders
      self.unlistedValues = unlistedValues
    }

    /// What becomes of the value of a name that was read.
    func action(of name: NameMatcher.State, unlisted: Action) -> Action {
      let rule = names.rule(of: name)
      return rule == 0 ? unlisted : actions[rule - 1]
    }

    /// What becomes of a value behind a colon in a message. Parts of the name do not count:
    /// `auth-service: refused` is prose.
    func action(inMessage name: NameMatcher.State) -> Action {
      let rule = names.rule(ofWhole: name)
      return rule == 0 ? .keep : actions[rule - 1]
    }

    /// What becomes of a header field.
    func action(ofHeader name: String) -> Action {
      let rule = names.rule(of: name)
      return rule == 0 ? unlistedHeaders : actions[rule - 1]
    }
  }
}

// MARK: - Texts as a whole

extension Redactor {
  /// Returns a URL, or a part of one, as it may be recorded.
  ///
  /// - Complexity: O(bytes); allocates.
  public func redacted(url: String) -> String { redacted(url, .url) }

  /// Returns a form, as `application/x-www-form-urlencoded` has it, as it may be recorded.
  ///
  /// - Complexity: O(bytes); allocates.
  public func redacted(form: String) -> String { redacted(form, .form) }

  /// Returns a message, such as that of an error, as it may be recorded. URLs and values of
  /// `name=value` in it are redacted, and so are values behind a colon and a name that a rule has.
  ///
  /// - Complexity: O(bytes); allocates.
  public func redacted(text: String) -> String { redacted(text, .text) }

  /// Returns the value of a header field as it may be recorded; nil if the field may not be.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: The field's name.
  /// - Complexity: O(bytes); allocates.
  public func redacted(header value: String, named name: String) -> String? {
    switch compiled.action(ofHeader: name) {
    case .keep: return redacted(value, .text)
    case .redact: return "\(Self.placeholder)"
    case .drop: return nil
    case .hash:
      var (value, hash) = (value, ValueHash())
      value.withUTF8 { bytes in
        if let start = bytes.baseAddress { hash.combine(start, bytes.count) }
      }
      return RedactedOutput.with(capacity: 32) { output in
        output.append(hash: hash.value)
        return String(decoding: output.bytes, as: UTF8.self)
      }
    }
  }

  /// Returns JSON as it may be recorded.
  ///
  /// - Complexity: O(bytes); allocates.
  public func redacted(json: [UInt8]) -> [UInt8] {
    json.withUnsafeBytes { bytes in
      RedactedOutput.with(capacity: Self.capacity(for: bytes.count)) { output in
        var redaction = JSONRedaction(compiled)
        redaction.append(bytes, to: &output)
        redaction.finish(to: &output)
        return Array(output.bytes)
      }
    }
  }

  private func redacted(_ text: String, _ kind: PairRedaction.Kind) -> String {
    var text = text
    return text.withUTF8 { bytes in
      RedactedOutput.with(capacity: Self.capacity(for: bytes.count)) { output in
        compiled.append(UnsafeRawBufferPointer(bytes), kind, to: &output)
        return String(decoding: output.bytes, as: UTF8.self)
      }
    }
  }

  /// Returns the room for a text in which values are replaced: at worst, by a hash for each `=1&`.
  static func capacity(for count: Int) -> Int { 8 * count + 64 }
}

extension Redactor.Compiled {
  /// Adds a whole text as it may be recorded.
  func append(
    _ bytes: UnsafeRawBufferPointer, _ kind: PairRedaction.Kind, to output: inout RedactedOutput
  ) {
    var redaction = PairRedaction(self, kind)
    redaction.redact(bytes, to: &output)
  }
}
