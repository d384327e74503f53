import TestSupport
import MMLogFormat

/// A part of a file, and which records corruption of it may cost, by their numbers.
struct Part {
  let range: Range<Int>
  /// What one wrong bit may cost.
  var one: [Int] = []
  /// What several wrong bits may cost.
  var several: [Int] = []
  /// Parts of the same group count as one: they hold the same, or need each other.
  var group = 0

  private static let (dictionary, whole, keySlot) = (-1, -2, -3)

  /// The parts of an archive of one thread: of each frame all records between its first and its
  /// last ticks.
  static func ofArchive(_ bytes: [UInt8], _ records: [LoggedRecord]) throws -> [Part] {
    let all = Array(records.indices)
    var parts = [Part(range: 0..<FileHeaderLayout.size, several: all, group: whole)]
    try bytes.withUnsafeBytes { bytes in
      var offset = FileHeaderLayout.size
      while offset < bytes.count - TrailerLayout.size {
        let rest = bytes.slice(offset, bytes.count - offset)
        guard let size = FrameHeader.size(rest), let header = FrameHeader(rest.slice(0, size))
        else {
          throw Failure("no frame at \(offset)")
        }
        var part = Part(range: offset..<offset + header.frameSize, group: offset)
        let summary = header.summary
        switch header.type {
        case .records:
          let ticks = summary.firstTicks...summary.lastTicks
          part.one = all.filter { ticks.contains(records[$0].ticks) }
          part.several = part.one
        case .dictionary: (part.several, part.group) = (all, dictionary)
        case .keySlot: (part.several, part.group) = (all, keySlot)
        default: break
        }
        parts.append(part)
        offset += header.frameSize
      }
    }
    return parts
  }

  /// The parts of a ring, given the numbers of records by their ticks.
  static func ofRing(_ bytes: [UInt8], _ numbers: [UInt64: Int]) throws -> [Part] {
    let all = Array(0..<numbers.count)
    return try bytes.withUnsafeBytes { bytes in
      let fileHeader = try RingHeader(bytes)
      let geometry = fileHeader.geometry
      let dictionary = geometry.dictionaryOffset..<geometry.segmentsOffset
      var parts = [
        Part(range: 0..<FileHeaderLayout.size, several: all, group: whole),
        Part(range: dictionary, several: all, group: self.dictionary),
      ]
      for index in 0..<geometry.segmentCount {
        let start = geometry.offset(ofSegment: index)
        parts += ofSegment(bytes.slice(start, geometry.segmentSize), at: start, fileHeader, numbers)
      }
      return parts
    }
  }

  private static func ofSegment(
    _ segment: UnsafeRawBufferPointer, at start: Int, _ fileHeader: RingHeader,
    _ numbers: [UInt64: Int]
  ) -> [Part] {
    guard let header = try? SegmentHeader(segment), !header.isFree else { return [] }
    var scanner = RecordScanner(
      segment, from: SegmentLayout.size,
      seed: checksumSeed(session: fileHeader.identity.session, generation: header.generation),
      zeros: .end)
    var parts: [Part] = []
    while case .record(let record, let offset) = scanner.next() {
      // None if an archive has the record.
      let lost = numbers[record.ticks].map { [$0] } ?? []
      let range = start + offset..<start + scanner.offset
      parts.append(Part(range: range, one: lost, several: lost, group: range.lowerBound))
    }
    parts.append(
      Part(
        range: start..<start + SegmentLayout.size, several: parts.flatMap(\.one), group: start))
    return parts
  }
}
