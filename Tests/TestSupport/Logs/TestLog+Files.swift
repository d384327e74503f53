import MMLogFormat
import MMLogSystem

extension TestLog {
  /// Puts the files into the folder and returns their paths.
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

  /// A log that is one closed archive of one record, not saved yet.
  package static func closed(_ text: String) -> TestLog {
    let log = TestLog()
    log.writesRing = false
    log.write(text, ticks: 1)
    log.archive()
    log.close()
    return log
  }

  /// Saves the ring of a process that was killed during this boot. Its records are "b"; one of them
  /// is corrupted.
  ///
  /// - Parameter corrupted: The number of the corrupted record, from 1.
  package static func killed(records: Int, corrupted: Int) -> TestLog {
    let log = TestLog(bootID: Host.bootID())
    for number in 1...records {
      let record = TestRecord(ticks: UInt64(number), site: log.textSite, words: [1, 98])
      let place = log.write(record)
      if number == corrupted {
        log.put([UInt8](repeating: 0xA5, count: place.count), at: place.lowerBound)
      }
    }
    log.save()
    return log
  }

  /// Writes `a`, `b` and `c`, which are all archived, as the ring says. The first archive has lost
  /// its end, where `b` was. `c` is in the second one.
  package func writeArchiveWithoutEnd() {
    write("a", ticks: 1)
    archive()
    let end = archives[0].count
    write("b", ticks: 2)
    archive()
    close(nil)
    archives[0].removeSubrange(end...)
    beginArchive()
    write("c", ticks: 3)
    archive()
    store(2, at: RingLayout.newestArchive)
    store(0, at: RingLayout.newestFrames)
  }

  /// Flips two bits of the ring, because a reader may correct one.
  package func corruptRing(at offset: Int) { ring[offset] ^= 5 }

  /// Flips two bits of an archive.
  package func corruptArchive(_ index: Int = 0, at offset: Int) { archives[index][offset] ^= 5 }
}
