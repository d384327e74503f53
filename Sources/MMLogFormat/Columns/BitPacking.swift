/// Bits that a number needs: 0 for 0.
@inline(__always)
func bitWidth(_ value: UInt64) -> Int { 64 &- value.leadingZeroBitCount }

/// Bytes that `count` numbers of `width` bits take.
@inline(__always)
func packedSize(_ count: Int, width: Int) -> Int { (count &* width &+ 7) >> 3 }

/// A word whose lowest bits are set.
@inline(__always)
func lowestBits(_ width: Int) -> UInt64 { width == 64 ? .max : (1 << UInt64(width)) &- 1 }

/// Writes the lowest `width` bits of `values[i] − minimum`, one after the other, the lowest bit
/// first.
///
/// Writes whole words: up to two more than ``packedSize(_:width:)``.
///
/// - Parameter isMasked: Whether numbers may have more bits than `width`. If this is false and one
///   has more, the output is of no use.
/// - Returns: The bits that are set in any `values[i] − minimum`.
@inline(__always)
func pack(
  _ values: UnsafePointer<UInt64>, count: Int, minimum: UInt64, width: Int,
  to output: UnsafeMutableRawPointer, isMasked: Bool
) -> UInt64 {
  var (word, all): (UInt64, UInt64) = (0, 0)
  var filled = 0
  var next = output
  var index = 0
  let mask = lowestBits(width)
  let shift = UInt64(truncatingIfNeeded: width)
  @inline(__always) func value(_ index: Int) -> UInt64 {
    let value = values[index] &- minimum
    all |= value
    return isMasked ? value & mask : value
  }
  if width <= 16 {
    // Eight numbers are whole bytes: no bits are carried to the next eight.
    @inline(__always) func four(_ index: Int) -> UInt64 {
      let low = value(index) | value(index &+ 1) &<< shift
      let high = value(index &+ 2) | value(index &+ 3) &<< shift
      return low | high &<< (2 &* shift)
    }
    while index &+ 8 <= count {
      let (low, high) = (four(index), four(index &+ 4))
      let (first, second) = (low | high << (4 &* shift), high >> (64 &- 4 &* shift))
      next.storeBytes(of: first.littleEndian, as: UInt64.self)
      next.storeBytes(of: second.littleEndian, toByteOffset: wordSize, as: UInt64.self)
      next += width
      index &+= 8
    }
  } else if width <= 28 {
    // Two numbers and the bits of a byte that was begun are a word at most.
    while index &+ 2 <= count {
      word |= (value(index) | value(index &+ 1) &<< shift) &<< UInt64(truncatingIfNeeded: filled)
      next.storeBytes(of: word.littleEndian, as: UInt64.self)
      filled &+= 2 &* width
      next += filled >> 3
      word = word &>> UInt64(truncatingIfNeeded: filled & ~7)
      filled &= 7
      index &+= 2
    }
  }
  while index < count {
    let value = value(index)
    word |= value &<< UInt64(truncatingIfNeeded: filled)
    filled &+= width
    if filled >= 64 {
      next.storeBytes(of: word.littleEndian, as: UInt64.self)
      next += wordSize
      filled &-= 64
      // The bits that did not fit. A shift by 64 would be one by 0.
      word = filled == 0 ? 0 : value &>> UInt64(truncatingIfNeeded: width &- filled)
    }
    index &+= 1
  }
  if filled > 0 { next.storeBytes(of: word.littleEndian, as: UInt64.self) }
  return all
}

/// Reads what ``pack(_:count:minimum:width:to:isMasked:)`` wrote; `input` has 8 bytes more than
/// that, of any value.
@inline(__always)
func unpack(
  _ input: UnsafeRawPointer, count: Int, minimum: UInt64, width: Int,
  to values: UnsafeMutablePointer<UInt64>
) {
  let mask = lowestBits(width)
  var bit = 0
  for index in 0..<count {
    let (offset, shift) = (bit >> 3, UInt64(bit & 7))
    let low = UInt64(littleEndian: input.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    var value = low &>> shift
    if width > 56, shift > 0 {
      let high = input.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt8.self)
      value |= UInt64(high) &<< (64 &- shift)
    }
    values[index] = (value & mask) &+ minimum
    bit &+= width
  }
}
