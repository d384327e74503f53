import MMLogFormat

/// What debug information (DWARF, 4 and 5) says of a program's source: where there is code of a
/// line, and which functions were inlined there.
///
/// The information may be anything: each byte is read through a cursor that knows where it ends.
package struct DebugInformation {
  /// The sections by their names without `.debug_`.
  private let sections: [String: [UInt8]]
  private var units: [Unit] = []
  /// The linker's names of entries.
  private var names: [Int: String?] = [:]
  /// How many bytes, or names of files, may be read more than once: a file may refer to a table as
  /// often as it likes.
  private var budget: Int

  /// - Parameters:
  ///   - sections: The sections by their names without `.debug_`.
  ///   - budget: How much may be read of tables that are referred to more than once.
  package init(_ sections: [String: [UInt8]], budget: Int = 1 << 27) {
    (self.sections, self.budget) = (sections, budget)
  }

  /// The code and the inlined functions at a line.
  package struct Place {
    /// Inlined functions: the linker's names, by file and column.
    package var calls: [(name: String, place: String)] = []
    /// Code, by file and column.
    package var code: [(addresses: Range<UInt64>, place: String)] = []
  }

  // MARK: - Units

  /// A part of the information that was made in one go.
  struct Unit {
    var start = 0
    var end = 0
    var firstEntry = 0
    var abbreviations = 0
    var lines: Int?
    var stringOffsets = 8
  }

  typealias Attribute = (name: UInt64, form: UInt64, constant: Int64)
  private struct Abbreviation {
    var tag: UInt64 = 0
    var attributes: [Attribute] = []
  }

  func section(_ name: String) -> [UInt8] { sections[name] ?? [] }

  private mutating func readUnits() throws(FormatError) {
    var cursor = DebugCursor(section("info"))
    while !cursor.isAtEnd {
      var unit = Unit()
      unit.start = cursor.at
      let length = try cursor.u32()
      guard length < 0xFFFF_FFF0 else { throw .invalid("debug information") }
      unit.end = cursor.at + Int(length)
      guard unit.end <= cursor.bytes.count else { throw .invalid("debug information") }
      let version = try cursor.u16()
      guard version == 4 || version == 5 else {
        cursor.at = unit.end
        continue
      }
      var kind: UInt8 = 1
      if version == 5 {
        kind = try cursor.u8()
        guard try cursor.u8() == 8 else { throw .invalid("debug information") }
        unit.abbreviations = Int(try cursor.u32())
      } else {
        unit.abbreviations = Int(try cursor.u32())
        guard try cursor.u8() == 8 else { throw .invalid("debug information") }
      }
      if [4, 5].contains(kind) { try cursor.skip(8) }
      if [2, 6].contains(kind) { try cursor.skip(12) }
      unit.firstEntry = cursor.at
      units.append(unit)
      cursor.at = unit.end
    }
  }

  mutating func spend(_ count: Int) throws(FormatError) {
    budget -= count
    if budget < 0 { throw .invalid("debug information") }
  }

  private mutating func abbreviations(at offset: Int) throws(FormatError) -> [Abbreviation] {
    var cursor = DebugCursor(section("abbrev"), at: offset)
    var all: [Abbreviation] = []
    while true {
      let code = try cursor.uleb()
      if code == 0 {
        try spend(cursor.at - offset + all.count)
        return all
      }
      // The abbreviations are numbered in order. An empty one stands for a number that is left out.
      guard code <= 1 << 20 else { throw .invalid("debug information") }
      var new = Abbreviation()
      new.tag = try cursor.uleb()
      // Whether entries have children does not matter: children follow, and are read like all
      // others.
      try cursor.skip(1)
      while true {
        let (name, form) = (try cursor.uleb(), try cursor.uleb())
        let constant = form == Form.implicitConstant ? try cursor.sleb() : 0
        if name == 0, form == 0 { break }
        new.attributes.append((name, form, constant))
      }
      while all.count < code { all.append(Abbreviation()) }
      all[Int(code) - 1] = new
    }
  }

  private enum Form {
    static let implicitConstant: UInt64 = 0x21
  }
  private enum Name {
    static let lines: UInt64 = 0x10
    static let origin: UInt64 = 0x31
    static let specification: UInt64 = 0x47
    static let callColumn: UInt64 = 0x57
    static let callFile: UInt64 = 0x58
    static let callLine: UInt64 = 0x59
    static let linkageName: UInt64 = 0x6E
    static let stringOffsets: UInt64 = 0x72
  }
  private static let inlinedCall: UInt64 = 0x1D

  enum Value {
    case number(UInt64)
    /// An offset within `.debug_info`.
    case reference(Int)
    case text(String, Int)
    case none
  }

  /// Reads a value, or passes over it.
  func value(
    _ attribute: Attribute, _ cursor: inout DebugCursor, _ unit: Unit
  ) throws(FormatError) -> Value {
    switch attribute.form {
    case 0x01: return .number(try cursor.u64())
    case 0x03: try cursor.skip(Int(try cursor.u16()))
    case 0x04: try cursor.skip(Int(try cursor.u32()))
    case 0x05: return .number(UInt64(try cursor.u16()))
    case 0x06: return .number(UInt64(try cursor.u32()))
    case 0x07: return .number(try cursor.u64())
    case 0x08:
      let start = cursor.at
      try cursor.skipText()
      return .text("info", start)
    case 0x09, 0x18: try cursor.skip(Int(clamping: try cursor.uleb()))
    case 0x0A: try cursor.skip(Int(try cursor.u8()))
    case 0x0B, 0x0C: return .number(UInt64(try cursor.u8()))
    case 0x0D: return .number(UInt64(bitPattern: try cursor.sleb()))
    case 0x0E: return .text("str", Int(try cursor.u32()))
    case 0x0F: return .number(try cursor.uleb())
    case 0x10: return .reference(Int(try cursor.u32()))
    case 0x11: return .reference(unit.start + Int(try cursor.u8()))
    case 0x12: return .reference(unit.start + Int(try cursor.u16()))
    case 0x13: return .reference(unit.start + Int(try cursor.u32()))
    case 0x14: return .reference(unit.start &+ Int(truncatingIfNeeded: try cursor.u64()))
    case 0x15: return .reference(unit.start &+ Int(truncatingIfNeeded: try cursor.uleb()))
    case 0x17: return .number(UInt64(try cursor.u32()))
    case 0x19: return .number(1)
    case 0x1A: return try text(index: try cursor.uleb(), unit)
    case 0x1B, 0x22, 0x23: _ = try cursor.uleb()
    case 0x1C: try cursor.skip(4)
    case 0x1E: try cursor.skip(16)
    case 0x1F: return .text("line_str", Int(try cursor.u32()))
    case 0x20: try cursor.skip(8)
    case 0x21: return .number(UInt64(bitPattern: attribute.constant))
    case 0x25: return try text(index: UInt64(try cursor.u8()), unit)
    case 0x26: return try text(index: UInt64(try cursor.u16()), unit)
    case 0x27:
      let low = try cursor.u16()
      return try text(index: UInt64(low) | UInt64(try cursor.u8()) << 16, unit)
    case 0x28: return try text(index: UInt64(try cursor.u32()), unit)
    case 0x29: try cursor.skip(1)
    case 0x2A: try cursor.skip(2)
    case 0x2B: try cursor.skip(3)
    case 0x2C: try cursor.skip(4)
    default: throw .invalid("debug information")
    }
    return .none
  }

  private func text(index: UInt64, _ unit: Unit) throws(FormatError) -> Value {
    guard index <= 1 << 28 else { throw .invalid("debug information") }
    var cursor = DebugCursor(section("str_offsets"), at: unit.stringOffsets &+ 4 * Int(index))
    return .text("str", Int(try cursor.u32()))
  }

  func string(_ value: Value) -> String? {
    guard case .text(let name, let offset) = value else { return nil }
    return DebugCursor(section(name), at: offset).text(maximum: 4096)
  }

  // MARK: - Entries

  /// What there is at a line of the wanted files; nil if no such file is a part of the program.
  ///
  /// - Complexity: O(size of all line tables' headers, and of the units that such files are in).
  package mutating func place(
    line: UInt32, isWanted: (String) -> Bool
  ) throws(FormatError) -> Place? {
    try readUnits()
    var place: Place?
    var shared: (at: Int, all: [Abbreviation]) = (-1, [])
    for index in units.indices {
      let at = units[index].abbreviations
      if shared.at != at { shared = (at, try abbreviations(at: at)) }
      try readHead(index, shared.all)
      guard let lines = units[index].lines else { continue }
      var table = try LineTable(lines, &self)
      try spend(table.files.count)
      let wanted = Set(table.files.indices.filter { isWanted(table.files[$0]) })
      if wanted.isEmpty { continue }
      var found = place ?? Place()
      for code in try table.code(of: line) where wanted.contains(code.file) {
        found.code.append((code.addresses, "\(table.files[code.file]):\(code.column)"))
      }
      for call in try calls(of: units[index], shared.all, line: line)
      where wanted.contains(call.file) {
        guard let name = try name(at: call.origin) else { continue }
        found.calls.append((name, "\(table.files[call.file]):\(call.column)"))
      }
      place = found
    }
    return place
  }

  private mutating func readHead(_ index: Int, _ abbreviations: [Abbreviation]) throws(FormatError)
  {
    let unit = units[index]
    var cursor = DebugCursor(section("info"), at: unit.firstEntry, end: unit.end)
    let code = try cursor.uleb()
    guard code > 0, code <= abbreviations.count else { return }
    for attribute in abbreviations[Int(code) - 1].attributes {
      let value = try value(attribute, &cursor, unit)
      guard case .number(let number) = value else { continue }
      if attribute.name == Name.lines { units[index].lines = Int(clamping: number) }
      if attribute.name == Name.stringOffsets { units[index].stringOffsets = Int(clamping: number) }
    }
  }

  private typealias Call = (origin: Int, file: Int, column: UInt64)

  private func calls(
    of unit: Unit, _ abbreviations: [Abbreviation], line: UInt32
  ) throws(FormatError) -> [Call] {
    var calls: [Call] = []
    var cursor = DebugCursor(section("info"), at: unit.firstEntry, end: unit.end)
    while !cursor.isAtEnd {
      let code = try cursor.uleb()
      if code == 0 { continue }
      guard code <= abbreviations.count else { throw .invalid("debug information") }
      let abbreviation = abbreviations[Int(code) - 1]
      let isCall = abbreviation.tag == Self.inlinedCall
      var (origin, file, column, found): (Int?, Int, UInt64, UInt64) = (nil, 0, 0, 0)
      for attribute in abbreviation.attributes {
        let value = try value(attribute, &cursor, unit)
        if !isCall { continue }
        switch (attribute.name, value) {
        case (Name.origin, .reference(let place)): origin = place
        case (Name.callFile, .number(let number)): file = Int(clamping: number)
        case (Name.callLine, .number(let number)): found = number
        case (Name.callColumn, .number(let number)): column = number
        default: break
        }
      }
      if isCall, found == UInt64(line), let origin { calls.append((origin, file, column)) }
    }
    return calls
  }

  /// The linker's name of an entry, or of the entry that it refers to.
  private mutating func name(at offset: Int) throws(FormatError) -> String? {
    if let known = names[offset] { return known }
    let name = try linkerName(at: offset)
    names[offset] = .some(name)
    return name
  }

  private mutating func linkerName(at offset: Int) throws(FormatError) -> String? {
    var offset = offset
    for _ in 0..<4 {
      guard let unit = units.last(where: { $0.start <= offset }), offset < unit.end else {
        return nil
      }
      let all = try abbreviations(at: unit.abbreviations)
      var cursor = DebugCursor(section("info"), at: offset, end: unit.end)
      let code = try cursor.uleb()
      guard code > 0, code <= all.count else { return nil }
      var next: Int?
      for attribute in all[Int(code) - 1].attributes {
        let value = try value(attribute, &cursor, unit)
        if attribute.name == Name.linkageName { return string(value) }
        if [Name.specification, Name.origin].contains(attribute.name),
          case .reference(let place) = value
        {
          next = place
        }
      }
      guard let next else { return nil }
      offset = next
    }
    return nil
  }
}
