// Eight hexadecimal digits at once: their bytes are a word, the first one its lowest.

/// The number that eight digits stand for; for other bytes, any number.
@inline(__always)
func hexadecimalNumber(_ digits: UInt64) -> UInt64 {
  // A letter's value is its place in the alphabet plus 9.
  let nibbles =
    (digits & 0x0F0F_0F0F_0F0F_0F0F) &+ (digits >> 6 & 0x0101_0101_0101_0101) &* 9
  var number = (nibbles & 0x0F0F_0F0F_0F0F_0F0F).byteSwapped
  number = (number | number >> 4) & 0x00FF_00FF_00FF_00FF
  number = (number | number >> 8) & 0x0000_FFFF_0000_FFFF
  return (number | number >> 16) & 0xFFFF_FFFF
}

/// The eight digits, in lower case, of the lower half of a word.
@inline(__always)
func hexadecimalDigits(_ number: UInt64) -> UInt64 {
  var nibbles = number & 0xFFFF_FFFF
  nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
  nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
  nibbles = ((nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F).byteSwapped
  // Adding 6 makes a carry in each nibble above 9.
  let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
  return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
}
