package import MMLogCrypto

/// What is true of all records of a session, by name: a version, a tenant, where the process runs.
package struct SessionFields: Equatable, Sendable {
  /// How many pairs, and then the pairs, as metadata has them.
  package let words: [UInt64]
  /// Opens sealed values; nil: they stay sealed.
  package var slots: OpenedSlots?

  /// No fields.
  package init() { words = [0] }

  /// Takes a block of pairs that this process has written.
  package init(block: UnsafeBufferPointer<UInt64>) { words = block.isEmpty ? [0] : Array(block) }

  /// Takes the words of an entry behind its header.
  init(_ entry: UnsafeRawBufferPointer) throws(FormatError) {
    var reader = WordReader(entry)
    _ = try reader.word()
    var copy: [UInt64] = []
    while !reader.isAtEnd { copy.append(try reader.word()) }
    words = copy
    try forEach { _, value, reader throws(FormatError) in try reader.skipElements(of: value) }
  }

  /// All pairs.
  package var pairs: [(name: String, value: Value)] {
    var pairs: [(name: String, value: Value)] = []
    // The pairs have been walked over before: nothing is thrown.
    try? forEach { name, value, reader throws(FormatError) in
      pairs.append((String(decoding: name, as: UTF8.self), try reader.value(value)))
    }
    return pairs
  }

  package static func == (a: SessionFields, b: SessionFields) -> Bool { a.words == b.words }

  /// Gives each pair to `body`, which has to take or to pass over the elements of a container.
  ///
  /// - Throws: what `body` throws, and an error for a pair that cannot be read.
  package func forEach(
    _ body: (UnsafeRawBufferPointer, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    try words.withUnsafeBufferPointer { (words) throws(FormatError) in
      var reader = WordReader(
        UnsafeRawBufferPointer(words), opening: slots.map { .passUnretained($0) })
      let count = try reader.word()
      guard count <= UInt64(reader.remaining / (2 * wordSize)) else { throw .truncated }
      for _ in 0..<count {
        let name = try reader.string()
        try body(name, reader.taggedView(), &reader)
      }
    }
  }
}
