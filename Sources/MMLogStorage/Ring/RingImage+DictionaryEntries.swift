import MMLogFormat

extension RingImage {
  /// What the archives that a recovery writes get as their dictionary: the ring's entries, one
  /// behind the other.
  ///
  /// A machine that goes down may lose a page of the ring's dictionary, while an archive has the
  /// entries: these are added, so that an archive is read without those before it. A process that
  /// dies alone loses no page.
  ///
  /// - Parameter archives: The session's. What is encrypted in them cannot be added.
  package func dictionaryEntries(with archives: [ArchiveFile]) -> [UInt8] {
    var bytes = entries.flatMap { Array($0.bytes) }
    if isOfThisBoot && corruption.isEmpty { return bytes }
    let seed = checksumSeed(session: fileHeader.identity.session, generation: 0)
    var known = dictionary
    for archive in archives {
      for frame in archive.frames where frame.header.type == .dictionary {
        // What cannot be read is reported by whoever reads the records.
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
