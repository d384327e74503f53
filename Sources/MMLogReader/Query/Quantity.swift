/// A number with a unit of time or size, such as `1.5s` or `64KiB`.
package struct Quantity {
  /// In nanoseconds; nil for a size.
  package let nanoseconds: Double?
  /// Nil for a time.
  package let bytes: Double?

  /// Nil if the text is no quantity.
  package init?(_ text: String) {
    let digits = text.utf8.prefix { "+-.0123456789".utf8.contains($0) }
    let unit = String(text.utf8.dropFirst(digits.count)) ?? ""
    guard let number = Double(String(digits) ?? ""), number.magnitude <= 1e12 else { return nil }
    if let size = Self.times[unit] {
      (nanoseconds, bytes) = (Self.product(number, size), nil)
    } else if let size = Self.sizes[unit] {
      (nanoseconds, bytes) = (nil, Self.product(number, size))
    } else {
      return nil
    }
  }

  /// The product, as a whole number if it lacks no more than what rounding may have changed:
  /// `1.001ms` are 1,001,000 ns.
  private static func product(_ number: Double, _ size: Double) -> Double {
    let (product, whole) = (number * size, (number * size).rounded())
    return (product - whole).magnitude <= 2 * product.ulp ? whole : product
  }

  /// The quantity in the unit that the name of a field ends in, as `elapsed_ms` does; nil if the
  /// name has no such unit. A size is in bytes if the name has no unit.
  func number(inUnitOf name: String) -> Double? {
    let unit = Self.unit(inName: name)
    if let nanoseconds { return Self.timesInNames[unit].map { nanoseconds / $0 } }
    if Self.timesInNames[unit] != nil { return nil }
    return bytes.map { $0 / (Self.sizesInNames[unit] ?? 1) }
  }

  /// The unit at the end of a field's name, in lower case: `elapsed_ms`, `elapsedMs`, `cacheMiB`.
  private static func unit(inName name: String) -> String {
    let word = name.split { "_-.".contains($0) }.last ?? ""
    let capitals = word.indices.dropFirst().filter {
      word[$0].isUppercase && !word[word.index(before: $0)].isUppercase
    }
    let ends = ([word.startIndex] + capitals).map { word[$0...].lowercased() }
    return ends.first { timesInNames[$0] != nil || sizesInNames[$0] != nil } ?? ""
  }

  private static let times: [String: Double] = [
    "ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "min": 6e10,
    "h": 3.6e12, "d": 8.64e13, "w": 6.048e14,
  ]
  private static let sizes: [String: Double] = [
    "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1024,
    "MiB": 1_048_576, "GiB": 1_073_741_824, "TiB": 1_099_511_627_776,
  ]
  /// Without `min`: at the end of a name, that is mostly a minimum.
  private static let timesInNames: [String: Double] = [
    "ns": 1, "nsec": 1, "nano": 1, "nanos": 1, "nanosecond": 1, "nanoseconds": 1,
    "us": 1e3, "µs": 1e3, "μs": 1e3, "usec": 1e3, "micros": 1e3, "microsecond": 1e3,
    "microseconds": 1e3, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "millis": 1e6, "millisecond": 1e6,
    "milliseconds": 1e6, "s": 1e9, "sec": 1e9, "secs": 1e9, "second": 1e9, "seconds": 1e9,
    "mins": 6e10, "minute": 6e10, "minutes": 6e10, "h": 3.6e12, "hr": 3.6e12, "hrs": 3.6e12,
    "hour": 3.6e12, "hours": 3.6e12, "d": 8.64e13, "day": 8.64e13, "days": 8.64e13,
    "week": 6.048e14, "weeks": 6.048e14,
  ]
  private static let sizesInNames: [String: Double] = [
    "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kilobytes": 1e3, "megabytes": 1e6,
    "gigabytes": 1e9, "terabytes": 1e12, "kib": 1024, "mib": 1_048_576, "gib": 1_073_741_824,
    "tib": 1_099_511_627_776, "kibibytes": 1024, "mebibytes": 1_048_576,
    "gibibytes": 1_073_741_824, "tebibytes": 1_099_511_627_776,
  ]
}
