import TestSupport

/// A regular expression that is matched by a search that tries everything, byte by byte.
indirect enum NaivePattern {
  case text(String)
  /// One byte: its source, and the bytes that match.
  case byte(String, Set<UInt8>)
  case sequence([NaivePattern])
  case either(NaivePattern, NaivePattern)
  case times(NaivePattern, ClosedRange<Int>, String)
  case start, end, wordEdge, noWordEdge

  private static let all = Set(UInt8.min...UInt8.max)
  private static let digits = Set(UInt8(ascii: "0")...UInt8(ascii: "9"))
  private static let spaces: Set<UInt8> = [0x20, 9, 10, 11, 12, 13]
  private static let word = digits.union(Set(0x41...0x5A)).union(Set(0x61...0x7A)).union([0x5F])

  private static let bytes: [(String, Set<UInt8>)] = [
    (".", all), (#"\d"#, digits), (#"\D"#, all.subtracting(digits)), (#"\w"#, word),
    (#"\W"#, all.subtracting(word)), (#"\s"#, spaces), (#"\S"#, all.subtracting(spaces)),
    (#"[\d.]"#, digits.union([0x2E])), (#"[^\d-]"#, all.subtracting(digits).subtracting([0x2D])),
    (#"[\W1]"#, all.subtracting(word).union([0x31])), (#"[ab\]]"#, [0x61, 0x62, 0x5D]),
    (#"\t"#, [9]), (#"\x2e"#, [0x2E]), ("[a-b^]", [0x61, 0x62, 0x5E]),
  ]

  static func randomText(_ generator: inout SeededGenerator) -> String {
    (0..<Int.random(in: 0...10, using: &generator)).map { _ in
      generator.pick("a", "b", "A", "1", "2", ".", "-", " ", "\t", "é", "]", "^", "_", "ab", "{")
    }.joined()
  }

  static func random(_ generator: inout SeededGenerator, depth: Int = 3) -> NaivePattern {
    switch Int.random(in: 0..<(depth > 0 ? 11 : 6), using: &generator) {
    case 0...2:
      return .text(generator.pick("a", "b", "ab", "1", "é", "-", "_", "A", "é1", "]", "{"))
    case 3, 4:
      let (source, set) = bytes.randomElement(using: &generator) ?? bytes[0]
      return .byte(source, set)
    case 5: return generator.pick(.start, .end, .wordEdge, .noWordEdge, .text("ab"), .text("1"))
    case 6...8:
      return .sequence((0...2).map { _ in random(&generator, depth: depth - 1) })
    case 9:
      return .either(random(&generator, depth: depth - 1), random(&generator, depth: depth - 1))
    default:
      let (range, sign) = generator.pick(
        (0...40, "*"), (1...40, "+"), (0...1, "?"), (2...3, "{2,3}"), (0...40, "*?"), (1...40, "+?")
      )
      return .times(random(&generator, depth: depth - 1), range, sign)
    }
  }

  /// The expression as a user types it.
  var source: String {
    switch self {
    case .text(let text): text == "]" || text == "{" ? "\\" + text : text
    case .byte(let source, _): source
    case .sequence(let parts): parts.map(\.source).joined()
    case .either(let a, let b): "(?:\(a.source)|\(b.source))"
    case .times(let part, _, let sign): "(\(part.source))" + sign
    case .start: "^"
    case .end: "$"
    case .wordEdge: #"\b"#
    case .noWordEdge: #"\B"#
    }
  }

  func isFound(in text: [UInt8], ignoresCase: Bool) -> Bool {
    let text = ignoresCase ? text.map(Self.lower) : text
    return (0...text.count).contains { !ends(text, [$0], ignoresCase).isEmpty }
  }

  private static func lower(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }

  /// Where a match can end if it begins at one of these places.
  private func ends(_ text: [UInt8], _ starts: Set<Int>, _ ignoresCase: Bool) -> Set<Int> {
    switch self {
    case .text(let own):
      let bytes = ignoresCase ? own.utf8.map(Self.lower) : Array(own.utf8)
      return Set(starts.filter { text[$0...].starts(with: bytes) }.map { $0 + bytes.count })
    case .byte(_, let set):
      let set = ignoresCase ? Set(set.map(Self.lower)) : set
      return Set(starts.filter { $0 < text.count && set.contains(text[$0]) }.map { $0 + 1 })
    case .sequence(let parts):
      return parts.reduce(starts) { $1.ends(text, $0, ignoresCase) }
    case .either(let a, let b):
      return a.ends(text, starts, ignoresCase).union(b.ends(text, starts, ignoresCase))
    case .times(let part, let range, _):
      var (now, found) = (starts, range.contains(0) ? starts : [])
      for count in 1...range.upperBound where !now.isEmpty {
        let next = part.ends(text, now, ignoresCase)
        if range.contains(count), next.isSubset(of: found), count > range.lowerBound { break }
        if range.contains(count) { found.formUnion(next) }
        now = next
      }
      return found
    case .start: return starts.intersection([0])
    case .end: return starts.intersection([text.count])
    case .wordEdge: return starts.filter { Self.isEdge(text, $0) }
    case .noWordEdge: return starts.filter { !Self.isEdge(text, $0) }
    }
  }

  private static func isEdge(_ text: [UInt8], _ place: Int) -> Bool {
    let before = place > 0 && word.contains(text[place - 1])
    let after = place < text.count && word.contains(text[place])
    return before != after
  }
}
