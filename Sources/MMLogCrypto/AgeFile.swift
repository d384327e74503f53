/// The parts of a file of [age](https://age-encryption.org/v1) whose content is short. Recipients
/// of types other than X25519 are passed over.
struct AgeFile {
  struct Stanza {
    /// The public key that was made for this recipient.
    let share: [UInt8]
    /// The file key, encrypted.
    let wrapped: [UInt8]
  }

  static let version = "age-encryption.org/v1\n"
  static let recipientType = "X25519"
  static let footer = "---"
  /// All lines of a stanza's body but the last have exactly so many characters.
  private static let lineSize = 64

  private(set) var stanzas: [Stanza] = []
  /// What ``code`` authenticates.
  let header: [UInt8]
  let code: [UInt8]
  let nonce: [UInt8]
  let content: [UInt8]

  init(_ bytes: [UInt8]) throws(CryptoError) {
    guard bytes.count <= KeySlot.largest, bytes.starts(with: Self.version.utf8) else {
      throw Self.malformed
    }
    var rest = bytes.dropFirst(Self.version.utf8.count)
    var line = try Self.line(&rest)
    while line.starts(with: "-> ".utf8) {
      let words = line.dropFirst(3).split(
        separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      var body: ArraySlice<UInt8> = []
      repeat {
        line = try Self.line(&rest)
        guard line.count <= Self.lineSize else { throw Self.malformed }
        body += line
      } while line.count == Self.lineSize
      if let stanza = try Self.stanza(words, body) { stanzas.append(stanza) }
      // Each stanza costs an operation with a public key for each identity.
      guard stanzas.count <= KeySlot.mostRecipients else { throw Self.malformed }
      line = try Self.line(&rest)
    }
    let footer = Array("\(Self.footer) ".utf8)
    guard line.starts(with: footer),
      let code = Cryptography.bytes(ofBase64: line.dropFirst(footer.count)), rest.count >= 16
    else { throw Self.malformed }
    self.code = code
    header = Array(bytes[..<(line.startIndex + Self.footer.utf8.count)])
    nonce = Array(rest.prefix(16))
    content = Array(rest.dropFirst(16))
  }

  private static func line(_ rest: inout ArraySlice<UInt8>) throws(CryptoError) -> ArraySlice<UInt8>
  {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { throw malformed }
    defer { rest = rest[(end + 1)...] }
    return rest[..<end]
  }

  private static func stanza(
    _ words: [ArraySlice<UInt8>], _ body: ArraySlice<UInt8>
  ) throws(CryptoError) -> Stanza? {
    let isArgument = { (word: ArraySlice<UInt8>) in
      !word.isEmpty && word.allSatisfy { (33...126).contains($0) }
    }
    guard words.allSatisfy(isArgument), let wrapped = Cryptography.bytes(ofBase64: body) else {
      throw malformed
    }
    guard words.first?.elementsEqual(recipientType.utf8) == true else { return nil }
    guard words.count == 2, let share = Cryptography.bytes(ofBase64: words[1]),
      share.count == Cryptography.keySize,
      wrapped.count == KeySlot.fileKeySize + Cryptography.tagSize
    else { throw malformed }
    return Stanza(share: share, wrapped: wrapped)
  }

  private static let malformed = CryptoError.malformed("it is no file of age with a key in it")
}
