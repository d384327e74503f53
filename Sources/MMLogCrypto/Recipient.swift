/// Someone for whom a log or a value is encrypted: a public key, as `age-keygen` makes it.
///
/// ```swift
/// let operations = try Recipient("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")
/// ```
public struct Recipient: Hashable, Sendable, CustomStringConvertible {
  /// X25519's public key, 32 bytes.
  package let publicKey: [UInt8]

  private static let prefix = "age"
  private static let lengthOfText = 62

  /// Reads a recipient of [age](https://age-encryption.org/v1), which begins with `age1`.
  ///
  /// - Throws: ``RecipientError`` for a text that is no recipient, or that has a typing error.
  public init(_ text: String) throws(RecipientError) {
    guard let bytes = Bech32.bytes(of: text, prefix: Self.prefix), bytes.count == 32 else {
      throw RecipientError(Self.problem(with: text))
    }
    publicKey = bytes
  }

  private static func problem(with text: String) -> String {
    if hasSecretKey(text) {
      return "a secret key was given in place of a recipient; give the text that begins with age1"
    }
    // Plugins and newer versions of age have recipients that begin with age1 and a name.
    let names = text.split(separator: "1", omittingEmptySubsequences: false).dropLast()
    if names.first == "age", names.count == 2, names[1].allSatisfy(\.isLetter),
      text.utf8.count != lengthOfText
    {
      return "'\(text)' is a recipient of another type; only X25519's are supported, as age-keygen "
        + "makes them without options"
    }
    return "'\(text)' is no recipient of age: it has to begin with age1, and its checksum has to "
      + "be right; age-keygen -y prints it"
  }

  /// Whether a secret key stands anywhere in a text: files that `age-keygen` writes begin with
  /// comments. By bytes, since a search for texts would link the library for regular expressions.
  private static func hasSecretKey(_ text: String) -> Bool {
    let bytes = Array(text.lowercased().utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: "age-secret-key-".utf8) }
  }

  /// - Parameter publicKey: 32 bytes.
  package init(publicKey: [UInt8]) { self.publicKey = publicKey }

  /// The recipient's text, which begins with `age1`.
  public var description: String { Bech32.text(of: publicKey, prefix: Self.prefix) }
}

/// Why a text is no recipient. The error never contains a secret key.
public struct RecipientError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong and what would be right.
  public let description: String

  init(_ description: String) { self.description = description }
}
