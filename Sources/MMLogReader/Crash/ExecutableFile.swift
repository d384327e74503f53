import MMLogSystem

/// The sections of a program or library (ELF, 64 bit).
///
/// The file may have any content: everything is checked against the file's size before it is used.
struct ExecutableFile: ~Copyable {
  /// A part of the file.
  struct Section {
    /// Where the section's name begins in the section of names.
    let name: Int
    let type: UInt32
    /// The address in memory before the program is moved; 0 for a section that is not in memory.
    let address: UInt64
    let offset: Int
    let size: Int
    let link: Int
  }

  private enum Layout {
    static let headerSize = 64
    static let machine = 18
    static let sectionsOffset = 40
    static let sectionSize = 58
    static let sectionCount = 60
    static let sectionNames = 62
    static let minimumSectionSize = 64
  }

  private let file: File
  let sections: [Section]
  /// The processor that the file is for.
  let machine: UInt16
  private let names: Int

  /// - Returns: nil if the file is no program or library.
  init?(path: String) {
    // Before the file is opened: a log names it, and opening a device may have effects.
    guard let status = try? File.status(ofPath: path), status.isRegularFile,
      let file = try? File.openFollowingLinks(path),
      let header = try? file.bytes(at: 0, count: Layout.headerSize),
      header.count == Layout.headerSize,
      // 64 bits, and the byte order of both processors.
      header.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]),
      let sections = Self.sections(of: file, header, size: status.size)
    else { return nil }
    self.sections = sections
    self.file = file
    (machine, names) = header.withUnsafeBytes {
      (
        $0.load(Layout.machine, as: UInt16.self), Int($0.load(Layout.sectionNames, as: UInt16.self))
      )
    }
  }

  private static func sections(
    of file: borrowing File, _ header: [UInt8], size: Int
  ) -> [Section]? {
    let (offset, each, count) = header.withUnsafeBytes {
      (
        $0.load(Layout.sectionsOffset, as: UInt64.self),
        Int($0.load(Layout.sectionSize, as: UInt16.self)),
        Int($0.load(Layout.sectionCount, as: UInt16.self))
      )
    }
    guard each >= Layout.minimumSectionSize, offset <= size,
      let table = try? file.bytes(at: Int(offset), count: each * count),
      table.count == each * count
    else { return nil }
    return table.withUnsafeBytes { table in
      (0..<count).map { index in
        let fields = table.slice(index * each, each)
        let (start, length) = (fields.load(24, as: UInt64.self), fields.load(32, as: UInt64.self))
        let isInside = start <= size && length <= UInt64(size) - start
        return Section(
          name: Int(fields.load(0, as: UInt32.self)), type: fields.load(4, as: UInt32.self),
          address: fields.load(16, as: UInt64.self), offset: isInside ? Int(start) : 0,
          size: isInside ? Int(length) : 0, link: Int(fields.load(40, as: UInt32.self)))
      }
    }
  }

  /// The tables of symbols that a file may have.
  enum SymbolTable: UInt32 {
    case all = 2
    /// The symbols that other files link to.
    case dynamic = 11
  }

  /// The size of a symbol in bytes.
  static let symbolSize = 24

  /// A table of symbols, and their names; nil if there is none.
  func symbols(_ type: SymbolTable) -> (symbols: [UInt8], names: [UInt8])? {
    guard let table = sections.first(where: { $0.type == type.rawValue }),
      sections.indices.contains(table.link)
    else { return nil }
    return (bytes(of: table), bytes(of: sections[table.link]))
  }

  func bytes(of section: Section) -> [UInt8] {
    // No program has larger tables.
    guard section.size <= 512 << 20 else { return [] }
    return (try? file.bytes(at: section.offset, count: section.size)) ?? []
  }

  /// A part of a section, by its addresses in memory; empty if it is not within one section.
  func bytes(at addresses: Range<UInt64>) -> [UInt8] {
    for section in sections where section.address > 0 {
      guard addresses.lowerBound >= section.address,
        addresses.upperBound - section.address <= UInt64(section.size)
      else { continue }
      let start = section.offset + Int(addresses.lowerBound - section.address)
      return (try? file.bytes(at: start, count: addresses.count)) ?? []
    }
    return []
  }

  /// The sections whose names begin with a prefix, by the rest of their names.
  func sections(named prefix: String) -> [String: Section] {
    guard sections.indices.contains(names) else { return [:] }
    let table = bytes(of: sections[names])
    var found: [String: Section] = [:]
    for section in sections where section.name < table.count {
      let name = table[section.name...].prefix { $0 != 0 }.prefix(256)
      guard name.starts(with: prefix.utf8) else { continue }
      found[String(decoding: name.dropFirst(prefix.utf8.count), as: UTF8.self)] = section
    }
    return found
  }
}
