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

  /// How the strings are written, and how skeletons are.
  private func encoding(_ texts: [String]) -> [StringEncoding?] {
    let numbers = encoded(texts.map { Array($0.utf8) }).numbers
    let outer = StringEncoding(rawValue: numbers[0])
    return outer == .skeletons ? [outer, StringEncoding(rawValue: numbers[1])] : [outer]
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
      each.map { "order \($0) of user \($0 % 7) took \($0 * 31 % 1000) ms" }, "one skeleton")
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

  @Test("each encoding is chosen where it pays") func eachEncodingIsChosenWhereItPays() {
    let each = 0..<1000
    #expect(encoding(each.map { "name \("abcdefgh".dropFirst($0 % 8))" }) == [.dictionary])
    #expect(encoding(each.map { "order \($0)" }) == [.skeletons, .dictionary])
    let letters = each.map { index in
      String((0..<9).map { Character(UnicodeScalar(UInt8(97 + (index >> $0) % 26))) })
    }
    #expect(encoding(letters) == [.plain])
    #expect(encoding(zip(letters, each).map { "\($0)\($1)" }) == [.skeletons, .plain])
  }

  @Test("skeletons written by hand come back") func skeletonsWrittenByHandComeBack() throws {
    let skeletons: [[UInt8]] = (0..<50).map { $0 % 3 == 0 ? [0] : $0 % 3 == 1 ? [97, 0, 0] : [98] }
    let numbers = skeletons.map { $0.filter { $0 == 0 }.map { _ in 1042 as UInt64 } }
    let expected = skeletons.map { $0.flatMap { $0 == 0 ? Array("042".utf8) : [$0] } }
    for minimumUses in [0, 1, 16, 17, 18, 1000] {
      for areDictionary in [false, true] {
        let column = ColumnBytes.skeletons(
          skeletons, numbers, areDictionary: areDictionary, minimumUses: minimumUses)
        let found = try decoded(column, count: skeletons.count)
        #expect(found == expected, "\(minimumUses) uses, dictionary: \(areDictionary)")
      }
    }
  }
}
