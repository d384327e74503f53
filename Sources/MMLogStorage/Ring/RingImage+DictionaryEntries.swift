import MMLogFormat

extension RingImage {
  /// The dictionary for the archives that a recovery writes: the ring's entries, one behind the
  /// other.
  ///
  /// If the machine went down, a page of the ring's dictionary may be lost, while an archive has
  /// its entries. These are added, so that an archive can be read without those before it. If only
  /// the process died, no page is lost.
  ///
  /// - Parameter archives: The session's archives. Entries that are encrypted in them cannot be
  ///   added.
  package func dictionaryEntries(with archives: [ArchiveFile]) -> [UInt8] {
    var bytes = entries.flatMap { Array($0.bytes) }
    if isOfThisBoot && corruption.isEmpty { return bytes }
    let seed = checksumSeed(session: fileHeader.identity.session, generation: 0)
    var known = dictionary
    for archive in archives {
      for frame in archive.frames where frame.header.type == .dictionary {
        // Whoever reads the records reports what cannot be read.
        guard let payload = try? archive.payload(of: frame) else { continue }
        payload.withUnsafeBytes { payload in
          var scanner = EntryScanner(payload, seed: seed)
          while let (entry, entryBytes) = scanner.next() {
            if !known.hasEntry(like: entry), known.insert(entry) { bytes += entryBytes }
          }
        }
      }
    }
    return bytes
  }
}
