/// Why something could not be encrypted or decrypted.
package enum CryptoError: Error, Equatable, Sendable {
  /// This build has no libcrypto.
  case missingLibrary
  /// libcrypto refused, or has no such algorithm. The text says what it was asked for.
  case library(String)
  /// The system has no memory or no random bytes.
  case system(String)
  /// A text or a file is not what it should be. The text says what is wrong.
  case malformed(String)
  /// None of the identities opens the slot.
  case wrongIdentity
  /// The bytes are not what was encrypted: somebody or something changed them.
  case notAuthentic
}

extension CryptoError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .missingLibrary:
      "this mmlog was built without encryption: build it with the trait Encryption (Debian's "
        + "libssl-dev)"
    case .library(let what): "libcrypto failed at \(what); it has to be OpenSSL 3.0 or later"
    case .system(let what): what
    case .malformed(let what): what
    case .wrongIdentity:
      "no identity that opens it was given (--identity FILE or MMLOG_IDENTITY names one)"
    case .notAuthentic: "it is not what was encrypted: it was changed, or the key is another one"
    }
  }
}
