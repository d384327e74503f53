import MMLogFormat

extension TestLog {
  /// A sealed archive with `frames` frames of records.
  package static func sealed(
    session: UInt64 = 1, store: String = "orders", host: String = "tokyo", frames: Int = 4
  ) -> [UInt8] {
    let log = TestLog(session: session)
    (log.identity.storeName, log.identity.hostName) = (store, host)
    for frame in 0..<UInt64(frames) {
      for record in 0..<20 as Range<UInt64> {
        log.write("record \(record) of frame \(frame)", ticks: 100 * frame + record)
      }
      log.archive(isInColumns: frame % 2 == 0)
    }
    log.close()
    return log.archives[0]
  }

  /// A sealed archive as a reader without a key sees it: frames of call sites and records say that
  /// they are encrypted, and show nothing else.
  ///
  /// - Parameter slot: Its key slot; nil: there is none.
  package static func encrypted(slot: String? = TestLog.keySlot) -> [UInt8] {
    let log = TestLog(session: 1)
    if let slot { log.addFrame(.keySlot, Array(slot.utf8)) }
    for frame in 0..<4 as Range<UInt64> {
      log.write("frame \(frame)", ticks: frame)
      log.archive()
    }
    log.close()
    var bytes = log.archives[0]
    for place in archivePlaces(in: bytes).dropFirst().dropLast(2)
    where [FrameType.dictionary.rawValue, FrameType.records.rawValue]
      .contains(bytes[place + FrameLayout.type])
    {
      bytes[place + FrameLayout.flags] |= FrameLayout.encryptedFlag
    }
    return ChecksumFix.archive(bytes)
  }

  /// Bytes that look like a key slot. No identity opens it.
  package static let keySlot = "age-encryption.org/v1\n--- no recipients\n"

  /// The file name that a store would give to ``sealed(session:store:host:frames:)``.
  package static func sealedName(session: UInt64 = 1, store: String = "orders") -> String {
    "\(store)-20251121T090000Z-\(SessionID(words: (session, 0)))-000001.mmlog"
  }
}

/// Where the parts of a sealed archive begin: file header, frames, trailer; then its end.
package func archivePlaces(in archive: [UInt8]) -> [Int] {
  var places = [0, FileHeaderLayout.size]
  archive.withUnsafeBytes { bytes in
    while let place = places.last, place + FrameLayout.size <= bytes.count,
      let size = FrameHeader.size(bytes.slice(place, bytes.count - place)),
      let header = FrameHeader(bytes.slice(place, size))
    {
      places.append(place + header.frameSize)
    }
  }
  return places + [archive.count]
}
