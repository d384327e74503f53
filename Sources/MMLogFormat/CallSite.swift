/// Whether a value may be read by whoever reads the log. Raw values stand on disk.
package enum PrivacyCode: UInt8, Sendable {
  case `public`
  case `private`
  case hash
}

/// The static part of a log statement: written once, then referred to by number.
package struct CallSite: Equatable, Sendable {
  package enum Part: Equatable, Sendable {
    case literal(String)
    case argument(Argument)
  }

  /// What is known of an argument before it has a value.
  package struct Argument: Equatable, Sendable {
    /// A ``ValueType``, with the optional bit.
    package var type: UInt8
    package var privacy: UInt8
    /// Width of an integer in bits; 0 for others.
    package var width: UInt8
    /// See FORMAT.md, 6.
    package var format: UInt64
    package var alignment: UInt64
    /// Empty if it has none.
    package var name: String

    package init(
      type: UInt8, privacy: UInt8, width: UInt8, format: UInt64, alignment: UInt64, name: String
    ) {
      self.type = type
      self.privacy = privacy
      self.width = width
      self.format = format
      self.alignment = alignment
      self.name = name
    }
  }

  package var file: String
  package var function: String
  package var line: UInt32
  package var column: UInt32
  package var parts: [Part]

  package init(file: String, function: String, line: UInt32, column: UInt32, parts: [Part]) {
    self.file = file
    self.function = function
    self.line = line
    self.column = column
    self.parts = parts
  }
}

/// An entry of the dictionary: a call site or a label, under its number.
package enum DictionaryEntry: Equatable, Sendable {
  case callSite(id: UInt32, CallSite)
  case label(id: UInt32, String)

  /// Reads the entry that `bytes` wholly are, after its checksum has been found right.
  package init(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    var reader = WordReader(bytes)
    let header = try reader.word()
    let first = try reader.word()
    let id = UInt32(truncatingIfNeeded: first)
    switch header & 0xFF00_0000 {
    case RecordLayout.labelKind: self = .label(id: id, try reader.text())
    case RecordLayout.callSiteKind:
      let second = try reader.word()
      let file = try reader.text()
      let function = try reader.text()
      var parts: [CallSite.Part] = []
      for _ in 0..<(second >> 32 & 0xFFFF) { parts.append(try CallSite.Part(&reader)) }
      self = .callSite(
        id: id,
        CallSite(
          file: file, function: function, line: UInt32(truncatingIfNeeded: first >> 32),
          column: UInt32(truncatingIfNeeded: second), parts: parts))
    default: throw .invalid("entry kind")
    }
  }

  /// Whether an entry is of a kind that this version knows.
  fileprivate static func isKnown(_ entry: UnsafeRawBufferPointer) -> Bool {
    let kind = entry.load(0, as: UInt64.self) & 0xFF00_0000
    return kind == RecordLayout.labelKind || kind == RecordLayout.callSiteKind
  }
}

extension CallSite.Part {
  fileprivate init(_ reader: inout WordReader) throws(FormatError) {
    let word = try reader.word()
    switch word & 0xFF {
    case 0: self = .literal(try reader.text())
    case 1:
      let format = try reader.word()
      let alignment = try reader.word()
      self = .argument(
        CallSite.Argument(
          type: UInt8(truncatingIfNeeded: word >> 8),
          privacy: UInt8(truncatingIfNeeded: word >> 16),
          width: UInt8(truncatingIfNeeded: word >> 24), format: format, alignment: alignment,
          name: try reader.text()))
    default: throw .invalid("part")
    }
  }
}

/// Below which number things that are counted from 1 have their places in an array, if there are so
/// many of them; others do not count so, and an array would cost memory for nothing.
package func nearNumbers(_ count: Int) -> Int { 1024 + 16 * count }

/// The call sites and labels of a session, by number.
package struct LogDictionary: Sendable {
  package private(set) var callSites: [UInt32: CallSite] = [:]
  package private(set) var labels: [UInt32: String] = [:]

  /// The maximum number of call sites that a dictionary takes: more than any program has.
  package static let maximumCallSites = 1 << 20
  /// What all entries together may have in bytes, twice the largest dictionary of a ring: a
  /// compressed file of some kilobytes could hold any number of them.
  package static let maximumBytes = 128 << 20
  private var size = 0

  package init() {}

  /// Inserts an entry, in place of one with the same number.
  ///
  /// - Returns: False if there are too many.
  @discardableResult
  package mutating func insert(_ entry: DictionaryEntry) -> Bool {
    let old =
      switch entry {
      case .callSite(let id, _): callSites[id]?.size
      case .label(let id, _): labels[id]?.utf8.count
      }
    let new = size - (old ?? 0) + entry.size
    guard new <= Self.maximumBytes, old != nil || callSites.count < Self.maximumCallSites else {
      return false
    }
    size = new
    switch entry {
    case .callSite(let id, let site): callSites[id] = site
    case .label(let id, let label): labels[id] = label
    }
    return true
  }

  /// Inserts every entry that follows one another in `bytes`, up to a zero word or their end.
  ///
  /// - Returns: The offsets and lengths of what is no valid entry, or was one too many.
  package mutating func insert(entriesIn bytes: UnsafeRawBufferPointer, seed: UInt32) -> [Range<
    Int
  >] {
    var scanner = EntryScanner(bytes, seed: seed)
    while let entry = scanner.next() {
      if !insert(entry.entry) { return scanner.corruption + [scanner.offset..<bytes.count] }
    }
    return scanner.corruption
  }
}

extension CallSite {
  /// About how many bytes its text has, and what each part takes beside it.
  fileprivate var size: Int {
    parts.reduce(64 + file.utf8.count + function.utf8.count) { size, part in
      switch part {
      case .literal(let text): size + 32 + text.utf8.count
      case .argument(let argument): size + 64 + argument.name.utf8.count
      }
    }
  }
}

extension DictionaryEntry {
  fileprivate var size: Int {
    switch self {
    case .callSite(_, let site): site.size
    case .label(_, let label): label.utf8.count
    }
  }
}

/// Walks over dictionary entries, passing over what is corrupted.
package struct EntryScanner {
  private let bytes: UnsafeRawBufferPointer
  private let seed: UInt32
  /// Where the next entry begins, or would.
  package private(set) var offset = 0
  package private(set) var corruption: [Range<Int>] = []
  /// For all calls together: valid entries between hostile ones must not begin it anew.
  private var budget: CheckBudget

  package init(_ bytes: UnsafeRawBufferPointer, seed: UInt32) {
    self.bytes = bytes
    self.seed = seed
    budget = CheckBudget(bytes.count)
  }

  /// The next valid entry with the bytes that it stands in, or nil at a zero word or the end. Those
  /// of kinds that this version does not know are passed over.
  package mutating func next() -> (entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)? {
    var start = offset
    while bytes.count - offset >= wordSize {
      if offset == start, bytes.load(offset, as: UInt64.self) == 0 { return nil }
      guard let entry = entryAtOffset() else {
        offset += wordSize
        continue
      }
      if offset > start { corruption.append(start..<offset) }
      offset += entry.bytes.count
      if let known = entry.known { return (known, entry.bytes) }
      start = offset
    }
    if offset > start { corruption.append(start..<offset) }
    return nil
  }

  /// What stands there with a right checksum, unless it is not what its kind has to be; `known` is
  /// nil for one of an unknown kind.
  private mutating func entryAtOffset() -> (known: DictionaryEntry?, bytes: UnsafeRawBufferPointer)?
  {
    guard let length = framedLength(bytes, offset), budget.spend(length) else { return nil }
    let entry = bytes.slice(offset, length)
    guard entryChecksum(entry, seed: seed) == entry.load(4, as: UInt32.self) else { return nil }
    let known = try? DictionaryEntry(entry)
    return known == nil && DictionaryEntry.isKnown(entry) ? nil : (known, entry)
  }
}
