package import MMLogCrypto

/// Why bytes could not be read. Every decoder of this module throws it, and none traps on what it
/// reads.
package enum FormatError: Error, Equatable, Sendable {
  /// The bytes end before what they announce.
  case truncated
  /// A checksum does not fit its bytes.
  case wrongChecksum
  /// A field has a value that it cannot have.
  case invalid(String)
  /// The payload is valid, but this build does not have the coder that compressed it.
  case missingCoder(CompressionFormat)
  /// The payload is valid, but encrypted, and there is no key. The associated value says why.
  case encrypted(CryptoError)
  /// The payload is encrypted, and nobody can have its key: the archive's key slot is missing.
  case missingKey
  /// Written by a newer mmlog: a version or a feature that this one does not know.
  case newerFormat
  /// Written by an mmlog from before the first release, in a format that nothing reads any more.
  case olderFormat
  /// The bytes are not of this kind of file.
  case foreign
}

extension FormatError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .truncated: "it ends too early"
    case .wrongChecksum: "its checksum is wrong"
    case .invalid(let what): "it has an impossible \(what)"
    case .missingCoder(let format):
      "it is whole, but compressed with \(format), which this mmlog was built without: read it "
        + "with one that was built with the trait Zstd (Debian's libzstd-dev)"
    case .encrypted(let reason): "it is encrypted: \(reason)"
    case .missingKey: "it is encrypted, and the archive's key slot is missing"
    case .newerFormat: "it was written by a newer version of mmlog; read it with that one"
    case .olderFormat:
      "it was written by an mmlog from before the first release; read it with that one"
    case .foreign: "it is not an mmlog file"
    }
  }
}
