/// The sequence of records of one thread, or of several threads that log one after the other. What
/// a record says follows from a seed, the lane's number and the record's, so that each can be
/// checked byte for byte.
package struct Lane: Sendable {
  /// The longest text that there may be, in bytes.
  package static let longestText = 1 << 17

  package let number: Int
  /// How long the texts are, in bytes.
  package let sizes: ClosedRange<Int>
  private let seed: UInt64
  /// Whether spans decide about flight records. If so, each flight record is in a span.
  private let spansDecide: Bool

  package init(_ number: Int, sizes: ClosedRange<Int>, seed: UInt64, spansDecide: Bool = false) {
    self.number = number
    self.sizes = sizes
    self.seed = seed
    self.spansDecide = spansDecide
  }

  /// Makes the bytes that all texts are parts of. Call this before a fork: the child may find the
  /// bytes half made, and wait for ever.
  package static func prepare() { _ = Pattern.bytes }

  /// The text that follows lane and number in a record's message. Valid as long as the process
  /// lives.
  package func text(of sequence: Int) -> UnsafeRawBufferPointer {
    let random = mix(seed &+ mix(UInt64(number) << 40 | UInt64(sequence)))
    // Most texts are short, and a few as long as they may be.
    let span = UInt64(sizes.upperBound - sizes.lowerBound + 1) >> (random >> 60)
    let count = sizes.lowerBound + (span > 0 ? Int(random % span) : 0)
    return UnsafeRawBufferPointer(
      rebasing: Pattern.bytes[Int(random >> 32 & 0xFFFF)...].prefix(count))
  }

  /// Whether `message` is what this lane logs with that number.
  package func logged(_ message: [UInt8], as sequence: Int) -> Bool {
    let start = Array("\(number) \(sequence) ".utf8)
    let text = text(of: sequence)
    return message.count == start.count + text.count && message.starts(with: start)
      && message.withUnsafeBytes { message in
        UnsafeRawBufferPointer(rebasing: message[start.count...]).isEqual(to: text)
      }
  }

  /// Whether a record begins or ends a span, where threads use spans. No burst of records ends
  /// between the two.
  package enum SpanEdge {
    case begins, ends
  }

  /// Whether a record begins a span, or ends the one that the record before has begun. A record
  /// that others are logged in does neither.
  package func spanEdge(at sequence: Int) -> SpanEdge? {
    if spansDecide {
      return sequence % 4 == 1 ? .begins : sequence % 4 == 3 ? .ends : nil
    }
    if beginsSpan(sequence) { return .begins }
    return beginsSpan(sequence - 1) ? .ends : nil
  }

  /// Whether a record is a flight record in a span, which the record before begins and the one
  /// behind it ends.
  package func isInSpan(_ sequence: Int) -> Bool { spansDecide && sequence % 4 == 2 }

  /// Whether the span that a record is in, or ends, fails.
  package func fails(_ sequence: Int) -> Bool { spansDecide && sequence / 4 % 2 == 0 }

  private func beginsSpan(_ sequence: Int) -> Bool {
    sequence % 4 == 3 && !Self.isOuter(sequence) && !Self.isOuter(sequence + 1)
  }

  /// Whether others are logged in a record, where threads nest log calls.
  package static func isOuter(_ sequence: Int) -> Bool { sequence % 5 == 0 }

  /// Lane and number of a record, from the beginning of its message.
  package static func position(of message: [UInt8]) -> (lane: Int, sequence: Int)? {
    var numbers = [0, 0]
    var index = 0
    for position in 0..<2 {
      while index < message.count, case let digit = message[index], (48...57).contains(digit) {
        numbers[position] = numbers[position] * 10 + Int(digit - 48)
        index += 1
      }
      guard index < message.count, message[index] == 32 else { return nil }
      index += 1
    }
    return (numbers[0], numbers[1])
  }
}

/// The bytes that all texts are parts of: bytes from 0 to 127.
private enum Pattern {
  nonisolated(unsafe) static let bytes: UnsafeRawBufferPointer = {
    // Room for any place that a text begins at, and for the longest text.
    let bytes = UnsafeMutableRawBufferPointer.allocate(
      byteCount: (1 << 16) + Lane.longestText, alignment: 8)
    var state: UInt64 = 1
    for offset in stride(from: 0, to: bytes.count & ~7, by: 8) {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      bytes.storeBytes(of: state & 0x7F7F_7F7F_7F7F_7F7F, toByteOffset: offset, as: UInt64.self)
    }
    return UnsafeRawBufferPointer(bytes)
  }()
}

/// The output function of SplitMix64.
package func mix(_ value: UInt64) -> UInt64 {
  var value = value &+ 0x9E37_79B9_7F4A_7C15
  value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
  value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
  return value ^ value >> 31
}

extension UnsafeRawBufferPointer {
  /// Compares eight bytes at a time, which is fast even in unoptimized builds.
  fileprivate func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    for offset in stride(from: 0, to: count & ~7, by: 8)
    where loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    {
      return false
    }
    return self[(count & ~7)...].elementsEqual(other[(count & ~7)...])
  }
}
