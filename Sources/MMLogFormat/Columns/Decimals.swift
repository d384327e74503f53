// Doubles that are decimals of few digits, as whole numbers and one exponent for all.

/// Numbers inspected to find the exponent.
private let sampleSize = 32
/// Larger exponents are rare, and not searched for.
private let likelyExponents = 0...9
/// Adding and subtracting it rounds a double below 2⁵¹ to a whole number, to even.
private let roundingConstant = 6_755_399_441_055_744.0

/// The whole number *m* for which m / 10ᵉ is exactly the double of these bits, if there is one.
@inline(__always)
func scaledDecimal(_ bits: UInt64, _ power: Double) -> Int64? {
  let value = Double(bitPattern: bits)
  let product = value * power
  guard product.magnitude < 0x1p50 else { return nil }
  let whole = (product + roundingConstant) - roundingConstant
  return (whole / power).bitPattern == bits ? Int64(whole) : nil
}

/// The bits of the double that was written as a whole number; nil for one that a double does not
/// hold exactly.
@inline(__always)
func decimalBits(_ whole: UInt64, _ power: Double) -> UInt64? {
  let whole = Int64(bitPattern: whole)
  guard whole.magnitude <= 1 << 53 else { return nil }
  return (Double(whole) / power).bitPattern
}

/// The lowest exponent with which nearly all of a sample are whole numbers, or nil.
func decimalExponent(_ values: UnsafePointer<UInt64>, count: Int) -> Int? {
  let step = max(1, count / sampleSize)
  let sample = stride(from: 0, to: count, by: step)
  var best: (exponent: Int, misses: Int)?
  for exponent in likelyExponents {
    var (misses, all) = (0, 0)
    for index in sample {
      all += 1
      if scaledDecimal(values[index], powersOfTen[exponent]) == nil { misses += 1 }
    }
    if misses <= all / 16, misses < best?.misses ?? .max { best = (exponent, misses) }
    if misses == 0 { break }
  }
  return best?.exponent
}
