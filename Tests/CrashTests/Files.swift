import Glibc

/// Fast also where nothing is optimized.
func isEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
  first.count == second.count
    && first.withUnsafeBytes { first in
      second.withUnsafeBytes { second in
        guard let start = first.baseAddress, let other = second.baseAddress else { return true }
        return memcmp(start, other, first.count) == 0
      }
    }
}
