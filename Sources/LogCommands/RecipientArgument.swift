package import CommandLineTool
package import MMLogCrypto

extension Arguments {
  /// The public keys that an option names.
  package func recipients(of option: Option) throws(UsageError) -> [Recipient] {
    try values(of: option).map { text throws(UsageError) in
      do throws(RecipientError) { return try Recipient(text) } catch {
        throw UsageError("--\(option.long): \(error)")
      }
    }
  }
}
