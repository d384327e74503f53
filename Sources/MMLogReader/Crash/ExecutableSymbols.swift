import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The functions of a program or library, by the addresses that its own file gives them (ELF, 64
/// bit).
///
/// What stands in the file may be anything: everything is checked against the file's size before it
/// is used.
struct ExecutableSymbols: ~Copyable {
  /// A function that an address is in: its name as the source has it, if it is one of Swift's, else
  /// as the linker has it; and how far behind its beginning the address is, in bytes.
  typealias Function = (name: String, offset: UInt64)

  private let file: ExecutableFile
  /// Where that is.
  let path: String

  private enum Layout {
    static let notes: UInt32 = 7
    static let function: UInt8 = 2
    static let buildID: UInt32 = 3
  }

  /// Opens the file of a build.
  ///
  /// - Parameter buildID: What the linker called it.
  /// - Returns: nil if the file is no program, or of another build.
  init?(path: String, buildID: [UInt8]) {
    guard !buildID.isEmpty, let file = ExecutableFile(path: path) else { return nil }
    let notes = file.sections.filter { $0.type == Layout.notes }
    guard notes.contains(where: { Self.holds(buildID, file.bytes(of: $0)) }) else { return nil }
    self.file = file
    self.path = path
  }

  /// Opens the file of a build: its debug file, or the program itself.
  ///
  /// - Parameters:
  ///   - buildID: What the linker called it.
  ///   - path: The program. What does not begin with a slash is the end of a long path, and would
  ///     be another file.
  ///   - directory: Where debug files are.
  /// - Returns: nil if neither is there, and of that build.
  static func ofBuild(
    _ buildID: [UInt8], path: String, debugFilesIn directory: String = "/usr/lib/debug"
  ) -> ExecutableSymbols? {
    let id = buildID.map(\.allHexDigits)
    let debugFile = "\(directory)/.build-id/\(id.first ?? "")/\(id.dropFirst().joined()).debug"
    for path in [debugFile, path] where path.hasPrefix("/") {
      if let symbols = ExecutableSymbols(path: path, buildID: buildID) { return symbols }
    }
    return nil
  }

  /// The functions that addresses are in, those of which none is known left out.
  ///
  /// - Complexity: O(symbols × addresses).
  func functions(at addresses: [UInt64]) -> [UInt64: Function] {
    // A stripped file has but the names that others link to.
    guard let (symbols, names) = file.symbols(.all) ?? file.symbols(.dynamic) else { return [:] }
    return find(addresses, in: symbols).mapValues {
      (Self.name(at: $0.name, in: names), $0.offset)
    }
  }

  private func find(
    _ addresses: [UInt64], in table: [UInt8]
  ) -> [UInt64: (name: Int, offset: UInt64)] {
    var found: [UInt64: (name: Int, offset: UInt64)] = [:]
    table.withUnsafeBytes { table in
      let step = ExecutableFile.symbolSize
      for at in stride(from: 0, through: table.count - step, by: step) {
        guard table.load(at + 4, as: UInt8.self) & 15 == Layout.function else { continue }
        let (value, size) = (
          table.load(at + 8, as: UInt64.self), table.load(at + 16, as: UInt64.self)
        )
        for address in addresses where address >= value && address - value < size {
          found[address] = (Int(table.load(at, as: UInt32.self)), address - value)
        }
      }
    }
    return found
  }

  private static func holds(_ buildID: [UInt8], _ notes: [UInt8]) -> Bool {
    notes.withUnsafeBytes { notes in
      var at = 0
      while notes.count - at >= 12 {
        let nameSize = Int(notes.load(at, as: UInt32.self))
        let size = Int(notes.load(at + 4, as: UInt32.self))
        let start = at + 12 + (nameSize + 3) & ~3
        guard start <= notes.count, size <= notes.count - start else { return false }
        if notes.load(at + 8, as: UInt32.self) == Layout.buildID,
          notes[start..<start + size].starts(with: buildID)
        {
          return true
        }
        at = start + (size + 3) & ~3
      }
      return false
    }
  }

  private static func name(at offset: Int, in names: [UInt8]) -> String {
    let bytes = names.dropFirst(offset).prefix { $0 != 0 }.prefix(longestName)
    let name = String(decoding: bytes, as: UTF8.self)
    return SwiftName.demangled(name) ?? name
  }

  /// More is cut: generic functions of generic types have names that nobody reads.
  private static let longestName = 4096
}
