@testable import MMLogFormat
import TestSupport
import Testing

@Suite struct ColumnNumberTests {
  private static let counts = [1, 2, 127, 128, 129, 255, 256, 257, 4096, 5000]
  private static let extremes: [UInt64] = [
    0, 1, .max, 1 << 63, .max >> 1, (1 << 63) + 1, .max - 1, 1 << 32,
  ]

  private func check(_ values: [UInt64], areDoubles: Bool = false, _ what: String) throws {
    let bytes = encoded(values, areDoubles: areDoubles)
    let found = try decoded(bytes, count: values.count)
    #expect(found == values, "\(what): \(bytes.first ?? 255)")
    #expect(bytes.count <= values.count * 8 + values.count / 8 + 16, "\(what)")
  }

  private func encoding(_ values: [UInt64], areDoubles: Bool = false) -> NumberEncoding? {
    NumberEncoding(rawValue: encoded(values, areDoubles: areDoubles)[0])
  }

  @Test("no numbers are nothing") func noNumbersAreNothing() throws {
    #expect(encoded([] as [UInt64]).isEmpty)
    #expect(try decoded([], count: 0).isEmpty)
  }

  @Test("numbers of every width come back", arguments: counts)
  func numbersOfEveryWidthComeBack(count: Int) throws {
    var generator = SeededGenerator(seed: UInt64(count))
    for width in 0...64 where count < 1000 || width % 9 == 1 {
      let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
      let base = generator.next()
      let values = (0..<count).map { _ in base &+ generator.next() & mask }
      try check(values, "seed \(count), width \(width)")
      try check(values.sorted(), "seed \(count), width \(width), sorted")
    }
  }

  /// What held for one block is tried for the next.
  @Test("blocks that are unlike those before come back")
  func blocksThatAreUnlikeThoseBeforeComeBack() throws {
    var generator = SeededGenerator(seed: 14)
    for round in 0..<200 {
      var (base, width, spikes) = (generator.next(), 8, 0)
      let values = (0..<Int.random(in: 1...1500, using: &generator)).map { index -> UInt64 in
        if index % ColumnLayout.block == 0, generator.next() % 2 == 0 {
          base &+= [1, 0 &- 1, 1 << 10, generator.next()][Int(generator.next() % 4)]
          width = Int.random(in: 0...(round % 3 == 0 ? 63 : 17), using: &generator)
          spikes = Int.random(in: 0...20, using: &generator)
        }
        let rest = generator.next() & ((1 << UInt64(width)) - 1)
        let isSpike = generator.next() % 128 < spikes
        return base &+ rest &+ (isSpike ? generator.next() >> UInt64(round % 64) : 0)
      }
      try check(values, "seed 14, round \(round)")
    }
  }

  @Test("extremes come back", arguments: counts) func extremesComeBack(count: Int) throws {
    for (index, value) in Self.extremes.enumerated() {
      try check(Array(repeating: value, count: count), "\(value)")
      for other in Self.extremes[..<index] {
        try check((0..<count).map { $0 % 3 == 0 ? value : other }, "\(value), \(other)")
      }
    }
    try check((0..<count).map { Self.extremes[$0 * 5 % 8] }, "all")
  }

  @Test("mixtures come back") func mixturesComeBack() throws {
    var generator = SeededGenerator(seed: 11)
    for round in 0..<60 {
      let count = Int.random(in: 1...700, using: &generator)
      var value = generator.next()
      let values = (0..<count).map { _ -> UInt64 in
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: value = generator.next()
        case 1: value &+= 1 << UInt64.random(in: 0..<64, using: &generator)
        case 2: value = UInt64(round)
        case 3...6 where round % 3 == 0: value &+= 7
        default: break
        }
        return value
      }
      try check(values, "seed 11, round \(round)")
      try check(values, areDoubles: true, "seed 11, round \(round), as doubles")
    }
  }

  @Test("doubles come back bit by bit") func doublesComeBackBitByBit() throws {
    let odd: [Double] = [
      -0.0, 0, .nan, -.nan, .signalingNaN, .infinity, -.infinity, .leastNonzeroMagnitude,
      .leastNormalMagnitude, .greatestFiniteMagnitude, -.leastNormalMagnitude / 8, 0.1 + 0.2, 1e22,
      0x1p50, 0x1p53,
      -0x1p63, .pi,
    ]
    try check(odd.map(\.bitPattern), areDoubles: true, "odd ones")
    var generator = SeededGenerator(seed: 12)
    for exponent in 0...22 {
      let power = (0..<exponent).reduce(1.0) { power, _ in power * 10 }
      for bits in [8, 30, 49, 51, 53] as [Int64] {
        var values = (0..<300).map { _ in
          (Double(Int64.random(in: -1 << bits...1 << bits, using: &generator)) / power).bitPattern
        }
        try check(values, areDoubles: true, "seed 12, exponent \(exponent), \(bits) bits")
        for index in odd.indices { values[index * 17] = odd[index].bitPattern }
        try check(values, areDoubles: true, "seed 12, exponent \(exponent), \(bits) bits, odd")
      }
    }
  }

  @Test("each encoding is chosen where it pays") func eachEncodingIsChosenWhereItPays() {
    var generator = SeededGenerator(seed: 13)
    let random = (0..<1000).map { _ in generator.next() }
    #expect(encoding(Array(repeating: 5, count: 1000)) == .constant)
    #expect(encoding(random.map { $0 & 0xFFFF }) == .packed)
    #expect(encoding(random.indices.map { UInt64($0) * 1000 + random[$0] & 63 }) == .differences)
    #expect(encoding(random.map { random[Int($0 % 9)] }) == .dictionary)
    #expect(encoding(random.indices.map { random[$0 / 100] }) == .runs)
    let prices = random.map { (Double($0 % 100_000) / 100).bitPattern }
    #expect(encoding(prices, areDoubles: true) == .decimals)
    #expect(encoding(prices) != .decimals)
    let spikes = random.indices.map { $0 % 60 == 7 ? random[$0] >> 20 : random[$0] & 15 }
    #expect(encoding(spikes) == .patched)
    #expect(encoding(random.map { $0 >> 40 * 26 + 7 }) == .multiples)
    // A dictionary is smaller than these as they are, and larger than their quotients.
    #expect(encoding(random.map { $0 % 300 * 2048 }) == .multiples)
    #expect(encoding(random.map { $0 >> 40 }) == .packed)
  }

  @Test("multiples come back, and what is none among them")
  func multiplesComeBackAndWhatIsNoneAmongThem() throws {
    var generator = SeededGenerator(seed: 15)
    for round in 0..<200 {
      let factor = UInt64.random(in: 1...(round % 2 == 0 ? 100 : 1 << 40), using: &generator)
      let base = round % 3 == 0 ? 0 : generator.next()
      let width = UInt64.random(in: 1...63, using: &generator)
      let isAnother = { (generator: inout SeededGenerator) in generator.next() % 64 < round % 8 }
      let values = (0..<Int.random(in: 1...1500, using: &generator)).map { _ in
        base &+ (generator.next() >> width) &* factor &+ (isAnother(&generator) ? 1 : 0)
      }
      try check(values, "seed 15, round \(round)")
      try check(values.sorted(), "seed 15, round \(round), sorted")
    }
  }

  /// The processor changes, and its counter is not quite the same.
  @Test(
    "a counter that advances in steps takes the bits that its steps take",
    arguments: [(1700, 200), (16, 2000)])
  func aCounterThatAdvancesInStepsTakesTheBitsThatItsStepsTake(period: Int, extra: Int) throws {
    var generator = SeededGenerator(seed: 16)
    var (fine, coarse, steps) = ([UInt64](), [UInt64](), UInt64(1) << 40)
    for index in 0..<5000 {
      steps += 1_000_000 + generator.next() % 16_384
      fine.append(steps)
      coarse.append(steps * 26 + UInt64(index / period))
    }
    try check(coarse, "seed 16, period \(period)")
    #expect(encoded(coarse).count < encoded(fine).count + extra)
  }

  @Test("columns written by hand come back") func columnsWrittenByHandComeBack() throws {
    let values = (0..<300).map { UInt64($0 * $0 % 77) }
    for (index, column) in [
      ColumnBytes.packed(values), .packed(values, width: 64), .packed(values, width: 57),
      .patched(values, width: 3), .dictionary(values), .differences(values), .runs(values),
      .dictionary(values, entries: { .differences($0) }, indexes: { .runs($0) }),
      .multiples(values, of: 9), .multiples(values, of: .max),
    ].enumerated() {
      #expect(try decoded(column.numbers, count: 300) == values, "column \(index)")
    }
  }
}
