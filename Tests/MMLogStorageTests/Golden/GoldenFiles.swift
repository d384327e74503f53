import MMLogCrypto
import MMLogFormat
import TestSupport

/// The files of `Tests/Golden/v2`, made anew.
///
/// - ring: what a process that died left; session A.
/// - torn: an archive of session A that has some of the ring's records and one more, and a torn
///   tail.
/// - closed: session B, the same records in two frames, fragments spread over both, losses, its
///   end.
/// - compressed: session C, with zlib; its bytes depend on zlib's version.
/// - columns: session D, records in columns written by hand, with every encoding.
/// - encoded: session E, the records of closed, as an encoder of columns once wrote them.
/// - resumed: sessions F and G, as closed, one behind the other in one file.
/// - flight: session H, a ring with flight records, of which some are captured.
/// - later, later-archive: what a later writer may add, in a ring and in an archive:
///   ``GoldenLater``.
enum GoldenFiles {
  static let epoch: Timestamp = 1_763_715_600_000_000_000  // 2025-11-21T09:00:00Z

  static func identity(_ letter: UInt64) -> SessionIdentity {
    SessionIdentity(
      session: SessionID(words: (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0900 + letter)),
      bootID: Array(1...16), processID: 4242, startTime: epoch + Int64(letter),
      processName: "orders",
      hostName: "tokyo", timeZone: "Europe/Berlin", storeName: "golden")
  }

  static func seed(_ identity: SessionIdentity, _ generation: UInt64 = 0) -> UInt32 {
    checksumSeed(session: identity.session, generation: generation)
  }

  static func dictionary(_ identity: SessionIdentity, _ range: Range<Int>? = nil) -> [UInt8] {
    GoldenRecords.entries[range ?? GoldenRecords.entries.indices]
      .flatMap { $0.encoded(seed: seed(identity)) }.withUnsafeBytes { Array($0) }
  }

  // MARK: - The ring

  /// Half a nanosecond a tick.
  private static let pairs = [
    ClockPair(ticks: 1_000_000, wall: epoch, monotonic: 5_000_000_000, ordinal: 0),
    ClockPair(
      ticks: 4_001_000_000, wall: epoch + 2_000_000_321, monotonic: 7_000_000_000, ordinal: 2),
    ClockPair(ticks: 1_999_000_000, wall: epoch, monotonic: 6_000_000_000, ordinal: 1),
  ]
  static let ringClock = TickClock(first: pairs[0], newest: pairs[1])

  static var ring: [UInt8] {
    ring(identity(10), .trace) { _ in SegmentLayout.size }
  }

  static var flight: [UInt8] {
    ring(identity(17), .notice) { $0.index == 1 ? SegmentLayout.size : $0.offset(2) }
  }

  /// The ring, encrypted.
  static func ring(_ cipher: RingCipher, for recipients: [Recipient]) -> [UInt8] {
    let place = KeySlotPlaces.encoded(RingKeySlot(cipher.key.slot, for: recipients))
    var ring = GoldenBytes(
      bytes: ring(identity(20), .trace, cipher) { _ in SegmentLayout.size })
    for offset in [0, KeySlotsLayout.placeSize] {
      ring.put(place, at: RingLayout.keySlots + offset)
    }
    return ring.bytes
  }

  /// - Parameter captured: Up to where the flight records of a segment are captured.
  private static func ring(
    _ identity: SessionIdentity, _ archiveLevel: Level, _ cipher: RingCipher? = nil,
    captured: (GoldenSegment) -> Int
  ) -> [UInt8] {
    let geometry = RingGeometry(
      dictionarySize: 8192, segmentSize: 4096, segmentCount: 6, isEncrypted: cipher != nil)
    var ring = GoldenBytes(count: geometry.fileSize)
    let fileHeader = RingHeader(
      identity: identity, geometry: geometry, archiveLevel: archiveLevel,
      areas: cipher == nil ? .usual : .usualEncrypted)
    ring.put(fileHeader.encoded(pageSize: 4096), at: 0)
    ring.put([UInt8(RingLayout.stateOpen)], at: RingLayout.state)
    for (index, pair) in pairs.enumerated() {
      ring.put(pair.encoded, at: RingLayout.firstClockPair + index * ClockPairLayout.size)
    }
    ring.put(dictionary(identity), at: geometry.dictionaryOffset)
    for segment in GoldenRecords.segments(entrySeed: seed(identity)).dropFirst() {
      ring.put(
        segment.bytes(identity, cipher), at: geometry.offset(ofSegment: segment.index))
      let use = SegmentUse.word(captured(segment), seed: seed(identity, segment.generation))
      ring.put(
        withUnsafeBytes(of: use.littleEndian) { Array($0) },
        at: geometry.use(ofSegment: segment.index))
    }
    // A free segment with what an earlier use left.
    let stale = GoldenRecords.segments(entrySeed: seed(identity))[0].bytes(identity)
    ring.put(stale, at: geometry.offset(ofSegment: 4))
    ring.put([0], at: geometry.offset(ofSegment: 4) + SegmentLayout.state)
    return ring.bytes
  }

  // MARK: - The archives

  static var torn: [UInt8] {
    let identity = identity(10)
    let segments = GoldenRecords.segments(entrySeed: seed(identity))
    var archive = GoldenArchive(identity)
    archive.add(.dictionary, dictionary(identity, 0..<6))
    let taken = [(0, 1), (1, 3), (2, 2), (4, 1)].map { (segments[$0.0], 0..<$0.1) }
    archive.add(taken, clock: ringClock, lowest: 4)
    let whole = archive.bytes.count
    archive.add([(segments[3], 0..<3)], clock: ringClock, lowest: 5)
    // Header with its range, and a part of the payload.
    return Array(archive.bytes[..<(whole + 128 + 24 + 44)])
  }

  static var closed: [UInt8] { closed(identity(11)) }

  static var resumed: [UInt8] {
    let hour: Int64 = 3_600_000_000_000
    return closed(identity(15), later: hour) + closed(identity(16), later: 2 * hour)
  }

  /// - Parameter later: How many nanoseconds later than the others the records are.
  private static func closed(_ identity: SessionIdentity, later: Int64 = 0) -> [UInt8] {
    let ringClock = TickClock(
      ticks: ringClock.ticks, wall: ringClock.wall + later, rate: ringClock.rate)
    let segments = GoldenRecords.segments(entrySeed: seed(identity))
    var archive = GoldenArchive(identity)
    archive.add(.dictionary, dictionary(identity, 0..<7))
    let first = [(0, 1), (1, 3), (2, 2), (4, 1), (5, 2)].map { (segments[$0.0], 0..<$0.1) }
    archive.add(first, clock: ringClock, lowest: 4)
    archive.add(.dictionary, dictionary(identity, 7..<9))
    let clock = TickClock(ticks: 2_000_000, wall: epoch + later + 500_777, rate: 1 << 31)
    let second = [(3, 0, 3), (4, 1, 6), (5, 2, 5)].map { (segments[$0.0], $0.1..<$0.2) }
    archive.add(second, clock: clock, lowest: 7)
    var losses = LossLedger()
    losses[.ringFull, .debug] = 3
    losses[.cut, .info] = 1
    archive.add(.losses, losses.encoded)
    archive.add(.sessionEnd, SessionEnd(.closed, time: epoch + 3_000_000_000).encoded)
    archive.close(dictionary(identity))
    return archive.bytes
  }

  static var compressed: [UInt8] {
    let identity = identity(12)
    var archive = GoldenArchive(identity, compresses: true)
    archive.add(.dictionary, dictionary(identity))
    let segments = GoldenRecords.segments(entrySeed: seed(identity))
    archive.add(segments.map { ($0, $0.items.indices) }, clock: ringClock, lowest: 7)
    archive.add(.sessionEnd, SessionEnd(.killed, time: epoch + 9).encoded)
    archive.close(dictionary(identity))
    return archive.bytes
  }

  static var columns: [UInt8] {
    let identity = identity(13)
    var archive = GoldenArchive(identity)
    let entries = (GoldenRecords.entries + GoldenColumns.entries)
      .flatMap { $0.encoded(seed: seed(identity)) }.withUnsafeBytes { Array($0) }
    archive.add(.dictionary, entries)
    for (index, frame) in GoldenColumns.frames(entrySeed: seed(identity)).enumerated() {
      archive.add(frame, clock: ringClock, isDeflated: index == 2)
    }
    archive.add(.sessionEnd, SessionEnd(.closed, time: epoch + 3_000_000_000).encoded)
    archive.close(entries)
    return archive.bytes
  }

  static var encoded: [UInt8] { encoded(identity(14), .zlib) }

  /// The records of ``encoded``, the first frame of them compressed with zstd. Only in builds with
  /// zstd.
  static var zstd: [UInt8] { encoded(identity(18), .zstd) }

  /// Two archives of a session whose frames are chained. Only in builds with libcrypto.
  static var chained: [[UInt8]] {
    let identity = identity(19)
    let segments = GoldenRecords.segments(entrySeed: seed(identity))
    let parts = [
      [(0, 0, 1), (1, 0, 3), (2, 0, 2), (4, 0, 1), (5, 0, 2)], [(3, 0, 3), (4, 1, 6), (5, 2, 5)],
    ].map { $0.map { (segments[$0.0], $0.1..<$0.2) } }
    var first = GoldenArchive(identity, previousHead: FrameHash.none)
    first.add(.dictionary, dictionary(identity))
    first.add(parts[0], clock: ringClock, lowest: 4)
    first.close(dictionary(identity))
    var second = GoldenArchive(identity, number: 2, previousHead: first.head)
    second.add(.dictionary, dictionary(identity))
    second.add(parts[1], clock: ringClock, lowest: 7)
    second.add(.sessionEnd, SessionEnd(.closed, time: epoch + 3_000_000_000).encoded)
    second.close(dictionary(identity))
    return [first.bytes, second.bytes]
  }

  private static func encoded(_ identity: SessionIdentity, _ format: CompressionFormat) -> [UInt8] {
    let segments = GoldenRecords.segments(entrySeed: seed(identity))
    var archive = GoldenArchive(identity, compresses: true)
    archive.add(.dictionary, dictionary(identity))
    let first = [(0, 1), (1, 3), (2, 2), (4, 1), (5, 2)].map { (segments[$0.0], 0..<$0.1) }
    archive.add(
      first, clock: ringClock, lowest: 4, columns: dictionary(identity), format: format)
    let second = [(3, 0, 3), (4, 1, 6), (5, 2, 5)].map { (segments[$0.0], $0.1..<$0.2) }
    archive.add(second, clock: ringClock, lowest: 7, columns: dictionary(identity))
    archive.add(.sessionEnd, SessionEnd(.closed, time: epoch + 3_000_000_000).encoded)
    archive.close(dictionary(identity))
    return archive.bytes
  }
}

/// Bytes in memory that is aligned, as a map's is.
struct GoldenBytes {
  var bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }
  init(count: Int) { bytes = [UInt8](repeating: 0, count: count) }

  mutating func put(_ new: [UInt8], at offset: Int) {
    bytes.replaceSubrange(offset..<offset + new.count, with: new)
  }
}

extension GoldenSegment {
  /// Where the record of that index begins, or the last one ends.
  func offset(_ index: Int) -> Int {
    items[..<index].reduce(SegmentLayout.size) { $0 + $1.words(seed: 0).count * wordSize }
  }

  /// Header and records.
  func bytes(_ identity: SessionIdentity, _ cipher: RingCipher? = nil) -> [UInt8] {
    let seed = GoldenFiles.seed(identity, generation)
    let stream = cipher == nil ? 0 : generation + 100
    var out = GoldenBytes(count: offset(items.count))
    out.bytes.withUnsafeMutableBytes { bytes in
      bytes.store(generation, SegmentLayout.generation)
      bytes.store(
        isSealed ? SegmentLayout.stateSealed : SegmentLayout.stateOpen, SegmentLayout.state)
      bytes.store(UInt32(SegmentLayout.size), SegmentLayout.archived)
      bytes.store(thread.ordinal, SegmentLayout.threadOrdinal)
      bytes.store(thread.id, SegmentLayout.threadID)
      bytes.store(text: thread.name, SegmentLayout.threadName, SegmentLayout.threadNameSize)
      bytes.store(isSealed ? UInt32(bytes.count) : 0, SegmentLayout.end)
      bytes.store(generation / 2, SegmentLayout.firstNumber)
      bytes.store(UInt32(generation) + 3, SegmentLayout.writer)
      bytes.store(stream, SegmentLayout.stream)
      bytes.store(segmentChecksum(UnsafeRawBufferPointer(bytes)), SegmentLayout.checksum)
    }
    for (index, item) in items.enumerated() {
      out.put(item.words(seed: seed).withUnsafeBytes { Array($0) }, at: offset(index))
    }
    // Decrypting and encrypting are the same operation.
    out.bytes.withUnsafeMutableBytes { try? cipher?.decrypt($0, stream: stream, seed: seed) }
    return out.bytes
  }
}
