import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// Regular expressions as people write them for other programs, and what they find.
@Suite struct PatternTests {
  /// The pattern, texts in which it is found, and texts in which it is not found.
  static let cases: [(pattern: String, found: [String], notFound: [String])] = [
    (#"\d"#, ["a7"], ["abcd", ""]), (#"\d+ ms"#, ["took 12 ms"], ["dd ms", " ms"]),
    (#"^\D+$"#, ["abc", "d"], ["a1c", "1"]), (#"id=\d{3}$"#, ["id=123"], ["id=12", "id=ddd"]),
    (#"^\w+$"#, ["a_1Z"], ["a-1", "é"]), (#"\W"#, ["a b", "é"], ["ab_9"]),
    (#"a\sb"#, ["a b", "a\tb", "a\nb"], ["asb"]), (#"^\S+$"#, ["ab"], ["a b"]),
    (#"\bfoo\b"#, ["a foo b", "foo"], ["foobar", "afoo"]), (#"o\B"#, ["foo"], ["o", "a o"]),
    (#"[\d.]+ms"#, ["1.5ms", ".ms"], ["dms"]), (#"^[^\d\s]+$"#, ["ab\\"], ["a1", "a b"]),
    (#"^[\w-]+$"#, ["a-b_c"], ["a\\b", "a b"]), (#"^[\D]$"#, ["x"], ["1"]),
    (#"^[1\D]+$"#, ["x1"], ["x2"]), (#"[\s]"#, ["a b"], ["s\\"]),
    (#"a\tb"#, ["a\tb"], ["atb", "a b"]), (#"a\nb"#, ["a\nb"], ["anb"]),
    (#"\r$"#, ["a\r"], ["r"]), (#"\f|\v|\a|\e"#, ["\u{c}", "\u{b}", "\u{7}", "\u{1b}"], ["fvae"]),
    (#"\x41\x{2F}"#, ["A/"], ["x41"]), (#"\u00e9+\u{20ac}"#, ["éé€"], ["é", "€", "u00e9"]),
    (#"\u{1b}\["#, ["\u{1b}[2J"], ["u{1b}["]), (#"[\t\x20]"#, ["\t", " "], ["tx20"]),
    (#"[\]\\]"#, ["]", "\\"], ["a"]), (#"^[]a]$"#, ["]", "a"], ["b"]), (#"[a\-c]"#, ["-"], ["b"]),
    (#"^[^]a]$"#, ["b"], ["]", "a"]), (#"[[:digit:]x]"#, ["7", "x"], ["a"]),
    (#"[b^]"#, ["^"], ["a"]), (#"[\^]"#, ["^"], ["a"]), (#"[\^\-]"#, ["^", "-"], ["a"]),
    ("[a-c]x", ["bx"], ["dx"]), ("[+--]", [",", "-"], ["."]), ("[.[]", ["[", "."], [":"]),
    ("[äö]", ["ä", "xö"], ["é", "ü"]), ("^[xäö]+$", ["äxö"], ["äü"]),
    ("caf(é)?s?$", ["caf", "cafés"], ["cafx"]), ("^café?$", ["caf", "café"], ["caf\u{FFFD}"]),
    ("^€{2}$", ["€€"], ["€"]), ("a?e\u{301}+b", ["e\u{301}\u{301}b"], ["eb"]),
    ("a*\u{301}b", ["\u{301}b", "aa\u{301}b"], ["a*b"]),
    (#"(?:ab)+c"#, ["ababc"], ["ac", "?:ab"]), (#"(é)?(x|a)b\2c"#, ["abac", "éxbxc"], ["abxc"]),
    (#"é+(a|b)\1"#, ["ééaa"], ["éab"]),
    (#"\Aab\z"#, ["ab"], ["xab", "abx"]), (#"it\'s .*"#, ["it's me"], ["its me"]),
    (#"\`a\`"#, ["`a`"], ["a"]), (#"\"a\": \{"#, ["\"a\": {"], ["a: {"]),
    (#"{"id": ?1,"#, [#"{"id":1,"#, #"{"id": 1,"#], ["id 1"]), ("a{x", ["a{x"], ["ax"]),
    ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]), ("^a{,2}b", ["b", "aab"], ["aaab"]),
    ("^a+?b", ["ab", "aab"], ["b"]), ("^a{2}?b", ["aab"], ["ab", "b"]), ("^a++b", ["aab"], ["b"]),
    ("^a??b", ["b", "ab"], ["aab"]), ("^a+*b", ["b", "aab"], ["cb"]), ("a|b", ["a", "b"], ["c"]),
    (#"a\|b"#, ["a|b"], ["a", "b"]), (#"\/\-\:\,\="#, ["/-:,="], ["\\"]), ("", ["", "a"], []),
  ]

  private func isFound(_ pattern: TextPattern, _ text: String) throws -> Bool {
    let log = TestLog()
    log.write(text, ticks: 1)
    let record = try #require(log.read().records.first)
    var filter = LogReader.Filter()
    filter.text = [pattern]
    return filter.matchesContent(of: record)
  }

  @Test("what people write is found", arguments: cases.indices)
  func whatPeopleWriteIsFound(index: Int) throws {
    let (source, found, notFound) = Self.cases[index]
    let pattern = try TextPattern(source)
    for text in found {
      #expect(try isFound(pattern, text), "\(source) in \(text.debugDescription)")
    }
    for text in notFound {
      #expect(try !isFound(pattern, text), "\(source) in \(text.debugDescription)")
    }
  }

  @Test("conditions find the same", arguments: cases.indices)
  func conditionsFindTheSame(index: Int) throws {
    let (source, found, _) = Self.cases[index]
    guard !source.contains("'"), !source.contains(#"\\"#), let text = found.first else { return }
    let log = TestLog()
    log.write(text, ticks: 1)
    var filter = LogReader.Filter()
    filter.conditions = [try FieldCondition("@message ~ '\(source)'")]
    #expect(log.read(filter).messages == [text], "\(source)")
  }

  /// Patterns that the system's expressions cannot express: the place in the pattern, and the
  /// advice.
  @Test(
    "what cannot be said in the pattern is refused with place and remedy",
    arguments: [
      (#"a\pL"#, "at character 2", "[[:alpha:]]"), (#"\p{Lu}+"#, "at character 1", "[[:alpha:]]"),
      (#"x(?=y)"#, "at character 2", "another --grep or --where"),
      (#"(?<!a)b"#, "at character 1", "another --grep or --where"),
      (#"(?i)error"#, "at character 1", "--ignore-case"), (#"é(?<n>a)"#, "at character 2", "(a|b)"),
      (#"ab\"#, "at character 3", #"\\"#), (#"\Qa.b\E"#, "at character 1", "--fixed-strings"),
      (#"\xff"#, "at character 1", #"\u{ff}"#), (#"\xzz"#, "at character 1", #"\x41"#),
      (#"\u{d800}"#, "at character 1", #"\u{e9}"#), (#"\x00"#, "at character 1", "zero"),
      (#"\0"#, "at character 1", "zero"), (#"[^\D]"#, "at character 3", "[0-9]"),
      (#"[а-я]"#, "at character 2", "one by one"), (#"[\p{L}]"#, "at character 2", "[[:alpha:]]"),
      (#"\R"#, "at character 1", "unknown"), (#"a[bc"#, "at character 2", "]"),
      ("a(b", "at character 2", #"\("#), ("a)b", "at character 2", #"\)"#),
      ("(a|(b)", "at character 1", #"\("#), ("*a", "at character 1", #"\*"#),
      ("a|+b", "at character 3", #"\+"#), ("(?b)", "at character 1", "(a|b)"),
      ("a({2}b)", "at character 3", #"\{"#), (#"a\b*"#, "at character 4", #"\*"#),
      ("a{3,1}", "at character 2", "lower one"), ("a{99999}", "at character 2", "32767"),
      ("[[:letter:]]", "at character 2", "alpha"), ("[[.ab.]]", "at character 2", "one ASCII"),
      (#"[\]"#, "at character 1", #"\\"#), (#"\cA"#, "at character 1", #"\x01"#),
    ]) func whatCannotBeSaidIsRefused(pattern: String, place: String, advice: String)
  {
    #expect {
      try TextPattern(pattern)
    } throws: { error in
      let text = "\(error)"
      return text.contains(place) && text.contains(advice)
    }
  }

  /// Random expressions, compared with a search that tries everything.
  @Test("what is passed over has nothing of it") func whatIsPassedOverHasNothingOfIt() throws {
    for seed in 0..<30 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let log = TestLog()
      let sites = [
        log.textSite, log.site(.literal("ab "), .argument(type: .string), .literal(" 1é")),
        log.site(.argument(type: .int), .literal("-"), .argument(type: .string)),
      ]
      for index in 0..<40 as Range<UInt64> {
        let site = sites[Int(index) % 3]
        let number = site == sites[2] ? ValueWords.argument(.int(Int64(index * 37))) : []
        let text = NaivePattern.randomText(&generator)
        log.write(
          TestRecord(ticks: index, site: site, words: number + ValueWords.argument(.text(text))))
        if index == 25 { log.archive() }
      }
      log.save()
      let all = Reading([log.folder.path]).messages
      for _ in 0..<25 {
        let pattern = NaivePattern.random(&generator)
        let source = pattern.source
        let isSensitive = Bool.random(using: &generator)
        var filter = LogReader.Filter()
        filter.text = [try TextPattern(source, ignoresCase: !isSensitive)]
        let found = Reading([log.folder.path], filter).messages
        let expected = all.filter {
          pattern.isFound(in: Array($0.utf8), ignoresCase: !isSensitive)
        }
        #expect(found == expected, "seed \(seed): \(source) \(isSensitive)")
      }
    }
  }
}
