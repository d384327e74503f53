package import MMLogFormat
package import MMLogSystem

/// A copy of a ring file, checked: of a dead ring, or of a live one while its process goes on.
///
/// A copy and not a map: a file truncated by someone else would end the reader with SIGBUS.
package final class RingImage {
  /// A segment in use, copied.
  package struct Segment {
    package let index: Int
    package let header: SegmentHeader
    fileprivate let offset: Int
    fileprivate let size: Int
    fileprivate let seed: UInt32
  }

  /// Bytes of the ring that could not be read.
  package struct Damage: Equatable, Sendable {
    package let range: Range<Int>
    package let what: String
  }

  package let path: String
  package let head: RingHead
  /// False if the process died, or is alive.
  package let isClosedCleanly: Bool
  package let clock: TickClock
  package let losses: LossLedger
  package let dictionary: LogDictionary
  /// The dictionary's entries one by one, for copying them into an archive.
  package let entries: [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)]
  /// The segments in use, by rising generation.
  package let segments: [Segment]
  package let damage: [Damage]
  private let bytes: UnsafeMutableRawBufferPointer

  /// Copies and checks the ring in `file`.
  ///
  /// - Throws: ``LogError`` if nothing of it can be read; damage to a part of it is told by ``damage``.
  package init(_ file: borrowing File) throws(LogError) {
    path = file.path
    let head: RingHead
    do {
      head = try Self.readHead(file)
    } catch let error as FormatError {
      throw LogError(error, path: file.path)
    } catch let error as SystemError {
      throw LogError(error, while: "Reading the ring failed")
    } catch {
      throw LogError(.system, "\(error)", path: file.path)
    }
    self.head = head

    var copy: RingCopy
    do {
      copy = try RingCopy(file, head.geometry, session: head.identity.session)
    } catch {
      throw LogError(error, while: "Reading the ring failed")
    }
    bytes = copy.bytes
    segments = copy.segments
    let all = UnsafeRawBufferPointer(copy.bytes)
    isClosedCleanly = all.load(RingLayout.state, as: UInt32.self) == RingLayout.stateClosed
    clock = copy.clock(startTime: head.identity.startTime)
    losses = LossLedger(all.slice(RingLayout.ledger, RingLayout.ledgerSize)) ?? LossLedger()
    if head.isMended { copy.noteMended(0..<HeadLayout.size, "head") }
    (dictionary, entries) = copy.dictionary(head)
    damage = copy.damage
  }

  deinit { bytes.deallocate() }

  /// Walks over a segment's records. What it gives is valid for as long as the image.
  ///
  /// - Parameter looksBehindZeros: See ``RecordScanner``.
  package func scanner(of segment: Segment, looksBehindZeros: Bool) -> RecordScanner {
    let end = segment.header.end == 0 ? segment.size : segment.header.end
    return RecordScanner(
      UnsafeRawBufferPointer(bytes).slice(segment.offset, min(end, segment.size)),
      from: SegmentLayout.size, seed: segment.seed, looksBehindZeros: looksBehindZeros)
  }

  /// Whether the machine has been running since the ring was written, if it was last started as `bootID` says.
  ///
  /// Zeros: that is not known, and then it may have been down meanwhile.
  package func isOfBoot(_ bootID: [UInt8]) -> Bool {
    head.identity.bootID == bootID && bootID.contains { $0 != 0 }
  }

  private static func readHead(_ file: borrowing File) throws -> RingHead {
    try file.bytes(at: 0, count: HeadLayout.size).withUnsafeBytes { try RingHead($0) }
  }

  /// The work of copying, apart from the result.
  private struct RingCopy {
    let bytes: UnsafeMutableRawBufferPointer
    var segments: [Segment] = []
    var damage: [Damage] = []
    private let geometry: RingGeometry

    /// Reads what of the ring is there. Bytes that a truncated file lacks are zero.
    init(
      _ file: borrowing File, _ geometry: RingGeometry, session: SessionID
    ) throws(SystemError) {
      self.geometry = geometry
      // Not what the head claims: what is there. The head's page must be; a segment may be missing.
      let present = min(try file.status().size, geometry.fileSize)
      let size = max(present, geometry.segmentsOffset)
      guard size <= 1 << 34 else { throw SystemError(call: .read, errno: 27, path: file.path) }
      bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      do {
        _ = try file.readFully(
          into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<geometry.segmentsOffset]), at: 0)
        for index in 0..<geometry.segmentCount { try copySegment(index, file, session: session) }
      } catch {
        bytes.deallocate()
        throw error
      }
      if present < geometry.fileSize {
        damage.append(
          Damage(range: present..<geometry.fileSize, what: "missing: the file is truncated"))
      }
      segments.sort { $0.header.generation < $1.header.generation }
    }

    /// Copies a segment; again if its process began to use it anew meanwhile.
    private mutating func copySegment(
      _ index: Int, _ file: borrowing File, session: SessionID
    ) throws(SystemError) {
      let offset = geometry.offset(ofSegment: index)
      guard offset + SegmentLayout.size < bytes.count else { return }
      let size = min(geometry.segmentSize, bytes.count - offset)
      let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + size])
      let part = UnsafeRawBufferPointer(target)
      for _ in 0..<8 {
        _ = try file.readFully(into: target, at: offset)
        let written = part.load(SegmentLayout.generation, as: UInt64.self)
        let isMended = target.mendSegmentHeader()
        let header: SegmentHeader
        do {
          header = try SegmentHeader(part, size: geometry.segmentSize)
        } catch {
          damage.append(Damage(range: offset..<offset + size, what: "segment \(index): \(error)"))
          return
        }
        if header.isFree { return }
        guard try generation(file, at: offset) == written else { continue }
        if isMended {
          noteMended(offset..<offset + SegmentLayout.size, "header of segment \(index)")
        }
        segments.append(
          Segment(
            index: index, header: header, offset: offset, size: size,
            seed: checkSeed(session: session, generation: header.generation)))
        return
      }
    }

    /// Notes damage that costs nothing.
    mutating func noteMended(_ range: Range<Int>, _ what: String) {
      damage.append(Damage(range: range, what: "\(what): one bit was wrong, and is put right"))
    }

    private func generation(_ file: borrowing File, at offset: Int) throws(SystemError) -> UInt64 {
      let bytes = try file.bytes(at: offset + SegmentLayout.generation, count: wordSize)
      return bytes.count == wordSize ? bytes.withUnsafeBytes { $0.load(0, as: UInt64.self) } : 0
    }

    func clock(startTime: Int64) -> TickClock {
      let all = UnsafeRawBufferPointer(bytes)
      let pairs = [
        RingLayout.firstClockPair, RingLayout.clockPairSlots,
        RingLayout.clockPairSlots + ClockPairLayout.size,
      ].map { ClockPair(all.slice($0, ClockPairLayout.size)) }
      let valid = pairs.compactMap { $0 }
      guard let newest = valid.max(by: { $0.ordinal < $1.ordinal }) else {
        return TickClock(ticks: 0, wall: startTime, rate: 1 << 32)
      }
      return TickClock(first: pairs[0] ?? newest, newest: newest)
    }

    mutating func dictionary(
      _ head: RingHead
    ) -> (LogDictionary, [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)]) {
      let start = geometry.dictionaryOffset
      let area = UnsafeMutableRawBufferPointer(
        rebasing: bytes[start..<start + geometry.dictionarySize])
      let seed = checkSeed(session: head.identity.session, generation: 0)
      for entry in area.mendEntries(seed: seed) {
        noteMended(start + entry.lowerBound..<start + entry.upperBound, "dictionary")
      }
      var scanner = EntryScanner(UnsafeRawBufferPointer(area), seed: seed)
      var dictionary = LogDictionary()
      var entries: [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)] = []
      while let entry = scanner.next() {
        guard dictionary.insert(entry.entry) else {
          let rest = start + scanner.offset..<start + geometry.dictionarySize
          damage.append(Damage(range: rest, what: "dictionary: too many entries"))
          break
        }
        entries.append(entry)
      }
      for range in scanner.damage {
        damage.append(
          Damage(range: start + range.lowerBound..<start + range.upperBound, what: "dictionary"))
      }
      return (dictionary, entries)
    }
  }
}
