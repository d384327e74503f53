/// Finds which rule of a ``Redactor`` a name falls under, byte by byte, so that a name needs no
/// memory and may come in pieces.
///
/// The patterns are an automaton (Aho and Corasick, 1975), whose letters are those of names: the
/// case of letters and everything that is neither a letter nor a digit do not count. So `api_key`,
/// `Api-Key` and `user[apiKey]` all have `apikey` in them. What stands between two of the signs
/// that do not count is a part of a name: `user[pwd]` has the part `pwd`. A capital behind a small
/// letter or a digit begins a word within a part: `dbPass` has the word `pass`. Parts and words
/// have an automaton of their own, with the rules that count for parts.
///
/// Proof of `@unchecked Sendable`: its memory is written in `init` only.
final class NameMatcher: @unchecked Sendable {
  /// Where a name stands in the automata.
  struct State {
    fileprivate var whole, part: NameAutomaton.Place
    /// The last word of a part that has several.
    fileprivate var word: NameAutomaton.Place
    fileprivate var hasWords = false
    /// The bit of a capital, if one would begin a word here: behind a small letter or a digit.
    fileprivate var beginsWord: UInt8 = 0
    /// The newest rule that a part or a word falls under which is complete, counted from 1.
    fileprivate var ruleOfParts: UInt32 = 0
  }

  private let names, parts: NameAutomaton
  /// Of each byte its letter in the automata, and whether it is a capital, or a small letter or a
  /// digit.
  private let kinds: UnsafeMutablePointer<UInt8>
  private static let letterMask: UInt8 = 0x3F
  private static let capital: UInt8 = 0x40
  private static let smallOrDigit: UInt8 = 0x80
  /// Whether each rule counts for words, too.
  private let countForWords: [Bool]

  init(_ rules: [Redactor.Rule]) {
    names = NameAutomaton(rules.map(\.name))
    parts = NameAutomaton(rules.map { $0.countsForParts ? $0.name : "" })
    countForWords = rules.map(\.countsForWords)
    kinds = .allocate(capacity: 256)
    for byte in 0...UInt8.max { kinds[Int(byte)] = Self.kind(of: byte) }
  }

  deinit { kinds.deallocate() }

  private static func kind(of byte: UInt8) -> UInt8 {
    let letter = UInt8(NameAutomaton.letter(byte))
    return switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter | capital
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      letter | smallOrDigit
    default: letter
    }
  }

  /// Where each name begins.
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
    // The bit of a small letter or a digit comes to be that of a capital.
    state.beginsWord = kind >> 1 & Self.capital
    if letter == NameAutomaton.skipped { return endPart(of: &state) }
    names.step(letter, &state.whole)
    parts.step(letter, &state.part)
    if state.hasWords { parts.step(letter, &state.word) }
  }

  @inline(__always)
  private func beginWord(of state: inout State) {
    // A part is its first word so far.
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

  /// The same if its parts do not count.
  func rule(ofWhole state: State) -> Int { Int(names.rule(of: state.whole)) }

  /// The rule that a name falls under, from 1; 0: none. Per cent signs stand for themselves.
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

  // Letters: 26, 10 digits, begin and end of a name, and what is no part of a name. Behind them
  // what does not count.
  private static let letterCount = 39
  private static let begin = 36
  private static let end = 37
  private static let other = 38
  fileprivate static let skipped = 39
  /// The lowest bits of an entry: a rule.
  private static let ruleBits: UInt32 = 12
  private static let ruleMask: UInt32 = 1 << ruleBits - 1
  /// How many rules and how many letters of patterns there may be.
  static let maximumRules = Int(ruleMask)
  static let maximumLetters = 24_000

  /// For each state a row, and in it for each letter the row of the next state, and the rule that
  /// the name falls under there.
  private let table: UnsafeMutablePointer<UInt32>
  /// Where each name begins.
  let initial: Place

  /// - Parameter patterns: One for each rule, the newest last; empty for one that is not of this
  ///   automaton.
  init(_ patterns: [String]) {
    var trie = Trie()
    for (index, pattern) in patterns.enumerated() {
      trie.add(Self.letters(of: pattern), rule: UInt32(index + 1))
    }
    let rows = trie.rows()
    table = .allocate(capacity: rows.count)
    table.initialize(from: rows, count: rows.count)
    let entry = rows[Self.begin]
    initial = Place(row: entry >> Self.ruleBits, rule: entry & Self.ruleMask)
  }

  deinit { table.deallocate() }

  /// Takes a letter of a name. Nothing is checked: rows are those of the table, and so are letters.
  @inline(__always)
  fileprivate func step(_ letter: Int, _ place: inout Place) {
    let entry = table[Int(place.row) &+ letter]
    place.row = entry &>> Self.ruleBits
    place.rule = max(place.rule, entry & Self.ruleMask)
  }

  /// The rule of what ends at a place, from 1; 0: none.
  func rule(of place: Place) -> UInt32 {
    var place = place
    step(Self.end, &place)
    return place.rule
  }

  // MARK: - Patterns

  fileprivate static func letter(_ byte: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte - UInt8(ascii: "a"))
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "0")...UInt8(ascii: "9"): 26 + Int(byte - UInt8(ascii: "0"))
    case 0x80...: other
    default: skipped
    }
  }

  private static func letters(of pattern: String) -> [Int] {
    let letters = pattern.utf8.map(letter).filter { $0 != skipped }
    if letters.isEmpty { return [] }
    let start = pattern.hasPrefix("*") ? [] : [begin]
    return start + letters + (pattern.hasSuffix("*") ? [] : [end])
  }

  /// How many letters the automaton has for a pattern.
  static func letterCount(of pattern: String) -> Int { letters(of: pattern).count }

  /// The patterns, letter by letter.
  private struct Trie {
    private var children: [[Int]] = [[Int](repeating: 0, count: letterCount)]
    private var rules: [UInt32] = [0]

    mutating func add(_ letters: [Int], rule: UInt32) {
      if letters.isEmpty { return }
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

    /// The table: where there is no next letter, that of the longest end of what was read which
    /// begins a pattern.
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
