import MMLogFormat

extension DebugInformation {
  /// The line table of a unit.
  struct LineTable {
    private(set) var files: [String] = []
    private var cursor: DebugCursor
    private let end: Int
    private let program: Int
    private let minimumLength: UInt64
    private let lineBase: Int
    private let lineRange: Int
    private let opcodeBase: UInt8
    private var lengths: [UInt8] = []

    init(_ offset: Int, _ information: inout DebugInformation) throws(FormatError) {
      cursor = DebugCursor(information.section("line"), at: offset)
      let length = try cursor.u32()
      guard length < 0xFFFF_FFF0, Int(length) <= cursor.bytes.count - cursor.at else {
        throw .invalid("debug information")
      }
      end = cursor.at + Int(length)
      let version = try cursor.u16()
      guard version == 4 || version == 5 else { throw .invalid("debug information") }
      if version == 5 { try cursor.skip(2) }
      let headerLength = Int(try cursor.u32())
      program = cursor.at + headerLength
      guard program <= end else { throw .invalid("debug information") }
      minimumLength = UInt64(try cursor.u8())
      try cursor.skip(2)
      lineBase = Int(Int8(bitPattern: try cursor.u8()))
      lineRange = Int(try cursor.u8())
      opcodeBase = try cursor.u8()
      guard lineRange > 0, opcodeBase > 0 else { throw .invalid("debug information") }
      for _ in 1..<max(1, Int(opcodeBase)) { lengths.append(try cursor.u8()) }
      if version == 5 {
        let directories = try Self.entries(&cursor, &information)
        files = try Self.entries(&cursor, &information).map { name, directory in
          let index = Int(clamping: directory)
          return Self.joined(index < directories.count ? directories[index].0 : "", name)
        }
      } else {
        var directories = [""]
        while let name = try cursor.takeText() { directories.append(name) }
        files = [""]
        while let name = try cursor.takeText() {
          let directory = Int(clamping: try cursor.uleb())
          _ = (try cursor.uleb(), try cursor.uleb())
          files.append(
            Self.joined(directory < directories.count ? directories[directory] : "", name))
        }
      }
    }

    private static func joined(_ directory: String, _ name: String) -> String {
      name.hasPrefix("/") || directory.isEmpty ? name : "\(directory)/\(name)"
    }

    private static func entries(
      _ cursor: inout DebugCursor, _ information: inout DebugInformation
    ) throws(FormatError) -> [(String, UInt64)] {
      var formats: [(kind: UInt64, form: UInt64)] = []
      for _ in 0..<(try cursor.u8()) { formats.append((try cursor.uleb(), try cursor.uleb())) }
      let count = try cursor.uleb()
      guard count <= 1 << 20, !formats.isEmpty || count == 0 else {
        throw .invalid("debug information")
      }
      // Some forms take no bytes.
      try information.spend(Int(count) * formats.count)
      var entries: [(String, UInt64)] = []
      for _ in 0..<count {
        var entry = ("", UInt64(0))
        for format in formats {
          let value: Value
          if format.form == 0x08 {
            entry.0 = try cursor.takeText() ?? ""
            continue
          }
          value = try information.value((0, format.form, 0), &cursor, Unit())
          if format.kind == 1 { entry.0 = information.string(value) ?? "" }
          if format.kind == 2, case .number(let number) = value { entry.1 = number }
        }
        entries.append(entry)
      }
      return entries
    }

    /// Consecutive code of one line.
    typealias Code = (file: Int, column: UInt64, addresses: Range<UInt64>)

    /// The code of a line, by file and column: the addresses that the linker has given to it.
    mutating func code(of wanted: UInt32) throws(FormatError) -> [Code] {
      var found: [Code] = []
      cursor.at = program
      cursor.end = end
      var row = Row()
      var last: Row?
      func note(_ row: Row, _ isEnd: Bool, _ last: inout Row?, _ found: inout [Code]) {
        if let last, last.line == Int(clamping: wanted), last.address < row.address {
          found.append((last.file, last.column, last.address..<row.address))
        }
        last = isEnd ? nil : row
      }
      while !cursor.isAtEnd {
        let opcode = try cursor.u8()
        if opcode >= opcodeBase {
          row.advance(Int(opcode - opcodeBase), of: self)
          row.line &+= lineBase + Int(opcode - opcodeBase) % lineRange
          note(row, false, &last, &found)
          continue
        }
        switch opcode {
        case 0:
          let length = Int(clamping: try cursor.uleb())
          guard length > 0 else { throw .invalid("debug information") }
          switch (try cursor.u8(), length) {
          case (1, 1):
            note(row, true, &last, &found)
            row = Row()
          case (2, 9): row.address = try cursor.u64()
          default: try cursor.skip(length - 1)
          }
        case 1: note(row, false, &last, &found)
        case 2: row.address &+= try cursor.uleb() &* minimumLength
        case 3: row.line &+= Int(truncatingIfNeeded: try cursor.sleb())
        case 4: row.file = Int(clamping: try cursor.uleb())
        case 5: row.column = try cursor.uleb()
        case 8: row.advance(255 - Int(opcodeBase), of: self)
        case 9: row.address &+= UInt64(try cursor.u16())
        default:
          for _ in 0..<lengths[Int(opcode) - 1] { _ = try cursor.uleb() }
        }
      }
      return found
    }

    private struct Row {
      var (address, file, line, column) = (UInt64(0), 1, 1, UInt64(0))

      mutating func advance(_ operation: Int, of table: LineTable) {
        address &+= UInt64(operation / table.lineRange) &* table.minimumLength
      }
    }
  }
}
