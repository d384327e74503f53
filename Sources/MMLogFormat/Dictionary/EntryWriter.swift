/// Writes one dictionary entry into the caller's memory. Allocates nothing, so that it also works
/// in a signal handler. If the entry does not fit, ``finish(kind:seed:)`` returns nil.
package struct EntryWriter {
  private let memory: UnsafeMutableRawBufferPointer
  private var size = 0
  private var fits = true

  /// - Parameter memory: Where the entry goes; aligned to a word. Its first word stays as it is
  ///   until the caller stores the header that ``finish(kind:seed:)`` gives.
  package init(into memory: UnsafeMutableRawBufferPointer) {
    self.memory = memory
    reserve(wordSize)
  }

  /// Writes a label's entry: nothing is to follow.
  package mutating func label(id: UInt32, _ text: UnsafeRawBufferPointer) {
    append(UInt64(id))
    append(text)
  }

  /// Begins a call site's entry; `parts` parts are to follow.
  package mutating func callSite(
    id: UInt32, line: UInt32, column: UInt32, parts: Int, file: UnsafeRawBufferPointer,
    function: UnsafeRawBufferPointer
  ) {
    append(UInt64(id) | UInt64(line) << 32)
    append(UInt64(column) | UInt64(UInt16(truncatingIfNeeded: parts)) << 32)
    append(file)
    append(function)
  }

  /// Adds a literal part.
  package mutating func literal(_ text: UnsafeRawBufferPointer) {
    append(0)
    append(text)
  }

  /// Adds an argument part; see ``CallSite/Argument``.
  package mutating func argument(
    type: UInt8, privacy: UInt8, width: UInt8, format: UInt64, alignment: UInt64,
    name: UnsafeRawBufferPointer
  ) {
    append(1 | UInt64(type) << 8 | UInt64(privacy) << 16 | UInt64(width) << 24)
    append(format)
    append(alignment)
    append(name)
  }

  /// Begins a key set's entry; `keys` keys are to follow.
  package mutating func keySet(id: UInt32, keys: Int) {
    append(UInt64(id) | UInt64(UInt16(truncatingIfNeeded: keys)) << 32)
  }

  /// Adds a key, and the type of its values.
  package mutating func key(_ name: UnsafeRawBufferPointer, type: UInt8) {
    append(UInt64(type))
    append(name)
  }

  /// Writes fields of the session, or its last state: nothing is to follow.
  package mutating func sessionFields(_ block: UnsafeBufferPointer<UInt64>) {
    for word in block { append(word) }
  }

  /// The entry's header word, to be stored last, and its size in bytes; or nil if it did not fit.
  package func finish(kind: UInt64, seed: UInt32) -> (header: UInt64, size: Int)? {
    guard fits, size / wordSize <= Int(RecordLayout.lengthMask) else { return nil }
    let lead = UInt64(size / wordSize) | kind
    let rest = UnsafeRawBufferPointer(memory).slice(wordSize, size - wordSize)
    var low = UInt32(truncatingIfNeeded: lead).littleEndian
    let checksum = withUnsafeBytes(of: &low) { crc32cState(crc32cState(seed, rest), $0) }
    return (lead | UInt64(checksum) << 32, size)
  }

  private mutating func append(_ word: UInt64) {
    let offset = size
    if reserve(wordSize) { memory.store(word, offset) }
  }

  private mutating func append(_ text: UnsafeRawBufferPointer) {
    append(UInt64(text.count))
    let padded = paddedSize(text.count)
    let offset = size
    guard reserve(padded), let target = memory.baseAddress else { return }
    if padded > 0 { memory.store(UInt64(0), offset + padded - wordSize) }
    if let source = text.baseAddress {
      (target + offset).copyMemory(from: source, byteCount: text.count)
    }
  }

  @discardableResult
  private mutating func reserve(_ bytes: Int) -> Bool {
    fits = fits && bytes <= memory.count - size
    if fits { size += bytes }
    return fits
  }
}

extension DictionaryEntry {
  /// The entry's bytes, its checksum seeded with `seed` (that of generation 0).
  package func encoded(seed: UInt32) -> [UInt64] {
    var words = [UInt64](repeating: 0, count: largestSize / wordSize)
    let size = words.withUnsafeMutableBytes { memory -> Int in
      var writer = EntryWriter(into: memory)
      let kind = write(into: &writer)
      guard let end = writer.finish(kind: kind, seed: seed) else { return 0 }
      memory.store(end.header, 0)
      return end.size
    }
    return Array(words.prefix(size / wordSize))
  }

  private func write(into writer: inout EntryWriter) -> UInt64 {
    switch self {
    case .label(let id, let label):
      withBytes(of: label) { writer.label(id: id, $0) }
      return RecordLayout.labelKind
    case .callSite(let id, let site):
      withBytes(of: site.file) { file in
        withBytes(of: site.function) { function in
          writer.callSite(
            id: id, line: site.line, column: site.column, parts: site.parts.count, file: file,
            function: function)
        }
      }
      for part in site.parts { part.write(into: &writer) }
      return RecordLayout.callSiteKind
    case .keySet(let id, let set):
      writer.keySet(id: id, keys: set.keys.count)
      for key in set.keys { withBytes(of: key.name) { writer.key($0, type: key.type) } }
      return RecordLayout.keySetKind
    case .sessionFields(let fields):
      fields.words.withUnsafeBufferPointer { writer.sessionFields($0) }
      return RecordLayout.sessionFieldsKind
    case .lastState(let fields):
      fields.words.withUnsafeBufferPointer { writer.sessionFields($0) }
      return RecordLayout.lastStateKind
    }
  }

  /// At least as many bytes as the entry takes.
  private var largestSize: Int {
    func size(_ text: String) -> Int { (text.utf8.count / wordSize + 2) * wordSize }
    switch self {
    case .label(_, let label): return 2 * wordSize + size(label)
    case .keySet(_, let set):
      return set.keys.reduce(2 * wordSize) { $0 + wordSize + size($1.name) }
    case .sessionFields(let fields), .lastState(let fields):
      return (1 + fields.words.count) * wordSize
    case .callSite(_, let site):
      return site.parts.reduce(3 * wordSize + size(site.file) + size(site.function)) {
        switch $1 {
        case .literal(let text): $0 + wordSize + size(text)
        case .argument(let argument): $0 + 3 * wordSize + size(argument.name)
        }
      }
    }
  }
}

extension CallSite.Part {
  fileprivate func write(into writer: inout EntryWriter) {
    switch self {
    case .literal(let text): withBytes(of: text) { writer.literal($0) }
    case .argument(let argument):
      withBytes(of: argument.name) {
        writer.argument(
          type: argument.type, privacy: argument.privacy, width: argument.width,
          format: argument.format, alignment: argument.alignment, name: $0)
      }
    }
  }
}

private func withBytes(of text: String, _ body: (UnsafeRawBufferPointer) -> Void) {
  var text = text
  text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
}
