import MMLogFormat
import MMLogSystem

/// The functions of a program or library, by the addresses that its own file gives them (ELF, 64
/// bit).
///
/// The file may have any content: everything is checked against the file's size before it is used.
struct ExecutableSymbols: ~Copyable {
  /// The function that an address is in, and how many bytes the address is behind the function's
  /// beginning. The name of a Swift function is as in the source; others are as the linker has
  /// them.
  typealias Function = (name: String, offset: UInt64)

  private let file: ExecutableFile
  /// The path of the file.
  let path: String

  private enum Layout {
    static let notes: UInt32 = 7
    static let function: UInt8 = 2
    static let buildID: UInt32 = 3
  }

  /// Opens the file of a build.
  ///
  /// - Parameter buildID: The build id that the linker made.
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
  ///   - buildID: The build id that the linker made.
  ///   - path: The program. A path that does not begin with a slash is the end of a long path, and
  ///     would name another file.
  ///   - directory: The directory of debug files.
  /// - Returns: nil if neither file exists and is of that build.
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

  /// The functions that addresses are in. Addresses of no known function are left out.
  ///
  /// - Complexity: O(symbols × addresses).
  func functions(at addresses: [UInt64]) -> [UInt64: Function] {
    // A stripped file has only the names that other files link to.
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

  /// Longer names are cut: generic functions of generic types have names that nobody reads.
  private static let longestName = 4096
}
