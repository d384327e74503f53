import TestSupport
import Testing

@testable import MMLogFormat

/// Values that somebody has chosen so that all of them belong into one slot of a hash table.
@Suite struct DistinctTableTests {
  private static let count = 26_000
  private static let distinct = 4096
  /// What hashes are multiplied by, and the number that undoes that.
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
  private static let inverse = (0..<6).reduce(factor) { inverse, _ in
    inverse &* (2 &- factor &* inverse)
  }

  /// The place of each value of a column among the different ones. A sample of the first ones has
  /// few different values.
  private static func place(_ index: Int) -> UInt64 {
    UInt64(index < 64 ? index % 32 : index % distinct)
  }

  /// Strings of a word. Those that collide have small hashes, whose bits 40 and higher are zero.
  private func strings(collide: Bool) -> [[UInt8]] {
    (0..<Self.count).map { index in
      let word = (Self.place(index) + 1) &* (collide ? Self.inverse : Self.factor) ^ 8
      return withUnsafeBytes(of: word.littleEndian) { Array($0) }
    }
  }

  private func numbers(collide: Bool) -> [UInt64] {
    (0..<Self.count).map { index in
      let product = (Self.place(index) + 1) &* (collide ? Self.inverse : Self.factor)
      return product ^ product >> 32
    }
  }

  @Test("the strings of this suite collide") func theStringsOfThisSuiteCollide() {
    for string in strings(collide: true).prefix(100) {
      let memory = AlignedBytes(string)
      let hash = withExtendedLifetime(memory) {
        memory.bytes.baseAddress.map { MMLogFormat.hash(of: $0, string.count) }
      }
      #expect((hash ?? .max) >> 40 == 0)
    }
  }

  @Test("strings that collide make no dictionary, and come back", arguments: [true, false])
  func stringsThatCollideMakeNoDictionary(collide: Bool) throws {
    let strings = strings(collide: collide)
    let column = encoded(strings)
    #expect((column.numbers[0] == StringEncoding.dictionary.rawValue) == !collide)
    #expect(try decoded(column, count: strings.count) == strings)
  }

  @Test("numbers that collide make no dictionary, and come back", arguments: [true, false])
  func numbersThatCollideMakeNoDictionary(collide: Bool) throws {
    let numbers = numbers(collide: collide)
    let column = encoded(numbers)
    #expect((column[0] == NumberEncoding.dictionary.rawValue) == !collide)
    #expect(try decoded(column, count: numbers.count) == numbers)
  }

  @Test("regular numbers make a dictionary", arguments: [0, 16, 28, 30, 32, 40, 44, 48, 51])
  func regularNumbersMakeADictionary(shift: Int) throws {
    let numbers = (0..<Self.count).map {
      // In no order, so that nothing but a dictionary is worth it.
      (Self.place($0) &* 2654 % UInt64(Self.distinct)) << UInt64(shift) | UInt64($0 % 2) << 63
    }
    let distinct = DistinctTable()
    let indexes = WordBuffer(capacity: numbers.count)
    let isIndexed = withExtendedLifetime(indexes) {
      numbers.withUnsafeBufferPointer { numbers in
        numbers.baseAddress.map {
          distinct.index($0, count: numbers.count, limit: DistinctTable.maximum, indexes.base)
        }
      }
    }
    #expect(isIndexed == true)
  }
}
