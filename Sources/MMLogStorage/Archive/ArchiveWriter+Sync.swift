import MMLogFormat
package import MMLogSystem

extension ArchiveWriter {
  /// Makes what was written safe from a power cut: fdatasync(2).
  ///
  /// If that fails, the kernel still counts the pages as written, and another fdatasync(2) would
  /// succeed. Therefore the next call first reads back the bytes that are not known to be on the
  /// disk, and writes them again. If they differ from what was written, or the disk cannot read
  /// them, that is an error, and the archive ``isCorrupted``.
  package func sync() throws(SystemError) {
    if !isStillOpen { return try syncByPath() }
    do throws(SystemError) {
      if failedSyncs > 0 { try writeAgain() }
      try file.syncData()
      unsynced = UnsyncedBytes(from: end)
    } catch {
      unsynced.failedSyncs += 1
      throw error
    }
  }

  /// Syncs a file whose descriptor the program has closed: what was written is still in the file.
  private func syncByPath() throws(SystemError) {
    do throws(SystemError) { try File.openFollowingLinks(path).syncData() } catch
      where error.isNotFound
    {}
  }

  private func writeAgain() throws(SystemError) {
    var found = UnsyncedBytes(from: unsynced.start)
    while found.end < end {
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try file.bytes(at: found.end, count: min(end - found.end, 1 << 18))
      } catch {
        if error.isOfDisk { isCorrupted = true }
        throw error
      }
      if bytes.isEmpty { break }
      try file.write(all: bytes, at: found.end)
      found.add(bytes)
    }
    guard found.checksum == unsynced.checksum, found.end == end else {
      isCorrupted = true
      throw SystemError.lostBytes(path)
    }
  }
}

/// The bytes that were written and are not known to be on the disk.
struct UnsyncedBytes {
  let start: Int
  private(set) var end: Int
  private(set) var checksum: UInt32 = 0
  /// How often their sync has failed. If it has, the disk may have lost them.
  var failedSyncs = 0

  init(_ bytes: [UInt8] = [], from start: Int) {
    (self.start, end) = (start, start)
    add(bytes)
  }

  mutating func add(_ bytes: [UInt8]) {
    checksum = bytes.withUnsafeBytes { crc32cState(checksum, $0) }
    end += bytes.count
  }
}
