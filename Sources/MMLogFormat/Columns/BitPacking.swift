/// Bits that a number needs: 0 for 0.
@inline(__always)
func bitWidth(_ value: UInt64) -> Int { 64 &- value.leadingZeroBitCount }

/// Bytes that so many numbers of so many bits take.
@inline(__always)
func packedSize(_ count: Int, width: Int) -> Int { (count &* width &+ 7) >> 3 }

/// Writes the lowest `width` bits of `values[i] − minimum`, one after the other, the lowest bit
/// first.
///
/// Writes whole words: up to seven bytes more than ``packedSize(_:width:)``.
@inline(__always)
func pack(
  _ values: UnsafePointer<UInt64>, count: Int, minimum: UInt64, width: Int,
  to output: UnsafeMutableRawPointer
) {
  var word: UInt64 = 0
  var filled = 0
  var next = output
  var index = 0
  let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) &- 1
  while index < count {
    let value = (values[index] &- minimum) & mask
    word |= value &<< UInt64(truncatingIfNeeded: filled)
    filled &+= width
    if filled >= 64 {
      next.storeBytes(of: word.littleEndian, as: UInt64.self)
      next += wordSize
      filled &-= 64
      // What did not fit; a shift by 64 would be one by 0.
      word = filled == 0 ? 0 : value &>> UInt64(truncatingIfNeeded: width &- filled)
    }
    index &+= 1
  }
  if filled > 0 { next.storeBytes(of: word.littleEndian, as: UInt64.self) }
}

/// Reads what ``pack(_:count:minimum:width:to:)`` wrote; `input` has 8 bytes more than that, of any
/// value.
@inline(__always)
func unpack(
  _ input: UnsafeRawPointer, count: Int, minimum: UInt64, width: Int,
  to values: UnsafeMutablePointer<UInt64>
) {
  let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) &- 1
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
