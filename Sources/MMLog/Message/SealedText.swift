public import MMLogCrypto
import MMLogStorage

/// The texts of single values, encrypted for those who may read them.
@usableFromInline
package enum SealedText {
  /// Encrypts a value's text, as `String(describing:)` makes it, or bytes as they are. The text of
  /// an optional is the text of the value in it.
  ///
  /// - Returns: Nil if there are no recipients.
  @usableFromInline @inline(never)
  package static func seal(_ value: some Any) -> [UInt8]? {
    if let optional = value as? any AnyOptional { return seal(optional.wrapped ?? "nil") }
    if let bytes = value as? [UInt8] { return bytes.withUnsafeBytes { ValueSealer.seal($0) } }
    var text = value as? String ?? String(describing: value)
    return text.withUTF8 { ValueSealer.seal(UnsafeRawBufferPointer($0)) }
  }
}

extension Logger {
  /// Sets who can read values that are logged with ``Logger/Privacy/sealed``, in all stores of this
  /// process, from now on.
  ///
  /// ```swift
  /// try Logger.sealValues(
  ///   for: [Recipient("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")])
  /// log.info("paid with \(card, privacy: .sealed)")
  /// ```
  ///
  /// Everything else is as readable as before; to encrypt a whole store, use
  /// ``LogStore/Configuration/recipients``. This call makes the key of the values, which is in no
  /// core dump. A child of fork makes another key.
  ///
  /// - Parameter recipients: At most 64. Each adds 98 bytes to each value. If it is empty, values
  ///   are `private`, as they are without this call.
  /// - Throws: ``LogError`` if this build has no libcrypto, or if there are no random numbers. Then
  ///   nothing is changed.
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
