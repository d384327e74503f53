import MMLogReader
package import MMLogStorage

/// Reads a size from the command line: `500`, `500K`, `2G` (K, M, G and T are powers of 1024), or
/// with a unit of `--where`, such as `500MB` or `500MiB`. Returns nil for anything else.
package func sizeArgument(_ text: String) -> Int? {
  let shift = ["K": 10, "M": 20, "G": 30, "T": 40][text.last?.uppercased() ?? ""]
  let digits = shift == nil ? text : String(text.dropLast())
  guard let value = Int(digits), value >= 0 else {
    return Quantity(text)?.bytes.flatMap { $0 >= 0 ? Int(exactly: $0.rounded()) : nil }
  }
  let (size, overflow) = value.multipliedReportingOverflow(by: 1 << (shift ?? 0))
  return overflow ? nil : size
}

/// Reads space on a file system from the command line: a size, or `5%`. Returns nil for anything
/// else.
package func spaceArgument(_ text: String) -> Retention.FreeSpace? {
  guard text.hasSuffix("%") else { return sizeArgument(text).map { .bytes($0) } }
  guard let percent = Double(text.dropLast()), (0...100).contains(percent) else { return nil }
  return .fraction(percent / 100)
}
