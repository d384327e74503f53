public import MMLogReader
public import MMLogStorage

/// Where whole sealed archives are shipped, as they are: an object store, or `mmlog-receive`.
///
/// Each archive is sent by one shipper of all that share the directory, on whatever machines: it is
/// leased meanwhile. Once it is sent, it is marked as uploaded, with the receipt: it is then the
/// first to be deleted when a limit asks for it.
public protocol ArchiveDestination: Sendable {
  /// Sends an archive, and returns when the receiver has it and has found its checksums right.
  ///
  /// An archive may be sent again after a crash: the receiver should take one of the same name and
  /// bytes for the same. What is needed to go on with a large upload after a crash is the
  /// destination's to find out from the receiver.
  ///
  /// - Parameter archive: What to send.
  /// - Returns: What to keep with the archive, such as the receiver's version or checksum: one line
  ///   of at most 992 bytes; nil for nothing.
  /// - Throws: ``DeliveryError``; an archive whose content is refused is put aside. `LogError`
  ///   where the archive cannot be read: others go before it is tried again. Any other error counts
  ///   as ``DeliveryError/unavailable(_:retryAfter:)``.
  func send(_ archive: SealedArchive) async throws -> String?

  /// Finds out whether the receiver answers. Sends nothing. Default: does nothing.
  ///
  /// - Throws: As ``send(_:)``.
  func check() async throws
}

extension ArchiveDestination {
  /// Does nothing.
  public func check() async throws {}
}

/// A sealed archive to be sent as it is.
public struct SealedArchive: Sendable {
  /// Where it is, how large it is, what it holds. Its name has no other archive, whatever machine
  /// it is of: it names the session.
  public let info: ArchiveInfo
  /// Whose records are in it.
  public let identity: SessionIdentity
  /// Which try this is in this process, from 1.
  public let attempt: Int

  /// Makes one, for tests of a destination and for tools.
  public init(info: ArchiveInfo, identity: SessionIdentity, attempt: Int = 1) {
    (self.info, self.identity, self.attempt) = (info, identity, attempt)
  }
}
