/// What the session's next archive is chained to, as the ring has it. When a recovery begins the
/// next archive, a limit may have deleted the archive before.
package struct NotedHead: Equatable, Sendable {
  /// The number of the archive that ends with the head.
  package let archive: UInt32
  /// The archive's head: see ``FrameChain``.
  package let hash: FrameHash

  package init(archive: UInt32, _ hash: FrameHash) { (self.archive, self.hash) = (archive, hash) }

  package var encoded: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NotedHeadLayout.size)
    bytes.withUnsafeMutableBytes { out in
      out.store(archive, NotedHeadLayout.archive)
      hash.encode(into: out, at: NotedHeadLayout.hash)
      out.store(crc32c(UnsafeRawBufferPointer(out)), NotedHeadLayout.checksum)
    }
    return bytes
  }

  /// Reads what ``encoded`` gave; nil where nothing was written, or not all of it.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= NotedHeadLayout.size else { return nil }
    archive = bytes.load(NotedHeadLayout.archive, as: UInt32.self)
    hash = FrameHash(bytes, at: NotedHeadLayout.hash)
    // Both fields are in what is encoded, so that this compares the checksum, too.
    guard archive > 0, bytes.prefix(NotedHeadLayout.size).elementsEqual(encoded) else { return nil }
  }
}
