import MMLogFormat
import MMLogSystem

/// The log statements in the source of a program, as its debug information knows them. Statements
/// that have never run are included.
package struct SourceStatements: ~Copyable {
  /// All functions that record have these labels, in any module, and no other functions have them.
  private static let labels = Array("4file8function4line".utf8)

  private let file: ExecutableFile
  private let sections: [String: [UInt8]]

  /// Opens a program.
  ///
  /// - Returns: nil if it has no debug information.
  package init?(ofProgram path: String) {
    guard let file = ExecutableFile(path: path) else { return nil }
    var sections: [String: [UInt8]] = [:]
    let names = ["info", "abbrev", "line", "line_str", "str", "str_offsets"]
    for (name, section) in file.sections(named: ".debug_") where names.contains(name) {
      sections[name] = file.bytes(of: section)
    }
    guard sections["info"] != nil, sections["line"] != nil else { return nil }
    self.file = file
    self.sections = sections
  }

  /// The number of statements at a line.
  ///
  /// - Parameter file: The end of the file's path. If no path ends so, for example because a folder
  ///   has another name than its module, only the last part of the path counts.
  /// - Returns: nil if such a file is not a part of the program, or its debug information cannot be
  ///   read.
  package func count(file: String, line: UInt32) -> Int? {
    let last = file.split(separator: "/").last.map(String.init) ?? file
    for name in file == last ? [last] : [file, last] {
      if let places = try? places(file: name, line: line) { return places.count }
    }
    return nil
  }

  private func places(file name: String, line: UInt32) throws(FormatError) -> Set<String>? {
    var information = DebugInformation(sections)
    let place = try information.place(line: line) { $0 == name || $0.hasSuffix("/\(name)") }
    guard let place else { return nil }
    var found = Set(place.calls.filter { Self.isOfStatement(Array($0.name.utf8)) }.map(\.place))
    if place.code.isEmpty { return found }
    let functions = functions
    for code in place.code where calls(one: functions, in: code.addresses) {
      found.insert(code.place)
    }
    return found
  }

  private static func isOfStatement(_ name: [UInt8]) -> Bool {
    name.withUnsafeBytes {
      $0.first == UInt8(ascii: "$") && ByteSearch.first(labels, in: $0, from: 0) != nil
    }
  }

  /// Where functions that record begin. Code that is not optimized calls them.
  private var functions: Set<UInt64> {
    guard let (symbols, names) = file.symbols(.all) else { return [] }
    let starts = Self.statementNames(in: names)
    var found: Set<UInt64> = []
    symbols.withUnsafeBytes { symbols in
      let step = ExecutableFile.symbolSize
      for at in stride(from: 0, through: symbols.count - step, by: step) {
        guard starts.contains(symbols.load(at, as: UInt32.self)) else { continue }
        found.insert(symbols.load(at + 8, as: UInt64.self))
      }
    }
    return found
  }

  /// Where the names of functions that record begin in a table. Most names are of other functions.
  private static func statementNames(in table: [UInt8]) -> Set<UInt32> {
    var starts: Set<UInt32> = []
    table.withUnsafeBytes { table in
      var at = 0
      while let found = ByteSearch.first(labels, in: table, from: at) {
        at = found + labels.count
        var start = found
        while start > 0, table[start - 1] != 0 { start -= 1 }
        if table[start] == UInt8(ascii: "$") { starts.insert(UInt32(truncatingIfNeeded: start)) }
      }
    }
    return starts
  }

  /// Whether code calls one of some functions.
  private func calls(one functions: Set<UInt64>, in addresses: Range<UInt64>) -> Bool {
    guard addresses.upperBound - addresses.lowerBound <= 1 << 20 else { return false }
    let code = file.bytes(at: addresses)
    return code.withUnsafeBytes { code in
      file.machine == Self.x86 ? Self.callsOnX86(code) : Self.callsOnARM(code)
    }.contains { functions.contains(addresses.lowerBound &+ $0) }
  }

  private static let x86: UInt16 = 62

  /// The targets of calls, counted from the code's beginning. Any byte may be the beginning of a
  /// call.
  private static func callsOnX86(_ code: UnsafeRawBufferPointer) -> [UInt64] {
    (0..<max(0, code.count - 4)).compactMap { at in
      guard code[at] == 0xE8 else { return nil }
      let distance = Int64(code.loadUnaligned(fromByteOffset: at + 1, as: Int32.self))
      return UInt64(bitPattern: Int64(at + 5) + distance)
    }
  }

  private static func callsOnARM(_ code: UnsafeRawBufferPointer) -> [UInt64] {
    stride(from: 0, through: code.count - 4, by: 4).compactMap { at in
      let instruction = code.loadUnaligned(fromByteOffset: at, as: UInt32.self)
      guard instruction >> 26 == 0b100101 else { return nil }
      let distance = Int64(Int32(bitPattern: instruction << 6) >> 4)
      return UInt64(bitPattern: Int64(at) + distance)
    }
  }
}
