/// Finds which rule of a ``Redactor`` a name falls under, byte by byte, so that a name needs no
/// memory and may come in pieces.
///
/// The patterns are an automaton (Aho and Corasick, 1975), whose letters are those of names. The
/// case of letters does not count, and neither do characters that are neither letters nor digits.
/// So `api_key`, `Api-Key` and `user[apiKey]` all have `apikey` in them. What stands between two of
/// the characters that do not count is a part of a name: `user[pwd]` has the part `pwd`. A capital
/// behind a lowercase letter or a digit begins a word within a part: `dbPass` has the word `pass`.
/// Parts and words have an automaton of their own, with the rules that count for parts.
///
/// Beyond ASCII, each byte that patterns have is a letter of its own, and all other bytes share one
/// letter. A pattern with such bytes is in the automaton as it is, in lowercase, in capitals, and
/// with a capital first.
///
/// Proof of `@unchecked Sendable`: its memory is written in `init` only.
final class NameMatcher: @unchecked Sendable {
  /// Where a name stands in the automata.
  struct State {
    fileprivate var whole, part: NameAutomaton.Place
    /// The last word of a part that has several.
    fileprivate var word: NameAutomaton.Place
    fileprivate var hasWords = false
    /// The bit of a capital, if one would begin a word here: behind a lowercase letter or a digit.
    fileprivate var beginsWord: UInt16 = 0
    /// The newest rule that a complete part or a complete word falls under, counted from 1.
    fileprivate var ruleOfParts: UInt32 = 0
  }

  private let names, parts: NameAutomaton
  /// For each byte, its letter in the automata, and whether it is a capital, or a lowercase letter
  /// or a digit.
  private let kinds: UnsafeMutablePointer<UInt16>
  private static let letterMask: UInt16 = 0xFF
  private static let capital: UInt16 = 0x100
  private static let smallOrDigit: UInt16 = 0x200
  /// Whether each rule counts for words, too.
  private let countForWords: [Bool]

  init(_ rules: [Redactor.Rule]) {
    let alphabet = NameAlphabet(rules.map(\.name))
    names = NameAutomaton(rules.map(\.name), alphabet)
    parts = NameAutomaton(rules.map { $0.countsForParts ? $0.name : "" }, alphabet)
    countForWords = rules.map(\.countsForWords)
    kinds = .allocate(capacity: 256)
    for byte in 0...UInt8.max { kinds[Int(byte)] = Self.kind(of: byte, alphabet) }
  }

  deinit { kinds.deallocate() }

  private static func kind(of byte: UInt8, _ alphabet: NameAlphabet) -> UInt16 {
    let letter = UInt16(alphabet.letter(byte))
    return switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter | capital
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      letter | smallOrDigit
    default: letter
    }
  }

  /// Returns the state in which each name begins.
  @inline(__always)
  func started() -> State {
    State(whole: names.initial, part: parts.initial, word: parts.initial)
  }

  /// Takes a byte of a name.
  @inline(__always)
  func take(_ byte: UInt8, _ state: inout State) {
    let kind = kinds[Int(byte)]
    let letter = Int(kind & Self.letterMask)
    if kind & state.beginsWord != 0 { beginWord(of: &state) }
    // The shift turns the bit of a lowercase letter or a digit into that of a capital.
    state.beginsWord = kind >> 1 & Self.capital
    if letter == NameAlphabet.skipped { return endPart(of: &state) }
    names.step(letter, &state.whole)
    parts.step(letter, &state.part)
    if state.hasWords { parts.step(letter, &state.word) }
  }

  @inline(__always)
  private func beginWord(of state: inout State) {
    // Before this, the part had only its first word.
    endWord(state.hasWords ? state.word : state.part, of: &state)
    (state.hasWords, state.word) = (true, parts.initial)
  }

  @inline(__always)
  private func endWord(_ word: NameAutomaton.Place, of state: inout State) {
    let rule = parts.rule(of: word)
    if rule > 0, countForWords[Int(rule) - 1] { state.ruleOfParts = max(state.ruleOfParts, rule) }
  }

  @inline(__always)
  private func endPart(of state: inout State) {
    if state.hasWords { endWord(state.word, of: &state) }
    state.ruleOfParts = max(state.ruleOfParts, parts.rule(of: state.part))
    (state.hasWords, state.part) = (false, parts.initial)
  }

  /// The rule that a name falls under, from 1; 0: none.
  func rule(of state: State) -> Int {
    var state = state
    endPart(of: &state)
    return max(rule(ofWhole: state), Int(state.ruleOfParts))
  }

  /// As `rule(of:)`, but parts of the name do not count.
  func rule(ofWhole state: State) -> Int { Int(names.rule(of: state.whole)) }

  /// The rule that a name falls under, from 1; 0: none. Percent signs stand for themselves.
  func rule(of name: String) -> Int {
    var state = started()
    for byte in name.utf8 { take(byte, &state) }
    return rule(of: state)
  }
}

/// The automaton of the patterns of some rules.
///
/// Proof of `@unchecked Sendable`: its memory is written in `init` only.
final class NameAutomaton: @unchecked Sendable {
  struct Place {
    /// Where the row of the next letter is.
    fileprivate var row: UInt32
    /// The newest rule so far, counted from 1.
    fileprivate var rule: UInt32
  }

  /// The lowest bits of an entry: a rule.
  private static let ruleBits: UInt32 = 12
  private static let ruleMask: UInt32 = 1 << ruleBits - 1
  /// The maximum number of rules.
  static let maximumRules = Int(ruleMask)

  /// Each state has a row. In it, each letter has the row of the next state, and the rule that the
  /// name falls under there.
  private let table: UnsafeMutablePointer<UInt32>
  /// Where each name begins.
  let initial: Place

  /// - Parameter patterns: One for each rule, the newest last; empty for a rule that does not
  ///   belong to this automaton.
  init(_ patterns: [String], _ alphabet: NameAlphabet) {
    var trie = Trie(letterCount: alphabet.count)
    for (index, pattern) in patterns.enumerated() {
      for letters in alphabet.words(of: pattern) { trie.add(letters, rule: UInt32(index + 1)) }
    }
    let rows = trie.rows()
    table = .allocate(capacity: rows.count)
    table.initialize(from: rows, count: rows.count)
    let entry = rows[NameAlphabet.begin]
    initial = Place(row: entry >> Self.ruleBits, rule: entry & Self.ruleMask)
  }

  deinit { table.deallocate() }

  /// Takes a letter of a name. This checks nothing: rows and letters are always those of the table.
  @inline(__always)
  fileprivate func step(_ letter: Int, _ place: inout Place) {
    let entry = table[Int(place.row) &+ letter]
    place.row = entry &>> Self.ruleBits
    place.rule = max(place.rule, entry & Self.ruleMask)
  }

  /// Returns the rule of a name that ends at a place, from 1; 0: none.
  func rule(of place: Place) -> UInt32 {
    var place = place
    step(NameAlphabet.end, &place)
    return place.rule
  }

  /// The patterns, letter by letter.
  private struct Trie {
    private let letterCount: Int
    private var children: [[Int]]
    private var rules: [UInt32] = [0]

    init(letterCount: Int) {
      self.letterCount = letterCount
      children = [[Int](repeating: 0, count: letterCount)]
    }

    /// Adds a pattern; a pattern without letters is in every name.
    mutating func add(_ letters: [Int], rule: UInt32) {
      var node = 0
      for letter in letters {
        if children[node][letter] == 0 {
          children[node][letter] = children.count
          children.append([Int](repeating: 0, count: letterCount))
          rules.append(0)
        }
        node = children[node][letter]
      }
      rules[node] = max(rules[node], rule)
    }

    /// Returns the table. If a state has no next letter, it takes that of the longest suffix of
    /// what was read that begins a pattern.
    mutating func rows() -> [UInt32] {
      var failure = [Int](repeating: 0, count: children.count)
      // The root's children fail to the root. A name may begin with any letter.
      var queue = children[0].filter { $0 != 0 }
      var index = 0
      while index < queue.count {
        let node = queue[index]
        index += 1
        rules[node] = max(rules[node], rules[failure[node]])
        for letter in 0..<letterCount {
          let child = children[node][letter]
          let other = children[failure[node]][letter]
          if child == 0 {
            children[node][letter] = other
          } else {
            failure[child] = other
            queue.append(child)
          }
        }
      }
      return children.flatMap { next in
        next.map { child in UInt32(child * letterCount) << ruleBits | rules[child] }
      }
    }
  }
}

/// The letters of an automaton, and the patterns in them.
struct NameAlphabet {
  // Letters: 26, 10 digits, begin and end of a name, and what is no ASCII; then the bytes beyond
  // ASCII that patterns have.
  static let begin = 36
  static let end = 37
  private static let other = 38
  private static let fixedCount = 39
  /// Stands for bytes that do not count.
  static let skipped = 0xFF
  /// The maximum number of entries: those for 24,000 letters of ASCII patterns.
  private static let maximumEntries = 24_000 * fixedCount

  /// The letter of each byte.
  private var letters: [UInt8]
  /// How many letters there are.
  private(set) var count = fixedCount

  /// - Parameter patterns: The patterns that the letters are for.
  init(_ patterns: [String]) {
    letters = (0...UInt8.max).map(Self.letter)
    for pattern in patterns {
      for byte in Self.spellings(of: pattern).joined()
      where byte >= 0x80 && letters[Int(byte)] == Self.other {
        letters[Int(byte)] = UInt8(count)
        count += 1
      }
    }
  }

  private static func letter(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a")
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "0")...UInt8(ascii: "9"): 26 + (byte - UInt8(ascii: "0"))
    case 0x80...: UInt8(other)
    default: UInt8(skipped)
    }
  }

  func letter(_ byte: UInt8) -> Int { Int(letters[Int(byte)]) }

  /// The ways in which a pattern may be spelled, in the letters of the automaton: empty if no name
  /// can match the pattern.
  func words(of pattern: String) -> [[Int]] {
    Self.spellings(of: pattern).compactMap { bytes in
      let letters = bytes.map(letter).filter { $0 != Self.skipped }
      let star = UInt8(ascii: "*")
      if letters.isEmpty { return bytes.contains(star) ? [] : nil }
      let start = bytes.first == star ? [] : [Self.begin]
      return start + letters + (bytes.last == star ? [] : [Self.end])
    }
  }

  /// Whether an automaton has room for some patterns.
  static func hasRoom(for patterns: [String]) -> Bool {
    let alphabet = NameAlphabet(patterns)
    let letters = patterns.reduce(0) { sum, pattern in
      alphabet.words(of: pattern).reduce(sum) { $0 + $1.count }
    }
    return letters * alphabet.count <= maximumEntries
  }

  /// Returns a pattern as it is, in lowercase, in capitals, and with a capital first. In ASCII, all
  /// of these are the same.
  private static func spellings(of pattern: String) -> [[UInt8]] {
    if pattern.utf8.allSatisfy({ $0 < 0x80 }) { return [Array(pattern.utf8)] }
    let small = pattern.lowercased()
    var capitalized = Array(small.unicodeScalars).map { String($0) }
    if let first = small.unicodeScalars.enumerated().first(where: { $0.element != "*" }) {
      capitalized[first.offset] = first.element.properties.uppercaseMapping
    }
    let count = pattern.unicodeScalars.count
    var all = [Array(pattern.utf8)]
    for text in [small, pattern.uppercased(), capitalized.joined()] {
      let bytes = Array(text.utf8)
      // This leaves out a spelling that is another name: the capitals of `ß` are `SS`.
      if text.unicodeScalars.count == count, !all.contains(bytes) { all.append(bytes) }
    }
    return all
  }
}
