@testable import MMLogFormat
import TestSupport
import Testing

@Suite struct ColumnStringTests {
  private func check(_ strings: [[UInt8]], _ what: String) throws {
    let column = encoded(strings)
    let found = try decoded(column, count: strings.count)
    let first = zip(found, strings).enumerated().first { $1.0 != $1.1 }?.offset ?? -1
    #expect(found == strings, "\(what), string \(first), encoding \(column.numbers[0])")
  }

  private func check(_ texts: [String], _ what: String) throws {
    try check(texts.map { Array($0.utf8) }, what)
  }

  private func encoding(_ texts: [String]) -> StringEncoding? {
    StringEncoding(rawValue: encoded(texts.map { Array($0.utf8) }).numbers[0])
  }

  @Test(
    "columns of every kind come back", arguments: [1, 2, 31, 32, 33, 127, 128, 129, 1000, 5000])
  func columnsOfEveryKindComeBack(count: Int) throws {
    let each = 0..<count
    try check(each.map { _ in "" }, "empty")
    try check(each.map { _ in "all the same, 17 times" }, "equal")
    try check(each.map { "\($0)" }, "numbers only")
    try check(each.map { String(repeating: "x", count: $0 % 40) + "y\($0)" }, "different")
    try check(each.map { ["a", "", "longer than a word", "b1"][$0 % 4] }, "few")
    try check(
      each.map { "order \($0) of user \($0 % 7) took \($0 * 31 % 1000) ms" }, "one pattern")
    try check(
      each.map { "\($0 % 2 == 0 ? "in" : "out") \($0)\($0 % 50 == 0 ? " odd \($0)" : "")" },
      "own and shared columns")
  }

  @Test("digits of every length come back") func digitsOfEveryLengthComeBack() throws {
    for digit in ["0", "1", "9", "18446744073709551615"] {
      let long = String(repeating: digit, count: 40)
      let texts = (1...40).flatMap { count in
        let digits = long.prefix(count)
        return ["\(digits)", "a\(digits)", "\(digits)b", "\(digits)-\(digits)", "x 00\(digits) y"]
      }
      try check(texts, "digits \(digit)")
      for text in texts { try check([text], text) }
    }
  }

  @Test("any count of numbers in a string comes back")
  func anyCountOfNumbersInAStringComesBack() throws {
    for maximum in [1, 14, 15, 16, 17, 18, 40, 300] {
      try check(
        (0..<100).map { (0...$0 * maximum / 99).map { "\($0 * 7)" }.joined(separator: ",") },
        "up to \(maximum)")
      try check(
        (0..<100).map { index in (0..<maximum).map { "\($0 * index)" }.joined(separator: "/") },
        "\(maximum)")
    }
  }

  @Test("bytes of any kind come back") func bytesOfAnyKindComeBack() throws {
    var generator = SeededGenerator(seed: 21)
    for round in 0..<60 {
      let alphabet: [UInt8] = [
        [0, 0x30, 0x39], [0x30, 0x31, 0x39, 0x2F, 0x3A], [0xFF, 0xC3, 0x28, 0x30], Array(0...255),
        Array("0123456789 abc".utf8),
      ][round % 5]
      let strings = (0..<Int.random(in: 1...300, using: &generator)).map { _ in
        (0..<Int.random(in: 0...60, using: &generator)).map { _ in
          alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
        }
      }
      try check(strings, "seed 21, round \(round)")
    }
  }

  @Test("hexadecimal digits and UUIDs come back") func hexadecimalDigitsAndUUIDsComeBack() throws {
    var generator = SeededGenerator(seed: 22)
    func digits(_ count: Int) -> String {
      (0..<count).map { _ in String(generator.next() % 16, radix: 16) }.joined()
    }
    for count in 1...40 {
      let texts = (0..<200).map { index -> String in
        let digits = digits(count)
        return [
          digits, digits.uppercased(), "0x\(digits)", "0X\(digits.uppercased())", "id=\(digits);",
          "\(digits)g", "g\(digits)", "0x0\(digits)0x\(digits)", "\(digits)-\(digits)",
          "\(digits)\(digits.uppercased())",
        ][index % 10]
      }
      try check(texts, "\(count) digits, seed 22")
    }
    for groups in [[8, 4, 4, 4, 12], [8, 4, 4, 4, 13], [8, 4, 4, 12], [9, 4, 4, 4, 12]] {
      let ids = (0..<200).map { _ in groups.map { digits($0) }.joined(separator: "-") }
      try check(ids, "\(groups), seed 22")
      try check(ids.map { $0.uppercased() }, "\(groups) in upper case, seed 22")
      try check(ids.map { "x\($0) y" }, "\(groups) behind a letter, seed 22")
      try check(ids.map { "a-\($0)-1 z\($0.dropLast())g" }, "\(groups) beside others, seed 22")
    }
  }

  @Test("strings come back wherever a token is in them")
  func stringsComeBackWhereverATokenIsInThem() throws {
    let tokens = [
      "7", "0123456789", "00c0ffee", "0x1f", "DEAD10", "123e4567-e89b-12d3-a456-426614174000",
      "18T18T18T18", "x86_64", "0123456789abcdef0123456789abcdef01",
    ]
    // Across the edges of words and of what is inspected at once.
    for length in (0...20).map({ $0 * 7 }) + [60, 61, 62, 63, 64, 65, 127, 128, 129] {
      for letter in ["a", " ", "z"] {
        let lead = String(repeating: letter, count: length)
        try check(tokens.map { "\(lead)\($0)" }, "\(length) of '\(letter)' before")
        try check(tokens.map { "\($0)\(lead)" }, "\(length) of '\(letter)' behind")
        for token in tokens { try check(["\(lead)\(token)\(lead)"], "\(length) around \(token)") }
      }
    }
  }

  @Test("strings that have no pattern come back among others")
  func stringsThatHaveNoPatternComeBackAmongOthers() throws {
    let long = String(repeating: "long 1 ", count: 5000)
    let texts = (0..<300).map { index -> String in
      switch index % 7 {
      case 0: "a byte \(UnicodeScalar(UInt8(index % 6))) that is a placeholder, \(index)"
      case 1 where index < 30: long + "\(index)"
      case 2: "only once: \(String(repeating: "z", count: index))"
      default: "line \(index) of \(index % 13)"
      }
    }
    #expect(encoding(texts) == .patterns)
    try check(texts, "mixed")
    try check(texts.filter { $0.hasPrefix("a byte") }, "placeholders only")
    try check([long, long + "1"], "long only")
  }

  @Test("more patterns than there may be come back")
  func morePatternsThanThereMayBeComeBack() throws {
    func letters(_ number: Int) -> String {
      String(String(number, radix: 8).map { "uvwxyzst"[$0.wholeNumberValue ?? 0] })
    }
    try check((0..<12_000).map { "at \($0) \(letters($0))" }, "many patterns")
    let wide = (0..<3000).map { row in
      (0..<40).map { "\($0 * row)" }.joined(separator: letters(row))
    }
    try check(wide, "many placeholders")
  }

  @Test("each encoding is chosen where it pays") func eachEncodingIsChosenWhereItPays() {
    let each = 0..<1000
    #expect(encoding(each.map { "name \("abcdefgh".dropFirst($0 % 8))" }) == .dictionary)
    #expect(encoding(each.map { "order \($0)" }) == .patterns)
    let letters = each.map { index in
      String((0..<9).map { Character(UnicodeScalar(UInt8(97 + (index >> $0) % 26))) })
    }
    #expect(encoding(letters) == .plain)
    #expect(encoding(zip(letters, each).map { "\($1): \($0)" }) == .patterns)
  }

  @Test("patterns written by hand come back") func patternsWrittenByHandComeBack() throws {
    let patterns: [[UInt8]] = [
      [0], [97, 0, 0], [98], [0, 32, 1, 2], [0, 32, 1, 3], [4, 45, 5], [97, 0, 98],
    ]
    let values: [UInt64] = [1042, 0x1C0FFEE, 0x1ABC, 0x0123_4567_89AB_CDEF, 1 << 60, .max]
    let texts = [
      "042", "c0ffee", "ABC", "0123456789abcdef", "10000000-0000-0000", "ffff-ffffffffffff",
    ]
    let strings = (0..<200).map { index -> ColumnBytes.Patterned in
      if index % 9 == 8 { return .init(Array("loose \(index)".utf8), isLoose: true) }
      let pattern = patterns[index % 25 % 7]
      return .init(pattern, pattern.filter { $0 < 6 }.map { values[Int($0)] })
    }
    let expected = strings.map { string in
      string.isLoose
        ? string.pattern
        : string.pattern.flatMap { $0 < 6 ? Array(texts[Int($0)].utf8) : [$0] }
    }
    for sharesAll in [false, true] {
      for count in [1, 2, 23, 24, 25, 100, 200] {
        let column = ColumnBytes.patterns(Array(strings.prefix(count)), sharesAll: sharesAll) {
          .planes($0, width: 8, random: UInt8(count))
        }
        let found = try decoded(column, count: count)
        #expect(found == Array(expected.prefix(count)), "\(count) strings, shared: \(sharesAll)")
      }
    }
  }
}

extension String {
  fileprivate subscript(place: Int) -> Character { self[index(startIndex, offsetBy: place)] }
}
