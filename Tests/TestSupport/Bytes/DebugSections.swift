/// Debug information of a program with two log statements, and another call, at line 7 of `a.swift`
/// (DWARF, 5).
package func debugSections() -> [String: [UInt8]] {
  func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
  func sized(_ bytes: [UInt8]) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) } + bytes
  }
  // For each abbreviation: its number, its tag, whether it has children, and pairs of a name and a
  // form.
  let abbreviations: [UInt8] = [
    1, 0x11, 1, 0x10, 0x17, 0, 0, 2, 0x1D, 0, 0x31, 0x13, 0x58, 0x0B, 0x59, 0x0B, 0x57, 0x0B, 0, 0,
    3, 0x2E, 0, 0x6E, 0x08, 0, 0, 0,
  ]
  let head: [UInt8] = [5, 0, 1, 8, 0, 0, 0, 0]
  let root: [UInt8] = [1, 0, 0, 0, 0]
  let (log, other) = (text("$s5MMLog6LoggerV5debug4file8function4line6column"), text("$s1aAAyyF"))
  let first = 4 + head.count + root.count
  let second = first + 1 + log.count
  func call(_ origin: Int, column: UInt8) -> [UInt8] { [2, UInt8(origin), 0, 0, 0, 0, 7, column] }
  let info =
    head + root + [3] + log + [3] + other + call(first, column: 3) + call(first, column: 9)
    + call(first, column: 9) + call(second, column: 5) + [0]
  // The line program: an address, file 0, line 7, a row, and the end behind it.
  let program: [UInt8] = [
    0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, 4, 0, 3, 6, 5, 3, 1, 2, 16, 0, 1, 1,
  ]
  let names: [UInt8] = [1, 1, 8, 1] + text("/src") + [2, 1, 8, 2, 0x0B, 1] + text("a.swift") + [0]
  let header: [UInt8] = [1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1] + names
  let line = [5, 0, 8, 0] + sized(header) + program
  return [
    "info": sized(info), "abbrev": abbreviations, "line": sized(line), "line_str": [], "str": [],
    "str_offsets": [],
  ]
}
