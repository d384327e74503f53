public import MMLogCrypto
import MMLogStorage

/// The texts of single values, encrypted for those who may read them.
@usableFromInline
package enum SealedText {
  /// The text of a value as `String(describing:)` puts it, and bytes as they are, encrypted.
  ///
  /// - Returns: Nil if there is nobody whom it is for.
  @usableFromInline @inline(never)
  package static func seal(_ value: some Any) -> [UInt8]? {
    if let wrapper = value as? any Wrapper { return wrapper.sealed }
    if let bytes = value as? [UInt8] { return bytes.withUnsafeBytes { ValueSealer.seal($0) } }
    var text = value as? String ?? String(describing: value)
    return text.withUTF8 { ValueSealer.seal(UnsafeRawBufferPointer($0)) }
  }

  /// Of an optional, that is the text of what it has.
  fileprivate protocol Wrapper { var sealed: [UInt8]? { get } }
}

extension Optional: SealedText.Wrapper {
  fileprivate var sealed: [UInt8]? { map { SealedText.seal($0) } ?? SealedText.seal("nil") }
}

extension Logger {
  /// Says who may read the values of all stores of this process that are logged with
  /// ``Logger/Privacy/sealed``, from now on.
  ///
  /// ```swift
  /// try Logger.sealValues(
  ///   for: [Recipient("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")])
  /// log.info("paid with \(card, privacy: .sealed)")
  /// ```
  ///
  /// All else is as readable as before: ``LogStore/Configuration/recipients`` encrypt a whole
  /// store. The key of the values is made here, and is in no core dump; a child of fork makes
  /// another one.
  ///
  /// - Parameter recipients: At most 64. Each adds 98 bytes to each value. Nobody: values are then
  ///   `private`, as they are without this call.
  /// - Throws: ``LogError``: this build has no libcrypto, or there are no random numbers. Nothing
  ///   is changed then.
  public static func sealValues(for recipients: [Recipient]) throws(LogError) {
    guard recipients.count <= KeySlot.mostRecipients else {
      throw LogError(
        .invalidConfiguration,
        "\(recipients.count) recipients of values: \(KeySlot.mostRecipients) is the maximum",
        path: "")
    }
    do throws(CryptoError) {
      try ValueSealer.setRecipients(recipients)
    } catch {
      throw LogError(
        .unsupported, "Single values cannot be encrypted: \(error).", path: "", cause: error)
    }
  }
}
