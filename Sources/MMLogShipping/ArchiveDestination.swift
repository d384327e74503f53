public import MMLogReader
public import MMLogStorage

/// Where whole sealed archives are shipped, as they are: an object store, or `mmlog-receive`.
///
/// Only one of the shippers that share the directory, on whatever machines, sends an archive: it
/// leases the archive meanwhile. The shipper then marks the archive as uploaded, with the receipt.
/// An uploaded archive is the first to be deleted when a limit asks for it.
public protocol ArchiveDestination: Sendable {
  /// Sends an archive, and returns when the receiver has it and has found its checksums right.
  ///
  /// An archive may be sent again after a crash: the receiver should take an archive of the same
  /// name and bytes for the same archive. After a crash, a destination that goes on with a large
  /// upload has to find out from the receiver where to go on.
  ///
  /// - Parameter archive: What to send.
  /// - Returns: What to keep with the archive, such as the receiver's version or checksum: one line
  ///   of at most 992 bytes; nil for nothing.
  /// - Throws: ``DeliveryError``; an archive whose content is refused is put aside. `LogError` if
  ///   the archive cannot be read: other archives are sent before this one is tried again. Any
  ///   other error counts as ``DeliveryError/unavailable(_:retryAfter:)``.
  func send(_ archive: SealedArchive) async throws -> String?

  /// Finds out whether the receiver answers. Sends nothing. Default: does nothing.
  ///
  /// - Throws: As ``send(_:)``.
  func check() async throws
}

extension ArchiveDestination {
  /// Does nothing, and never throws.
  public func check() async throws {}
}

/// A sealed archive to be sent as it is.
public struct SealedArchive: Sendable {
  /// Where the archive is, how large it is, what it holds. No other archive has the same name, on
  /// whatever machine: the name includes the session.
  public let info: ArchiveInfo
  /// The session whose records are in the archive.
  public let identity: SessionIdentity
  /// Which try this is in this process, from 1.
  public let attempt: Int

  /// Makes a value, for tests of a destination and for tools.
  public init(info: ArchiveInfo, identity: SessionIdentity, attempt: Int = 1) {
    (self.info, self.identity, self.attempt) = (info, identity, attempt)
  }
}
