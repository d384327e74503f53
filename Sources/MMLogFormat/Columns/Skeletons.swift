/// Takes the numbers out of strings: what is left, their skeletons, is often the same.
///
/// Up to ``ColumnLayout/maximumDigits`` digits in a row become one number, with a 1 before them
/// that keeps leading zeros; a zero byte takes their place.
final class Skeletons {
  let strings = StringList()
  /// The numbers of all strings, one string after the other.
  private let numbers = WordBuffer()
  /// Where the numbers of each string begin, and where those of the last one end.
  private let firsts = WordBuffer()
  private var bytes: UnsafeMutableRawPointer
  private var capacity = 4096

  init() { bytes = .allocate(byteCount: capacity, alignment: wordSize) }
  deinit { bytes.deallocate() }

  /// Makes the skeletons of the first `count` strings of `input`.
  ///
  /// - Returns: Whether it could: false if a string holds a zero byte.
  func make(from input: StringList, count: Int) -> Bool {
    reserve(input.size + count * wordSize)
    // There is something between two numbers, or they are long.
    numbers.grow(for: input.size / 2 + 2 * count)
    firsts.grow(for: input.count + 1)
    let firsts = firsts.base
    var output = bytes
    var taken = 0
    let isWhole = input.withStarts { input in
      strings.fill(count) { index in
        firsts[index] = UInt64(taken)
        guard let length = takeNumbers(of: input[index], to: output, &taken) else { return nil }
        defer { output += paddedSize(length) }
        return (UnsafeRawPointer(output), length)
      }
    }
    firsts[count] = UInt64(taken)
    return isWhole
  }

  private func reserve(_ size: Int) {
    guard size > capacity else { return }
    bytes.deallocate()
    capacity = max(size, 2 * capacity)
    bytes = .allocate(byteCount: capacity, alignment: wordSize)
  }

  /// Writes a string's skeleton to `output`.
  ///
  /// - Returns: Its length, or nil if the string holds a zero byte.
  @inline(__always)
  private func takeNumbers(
    of string: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer, _ taken: inout Int
  ) -> Int? {
    let numbers = numbers.base
    let output = output.assumingMemoryBound(to: UInt8.self)
    var (length, index) = (0, 0)
    while index < string.count {
      let byte = string[index]
      if byte == ColumnLayout.placeholder { return nil }
      if byte &- Self.zero > 9 {
        output[length] = byte
        index &+= 1
      } else {
        let end = min(string.count, index &+ ColumnLayout.maximumDigits)
        var number: UInt64 = 1
        while index < end, string[index] &- Self.zero <= 9 {
          number = number &* 10 &+ UInt64(string[index] &- Self.zero)
          index &+= 1
        }
        numbers[taken] = number
        taken &+= 1
        output[length] = ColumnLayout.placeholder
      }
      length &+= 1
    }
    for index in length..<paddedSize(length) { output[index] = 0 }
    return length
  }

  private static let zero = UInt8(ascii: "0")

  /// How many numbers were taken out of a string.
  @inline(__always)
  func count(of string: Int) -> Int {
    Int(truncatingIfNeeded: firsts.base[string &+ 1] &- firsts.base[string])
  }

  /// A number that was taken out of a string.
  @inline(__always)
  func number(of string: Int, _ position: Int) -> UInt64 {
    numbers.base[Int(truncatingIfNeeded: firsts.base[string]) &+ position]
  }
}
