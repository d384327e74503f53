import MMLogFormat
import TestSupport
import Testing

@testable import MMLogReader

/// What debug information says about a program's source.
@Suite struct DebugInformationTests {
  private func place(_ sections: [String: [UInt8]], line: UInt32, _ file: String) throws
    -> DebugInformation.Place?
  {
    var information = DebugInformation(sections)
    return try information.place(line: line) { $0.hasSuffix(file) }
  }

  @Test("calls and code of a line are found") func callsAndCodeOfALineAreFound() throws {
    let found = try #require(try place(debugSections(), line: 7, "/src/a.swift"))
    #expect(
      found.calls.map(\.place) == [
        "/src/a.swift:3", "/src/a.swift:9", "/src/a.swift:9", "/src/a.swift:5",
      ])
    #expect(Set(found.calls.map(\.name)).count == 2)
    #expect(found.code.map(\.place) == ["/src/a.swift:3"])
    #expect(found.code.map(\.addresses) == [0x1000..<0x1010])
    let other = try #require(try place(debugSections(), line: 8, "a.swift"))
    #expect(other.calls.isEmpty && other.code.isEmpty)
    #expect(try place(debugSections(), line: 7, "b.swift") == nil)
  }

  @Test("a table of names that take no bytes is refused, and not read for minutes")
  func namesThatTakeNoBytes() {
    // Version 5, addresses of 8 bytes; the first special opcode is 1.
    var rest: [UInt8] = [5, 0, 8, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1]
    // 255 forms that take no bytes, for each of 2^20 directories; no files.
    rest += [255] + Array(repeating: [1, 0x19], count: 255).joined() + [0x80, 0x80, 0x40, 0, 0]
    let line = withUnsafeBytes(of: UInt32(rest.count).littleEndian) { Array($0) } + rest
    var sections = debugSections()
    sections["line"] = line
    #expect(throws: FormatError.self) { try place(sections, line: 7, "a.swift") }
  }

  @Test("long abbreviations that units take in turn are refused, and not read for minutes")
  func abbreviationsInTurn() {
    // One abbreviation with 500 attributes that take no bytes in an entry.
    let attributes = Array(repeating: [3, 0x19] as [UInt8], count: 500).joined()
    let table: [UInt8] = [1, 0x11, 0] + attributes + [0, 0, 0]
    var information: [UInt8] = []
    for number in 0..<20 {
      let place = UInt32(number % 2 * table.count)
      let rest = [5, 0, 1, 8] + withUnsafeBytes(of: place.littleEndian) { Array($0) } + [1]
      information += withUnsafeBytes(of: UInt32(rest.count).littleEndian) { Array($0) } + rest
    }
    var sections = debugSections()
    (sections["abbrev"], sections["info"]) = (table + table, information)
    #expect(throws: FormatError.self) {
      var information = DebugInformation(sections, budget: 10_000)
      _ = try information.place(line: 7) { _ in true }
    }
  }

  @Test("what is broken is refused, or read as something") func whatIsBroken() {
    let sections = debugSections()
    for seed in 1...3000 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      var broken = sections
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let name = ["info", "abbrev", "line"].randomElement(using: &random) ?? ""
        guard var bytes = broken[name], !bytes.isEmpty else { continue }
        if Int.random(in: 0..<8, using: &random) == 0 {
          bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
        } else {
          let index = Int.random(in: bytes.indices, using: &random)
          bytes[index] =
            [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0...255, using: &random)]
            .randomElement(using: &random) ?? 0
        }
        broken[name] = bytes
      }
      // The call only has to return.
      _ = try? place(broken, line: 7, "a.swift")
    }
  }
}
