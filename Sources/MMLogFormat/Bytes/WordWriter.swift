/// Builds what ``WordReader`` reads. Not for the hot path.
package struct WordWriter {
  package private(set) var words: [UInt64] = []

  package init() {}

  package mutating func append(_ word: UInt64) { words.append(word) }

  package mutating func append(string bytes: some Collection<UInt8>) {
    words.append(UInt64(bytes.count))
    var word: UInt64 = 0
    var shift: UInt64 = 0
    for byte in bytes {
      word |= UInt64(byte) << shift
      shift += 8
      if shift == 64 {
        words.append(word)
        (word, shift) = (0, 0)
      }
    }
    if shift > 0 { words.append(word) }
  }

  package mutating func append(_ text: String) { append(string: text.utf8) }

  /// Sets a word that was not yet known when the words after it were appended.
  package mutating func set(_ word: UInt64, at index: Int) { words[index] = word }
}
