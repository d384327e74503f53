import MMLogFormat
import TestSupport
import Testing

/// What no encoder writes: it is refused, or rows of the announced size, and neither traps nor
/// takes long.
@Suite struct ColumnCorruptionTests {
  private static let threads = [ThreadIdentity(ordinal: 1, id: 2, name: "main")]
  private static let identity: UInt64 = 1 | 2 << 48

  private static func frame(_ count: Int, _ fields: [ColumnFrame.Field]) -> ColumnFrame {
    let identities = [UInt64](repeating: identity, count: count)
    return ColumnFrame(
      [ColumnFrame.Group(identities, fields, write: ColumnBytes.constant)], threads: threads)
  }

  /// A field whose column stands for these words, or claims to.
  private static func word(_ count: Int, _ column: ColumnBytes) -> ColumnFrame.Field {
    .word([UInt64](repeating: 0, count: count)) { _ in column }
  }

  private static func string(_ values: [String], _ column: ColumnBytes) -> ColumnFrame.Field {
    .string(values.map { Array($0.utf8) }, column)
  }

  private func decode(_ frame: ColumnFrame, size: Int? = nil, count: Int? = nil) throws -> [UInt8] {
    try rows(
      frame.columns.payload(), size: size ?? frame.rows.count,
      count: count ?? Int(frame.summary.count))
  }

  /// A few records with every encoding.
  private static let small: ColumnFrame = {
    let values = [3, 3, 3, 9, .max, 9] as [UInt64]
    let texts = ["a 1", "a 22", "b", "b", "a 1", "a 5"]
    let patterned: [ColumnBytes.Patterned] = [
      .init([0x61, 0x20, 0], [11]), .init([0x61, 0x20, 0], [122]), .init([0x62], isLoose: true),
      .init([0x62]), .init([0x61, 0x20, 0], [11]), .init([0x61, 0x20, 1], [0x15]),
    ]
    let doubles = values.map { Int64(bitPattern: $0 & 15) }.map { (Double($0) / 10).bitPattern }
    return frame(
      6,
      [
        .word(values, ColumnBytes.packed), .word(values) { .patched($0, width: 3) },
        .word(values) { .dictionary($0) }, .word(values) { .differences($0) },
        .word(values) { .runs($0) },
        .word(doubles.dropLast() + [7]) { _ in .decimals(1, [3, 3, 3, 9, 15, 0], [(5, 7)]) },
        string(texts, .plain(texts.map { Array($0.utf8) })),
        string(texts, .dictionary(texts.map { Array($0.utf8) })),
        string(texts, .patterns(patterned)),
        string(texts, .patterns(patterned) { .planes($0, width: 1, random: 0) }),
        string(texts, .patterns(patterned) { .planes($0, width: 2, random: 2) }),
      ])
  }()

  @Test("a payload cut anywhere is refused") func aPayloadCutAnywhereIsRefused() throws {
    let (size, count) = (Self.small.rows.count, Int(Self.small.summary.count))
    for isDeflated in [false, true] {
      let payload = Self.small.columns.payload(isDeflated: isDeflated)
      #expect(try rows(payload, size: size, count: count) == Self.small.rows)
      for cut in 0..<payload.count {
        #expect((try? rows(Array(payload.prefix(cut)), size: size, count: count)) == nil, "\(cut)")
      }
      #expect((try? rows(payload + [0], size: size, count: count)) == nil, "a byte more")
    }
  }

  @Test("a payload with any bit flipped is refused or rows of that size")
  func aPayloadWithAnyBitFlippedIsRefusedOrRowsOfThatSize() {
    let (size, count) = (Self.small.rows.count, Int(Self.small.summary.count))
    let payload = Self.small.columns.payload()
    for bit in 0..<payload.count * 8 {
      let found = try? rows(payload.flipping(bit: bit), size: size, count: count)
      #expect(found == nil || found?.count == size, "bit \(bit)")
    }
  }

  @Test("random bytes are refused or rows of that size")
  func randomBytesAreRefusedOrRowsOfThatSize() {
    var random = SeededGenerator(seed: 31)
    let (size, count) = (Self.small.rows.count, Int(Self.small.summary.count))
    for round in 0..<3000 {
      var columns = Self.small.columns
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        let index = Int.random(in: 0..<columns.numbers.count, using: &random)
        columns.numbers[index] =
          [0, 1, 2, 0x7F, 0x80, 0xFF, UInt8(round & 255)].randomElement(using: &random) ?? 0
      }
      let found = try? rows(columns.payload(), size: size, count: count)
      #expect(found == nil || found?.count == size, "seed 31, round \(round)")
    }
  }

  @Test("another size or count is refused") func anotherSizeOrCountIsRefused() throws {
    let (size, count) = (Self.small.rows.count, Int(Self.small.summary.count))
    for other in [-8, 0, 8, size - 8, size - 1, size + 1, size + 8, 64 << 20, (64 << 20) + 1, .max]
    {
      #expect((try? decode(Self.small, size: other)) == nil, "size \(other)")
    }
    for other in [-1, 0, count - 1, count + 1, 1 << 20, 1 << 32, .max] {
      #expect((try? decode(Self.small, count: other)) == nil, "count \(other)")
      #expect((try? decode(Self.small, size: 64 << 20, count: other)) == nil, "count \(other)")
    }
  }

  @Test("a column that breaks a rule is refused") func aColumnThatBreaksARuleIsRefused() throws {
    let minimum = [0] + [UInt8](repeating: 0xFF, count: 9) + [1]  // the constant −2⁶³
    let many = ColumnBytes.constant(1 << 53 + 1).numbers
    let sixteen = [UInt8](repeating: 1, count: 16)
    let wrong: [[UInt8]] = [
      [8], [255], [7, 0], [7, 0, 0, 0], [7, 0, 9, 0] + sixteen, [7, 0, 1, 2] + sixteen,
      [7, 0, 1, 1, 1], [7, 0, 1, 0], [1, 0, 65] + sixteen, [6, 0, 64, 1] + sixteen + [0, 1],
      [6, 0, 0, 1, 2, 1],
      [3, 3, 0, 0, 0, 0], [3, 0, 0, 0], [3, 1, 0, 0, 0, 2], [3] + minimum.dropFirst(),
      [4, 23, 0, 0, 0], [4, 0] + many + [0], [4, 0] + minimum + [0], [4, 0, 0, 0, 3],
      [4, 0, 0, 0, 1, 0, 4, 0, 0], [5, 0], [5, 1, 0, 0, 0, 2], [5, 2, 0, 0, 0, 1],
      [5, 2, 0, 0] + minimum, [5, 3, 0, 0, 0, 0], [0] + [UInt8](repeating: 0xFF, count: 9) + [2],
      [0] + [UInt8](repeating: 0x80, count: 12) + [0],
    ]
    for (index, numbers) in wrong.enumerated() {
      let column = ColumnBytes(numbers: numbers)
      let frame = Self.frame(2, [Self.word(2, column)])
      #expect((try? decode(frame)) == nil, "column \(index): \(numbers)")
    }
    let whole = Self.frame(2, [Self.word(2, .bytes(0) + .varint(0))])
    #expect(try decode(whole) == whole.rows, "the frame is right but for those")
  }

  @Test("columns nest four deep and no deeper") func columnsNestFourDeepAndNoDeeper() throws {
    func nested(_ depth: Int) -> ColumnBytes {
      depth == 1 ? .constant(0) : .bytes(2, 0) + nested(depth - 1)
    }
    let allowed = Self.frame(9, [Self.word(9, nested(4))])
    #expect(try decode(allowed) == allowed.rows)
    // So many differences, and a constant in the last.
    for depth in [4, 5, 100_000] {
      let column = ColumnBytes(
        numbers: (0..<depth).flatMap { _ in [2, 0] as [UInt8] } + [0, 0])
      #expect((try? decode(Self.frame(9, [Self.word(9, column)]))) == nil, "\(depth) deep")
    }
  }

  @Test("a string column that breaks a rule is refused")
  func aStringColumnThatBreaksARuleIsRefused() throws {
    func patterns(_ placeholder: UInt8, _ value: UInt64) -> ColumnBytes {
      .patterns([.init([placeholder], [value]), .init([placeholder], [value])])
    }
    let decimals: [UInt64] = [
      0, 1, 2, 7, 9, 20, 27, 99, 200, 1 << 63, 9_999_999_999_999_999_999,
    ]
    let hexadecimals: [UInt64] = [0, 1, 2, 15, 0x20, 0x30, 0xFF, 0x200, 2 << 60, .max]
    for (placeholder, right, wrong) in [
      (0, 17, decimals), (1, 0x17, hexadecimals), (2, 0x17, hexadecimals),
    ] as [(UInt8, UInt64, [UInt64])] {
      let fits = Self.frame(2, [Self.string(["7", "7"], patterns(placeholder, right))])
      #expect(try decode(fits) == fits.rows)
      for number in wrong {
        let frame = Self.frame(2, [Self.string(["7", "7"], patterns(placeholder, number))])
        for size in stride(from: 0, to: 200, by: 8) {
          #expect((try? decode(frame, size: size)) == nil, "\(number)")
        }
      }
    }
    let minimum = [0] + [UInt8](repeating: 0xFF, count: 9) + [1]
    let wrong: [[UInt8]] = [
      [3], [0, 0, 2], [0, 0, 1], [0] + minimum, [1, 3, 0, 0, 0, 0], [1, 0, 0, 0],
      [1, 1, 0, 0, 0, 2], [0, 0, 0, 0],
      // Patterns: too many, something in common with none, one that is not there, a string missing.
      [2, 3, 0, 0, 0, 0, 0, 0], [2, 1, 0, 2, 0, 0, 0, 2], [2, 1, 0, 0, 0, 0, 0, 4],
      [2, 1, 0, 0, 0, 0, 0, 0], [2, 1] + minimum + [0, 0, 0, 2], [2, 1, 0, 0, 0, 0] + minimum,
    ]
    for (index, column)
      in (wrong.map { ColumnBytes(numbers: $0) } + [
        ColumnBytes(numbers: [0, 0, 0], text: [1])
      ]).enumerated()
    {
      let frame = Self.frame(2, [Self.string(["", ""], column)])
      #expect((try? decode(frame)) == nil, "column \(index)")
    }
  }

  @Test("a frame that breaks a rule is refused") func aFrameThatBreaksARuleIsRefused() throws {
    let right = ColumnFrame.Group([1, 1], [.rest([[5], [6]]) { .plain($0) }])
    let frame = ColumnFrame([right], threads: Self.threads)
    #expect(try decode(frame) == frame.rows)
    let odd = ColumnFrame.Field.rest([[5], [6]]) { .plain($0.map { $0.dropLast() }) }
    let word = ColumnFrame.Field.word([1, 2], ColumnBytes.packed)
    let unused = ColumnFrame.Group([], [], write: { _ in ColumnBytes() })
    let unusedFields = (0..<1000).map { _ in ColumnFrame.Field.word([]) { _ in ColumnBytes() } }
    for (index, groups) in [
      [ColumnFrame.Group([1, 1], [odd])], [ColumnFrame.Group([1, 1], [odd, word])],
      [ColumnFrame.Group([1, 1], [word, odd])], [right, unused],
      [right, ColumnFrame.Group([], unusedFields, write: { _ in ColumnBytes() })],
    ].enumerated() {
      #expect((try? decode(ColumnFrame(groups, threads: Self.threads))) == nil, "groups \(index)")
    }
  }
}
