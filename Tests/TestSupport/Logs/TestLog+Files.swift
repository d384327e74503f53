import MMLogFormat

extension TestLog {
  /// Puts the files into the folder and gives their paths.
  @discardableResult
  package func save() -> [String] {
    var paths: [String] = []
    if writesRing { paths.append(folder.put("test.\(identity.session).ring", ring)) }
    for (index, archive) in archives.enumerated() {
      let name = "test-20251121T090000Z-\(identity.session)-00000\(index + 1).mmlog"
      paths.append(folder.put(name, archive))
    }
    return paths
  }

  /// Flips two bits of the ring: one may be corrected.
  package func corruptRing(at offset: Int) { ring[offset] ^= 5 }

  /// Flips two bits of an archive.
  package func corruptArchive(_ index: Int = 0, at offset: Int) { archives[index][offset] ^= 5 }
}
