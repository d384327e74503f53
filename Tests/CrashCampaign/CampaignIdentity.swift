package import MMLogCrypto
package import MMLogReader
import MMLogStorage

/// The recipient that campaigns encrypt archives for, and the identity that reads them: always the
/// same.
package enum CampaignIdentity {
  /// Nil in a build without libcrypto.
  private static let identity = try? Identity(
    "AGE-SECRET-KEY-1W4DAPJLRPPW3CCZ7LJJN3ZAQP03ADMURL2X8WX0YF0PLGFUYMYFS36UJTP")

  /// None in a build without libcrypto.
  package static var recipients: [Recipient] { [identity?.recipient].compactMap(\.self) }

  /// Files, opened so that encrypted contents are read, too.
  package static func files(_ paths: [String]) -> LogFiles {
    LogFiles(
      paths.map { .path($0) }, identities: LogIdentities([identity].compactMap(\.self)))
  }
}
