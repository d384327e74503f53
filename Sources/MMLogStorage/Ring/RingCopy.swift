import MMLogCrypto
import MMLogFormat
import MMLogSystem

/// The work of copying a ring; ``RingImage`` is the result.
struct RingCopy {
  private let path: String
  let memory: SparseMemory
  var segments: [RingImage.Segment] = []
  var corruption: [Corruption] = []
  private let geometry: RingGeometry
  private let areas: RingAreas
  private let session: SessionID
  private let isOfThisBoot: Bool
  /// Whether flight records may be erased.
  private let hasErasures: Bool
  /// Whether the records of segments stay in memory.
  private let keepsRecords: Bool
  /// How much of the file is there.
  private let present: Int
  private(set) var state = StateSlots()
  /// The segments that cannot be read: they stay as they are.
  private var unreadable: Set<Int> = []
  /// The part of the dictionary that is not known.
  private var newEntries: Range<Int>

  /// Reads what the file has of the ring. Bytes that a truncated file lacks are zero.
  init(
    _ file: borrowing File, _ fileHeader: RingHeader, isOfThisBoot: Bool, keepsRecords: Bool,
    knownDictionary: Int, _ resume: (UInt64) -> Int?
  ) throws(SystemError) {
    path = file.path
    (geometry, areas) = (fileHeader.geometry, fileHeader.areas)
    session = fileHeader.identity.session
    (self.isOfThisBoot, self.keepsRecords) = (isOfThisBoot, keepsRecords)
    hasErasures = fileHeader.spanCapture != nil
    let dictionary = geometry.dictionaryOffset..<geometry.dictionaryOffset + geometry.dictionarySize
    newEntries = dictionary.dropFirst(knownDictionary)
    // What is there counts, not what the file header claims. The file header must be there; all
    // else may be missing.
    let size = try file.status().size
    present = min(size, geometry.fileSize)
    memory = try SparseMemory(max(present, geometry.segmentsOffset))
    for area in [
      areas.sessionState, areas.clocks, areas.ledger, areas.crash, areas.head, areas.keySlots,
    ] {
      if let area { try memory.read(file, area) }
    }
    try checkClockPairs(file)
    try readState(file)
    // Before the segments: see `contradictsUse`.
    try memory.read(file, geometry.uses)
    try copySegments(file, resume)
    // After the segments: an entry was in the dictionary before the records that refer to it were
    // in a segment. Most of the area may be a hole.
    let end = try memory.read(file, newEntries, untilZeros: true)
    newEntries = newEntries.clamped(to: newEntries.lowerBound..<max(newEntries.lowerBound, end))
    if present < geometry.fileSize {
      corruption.append(
        Corruption(present..<geometry.fileSize, "missing: the file is truncated", in: path))
    } else if size > geometry.fileSize {
      let what = "more than the file header says: a copy that is not exact"
      corruption.append(Corruption(geometry.fileSize..<size, what, in: path))
    }
    segments.sort { $0.header.generation < $1.header.generation }
  }

  // MARK: - Encryption

  var keySlots: [RingKeySlot] {
    guard let area = areas.keySlots else { return [] }
    return KeySlotPlaces.slots(in: memory[area])
  }

  /// Decrypts the records of all segments.
  ///
  /// - Returns: Why it did not; nil if the records are clear now.
  mutating func decrypt(with cipher: Result<RingCipher, FormatError>) -> FormatError? {
    guard areas.keySlots != nil, segments.contains(where: { $0.header.stream != 0 }) else {
      return nil
    }
    let opened: RingCipher
    switch cipher {
    case .success(let cipher): opened = cipher
    case .failure(let error): return error
    }
    do throws(CryptoError) {
      for index in segments.indices where segments[index].header.stream != 0 {
        let start = geometry.offset(ofSegment: segments[index].index)
        let part = memory.bytes[start..<start + segments[index].bytes.count]
        try opened.decrypt(
          UnsafeMutableRawBufferPointer(rebasing: part), stream: segments[index].header.stream,
          seed: segments[index].seed)
        segments[index].header.stream = 0
      }
      return nil
    } catch {
      return .encrypted(error)
    }
  }

  /// Inspects all headers, twice, before any segment is copied, and passes over uses of segments
  /// that began meanwhile.
  ///
  /// While one segment is inspected, a thread may go on in another one that was inspected before,
  /// and was free then, and from there in one that is still to come. A use that only the second
  /// scan finds has begun since, and so has every use with a later generation.
  private mutating func copySegments(
    _ file: borrowing File, _ resume: (UInt64) -> Int?
  ) throws(SystemError) {
    var uses: [(index: Int, generation: UInt64, end: Int, resume: Int?)] = []
    try forEachUse(file) { uses.append(($0, $1, $2, resume($1))) }
    let known = Set(uses.map(\.generation))
    var limit = UInt64.max
    try forEachUse(file) { _, generation, _ in
      if !known.contains(generation) { limit = min(limit, generation) }
    }
    for use in uses where use.generation < limit {
      try copySegment(use.index, use.generation, end: use.end, file, from: use.resume)
    }
    leaveOutCopies()
    try reportLostHeaders(file, besides: Set(uses.map(\.index)))
    settleUses()
  }

  /// Leaves out segments with the generation of another one: their bytes got into a wrong place. Of
  /// two such segments, the one whose use the ring notes is read.
  private mutating func leaveOutCopies() {
    var read: [UInt64: Int] = [:]
    for segment in segments {
      let generation = segment.header.generation
      guard let other = read[generation] else {
        read[generation] = segment.index
        continue
      }
      let isNoted = captured(ofSegment: segment.index, segment.seed) != nil
      if isNoted && captured(ofSegment: other, segment.seed) == nil {
        read[generation] = segment.index
      }
    }
    if read.count == segments.count { return }
    let all = segments
    segments.removeAll { read[$0.header.generation] != $0.index }
    for copy in all {
      guard let index = read[copy.header.generation], index != copy.index,
        !unreadable.contains(copy.index)
      else { continue }
      report(copy.index, "it is a copy of segment \(index)")
    }
  }

  /// Removes notes of uses that began or ended while the segments were copied: the copy has to say
  /// the same of a segment in both places.
  private func settleUses() {
    let seeds = Dictionary(segments.map { ($0.index, $0.seed) }, uniquingKeysWith: { $1 })
    for index in 0..<geometry.segmentCount where !unreadable.contains(index) {
      if !isUse(use(ofSegment: index), of: index, seed: seeds[index]) {
        clear(geometry.use(ofSegment: index)..<geometry.use(ofSegment: index) + wordSize)
      }
    }
  }

  /// Reports segments that look free, but are in use as the ring says elsewhere.
  private mutating func reportLostHeaders(
    _ file: borrowing File, besides used: Set<Int>
  ) throws(SystemError) {
    for index in 0..<geometry.segmentCount where !used.contains(index) {
      if try contradictsUse(of: index, seed: nil, file) { report(index, "its header is lost") }
    }
  }

  /// Whether a segment's header, which has been read, contradicts the use that the ring notes apart
  /// from it.
  ///
  /// The note is made after the header. Before the header is removed, the note says that the
  /// segment is being emptied. So any other note contradicts the header if it was there before the
  /// header was read, and still is.
  ///
  /// - Parameter seed: The seed of the generation in the header; nil: the header says that the
  ///   segment is free.
  private func contradictsUse(
    of index: Int, seed: UInt32?, _ file: borrowing File
  ) throws(SystemError) -> Bool {
    let place = geometry.use(ofSegment: index)
    let word = use(ofSegment: index)
    guard isOfThisBoot, word != 0, geometry.offset(ofSegment: index) + SegmentLayout.size < present
    else { return false }
    if isUse(word, of: index, seed: seed) { return false }
    return try self.word(file, at: place, within: place + wordSize) == word
  }

  private func clear(_ range: Range<Int>) {
    UnsafeMutableRawBufferPointer(rebasing: memory.bytes[range])
      .initializeMemory(as: UInt8.self, repeating: 0)
  }

  /// Whether a note of a segment's use fits its header; see ``contradictsUse(of:seed:_:)``.
  private func isUse(_ word: UInt64, of index: Int, seed: UInt32?) -> Bool {
    seed.map { captured(ofSegment: index, $0) != nil }
      ?? SegmentUse.isBeingEmptied(word, segmentSize: geometry.segmentSize)
  }

  private func use(ofSegment index: Int) -> UInt64 {
    UnsafeRawBufferPointer(memory.bytes).load(geometry.use(ofSegment: index), as: UInt64.self)
  }

  private mutating func report(_ segment: Int, _ problem: String) {
    let start = geometry.offset(ofSegment: segment)
    let place = start..<min(start + geometry.segmentSize, present)
    corruption.append(Corruption(place, "segment \(segment): \(problem)", in: path))
    unreadable.insert(segment)
  }

  /// Inspects the header of each segment, and gives `body` the index and the generation of each one
  /// in use, and where the records of a sealed one end; 0 for others.
  private func forEachUse(
    _ file: borrowing File, _ body: (_ index: Int, _ generation: UInt64, _ end: Int) -> Void
  ) throws(SystemError) {
    // A word more than the header has: a segment is larger than its header.
    let header = UnsafeMutableRawBufferPointer.allocate(
      byteCount: SegmentLayout.size + wordSize, alignment: wordSize)
    defer { header.deallocate() }
    for index in 0..<geometry.segmentCount {
      let offset = geometry.offset(ofSegment: index)
      guard offset + header.count <= present,
        try file.readFully(into: header, at: offset) == header.count
      else { break }
      let part = UnsafeRawBufferPointer(header)
      // The generation as it stands there, right or wrong: it only has to show whether it changes
      // later.
      let generation = part.load(SegmentLayout.generation, as: UInt64.self)
      _ = header.correctSegmentHeader()
      let read = try? SegmentHeader(part, size: geometry.segmentSize)
      if read?.isFree != true { body(index, generation, read?.end ?? 0) }
    }
  }

  private mutating func copySegment(
    _ index: Int, _ generation: UInt64, end: Int, _ file: borrowing File, from resume: Int?
  ) throws(SystemError) {
    let offset = geometry.offset(ofSegment: index)
    let size = min(geometry.segmentSize, present - offset)
    // The word where the known part ends is inspected first: mostly there is nothing new. In a
    // sealed segment, records may stand behind zeros.
    if let resume, resume >= end, try word(file, at: offset + resume, within: offset + size) == 0 {
      return
    }
    defer { if !keepsRecords { memory.clear(offset..<offset + size) } }
    let target = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[offset..<offset + size])
    let part = UnsafeRawBufferPointer(target)
    try memory.read(file, offset..<offset + size)
    let written = part.load(SegmentLayout.generation, as: UInt64.self)
    let isCorrected = target.correctSegmentHeader()
    var header: SegmentHeader
    do {
      header = try SegmentHeader(part, size: geometry.segmentSize)
    } catch {
      // Reported only if the segment is not being opened just now.
      if try word(file, at: offset, within: offset + size) == generation {
        report(index, "\(error)")
      } else {
        clear(offset..<offset + size)
      }
      return
    }
    // The segment is in use anew, or free: its records are in an archive, or discarded.
    guard !header.isFree, written == generation,
      try word(file, at: offset + SegmentLayout.generation, within: offset + size) == generation
    else { return clear(offset..<offset + size) }
    let seed = checksumSeed(session: session, generation: header.generation)
    if hasErasures { try readErasedAgain(part, in: offset..<offset + size, seed, file) }
    header.captured = captured(ofSegment: index, seed) ?? header.captured
    if try contradictsUse(of: index, seed: seed, file) {
      report(index, "its header, or what the ring notes of its use, is of another use")
    }
    let bytes = writtenPart(part, end: header.end)
    segments.append(
      RingImage.Segment(
        index: index, header: header, bytes: bytes, seed: seed,
        firstTicks: keepsRecords ? nil : firstTicks(bytes, seed, isSealed: header.end > 0)))
    if isCorrected {
      reportCorrected(offset..<offset + SegmentLayout.size, "header of segment \(index)")
    }
  }

  /// Reads bytes of a segment that are no record again: a record may have been erased while it was
  /// copied.
  private func readErasedAgain(
    _ part: UnsafeRawBufferPointer, in range: Range<Int>, _ seed: UInt32, _ file: borrowing File
  ) throws(SystemError) {
    var scanner = RecordScanner(part, from: SegmentLayout.size, seed: seed, zeros: .end)
    while let item = scanner.next() {
      guard case .corruption(let place) = item else { continue }
      let start = range.lowerBound
      try memory.read(file, start + place.lowerBound..<start + place.upperBound)
    }
  }

  /// Reads the state slots, and reads them again if a slot cannot be read: it may be just being
  /// written.
  private mutating func readState(_ file: borrowing File) throws(SystemError) {
    guard let area = areas.stateSlots else { return }
    for _ in 0..<3 {
      try memory.read(file, area)
      state = StateSlots(memory[area])
      if state.corruption.isEmpty { return }
    }
    for range in state.corruption {
      let place = area.lowerBound + range.lowerBound..<area.lowerBound + range.upperBound
      corruption.append(Corruption(place, "a state slot", in: path))
    }
  }

  /// How many survived signals there is no record of; 0 if that cannot be determined.
  mutating func survivals(in place: Range<Int>?) -> UInt8 {
    guard let place else { return 0 }
    let report = memory[place]
    if let count = CrashReport.survivals(report) { return count }
    let word = place.lowerBound..<place.lowerBound + CrashLayout.checksum
    corruption.append(
      Corruption(word, "the number of fatal signals that the process survived", in: path))
    return 0
  }

  /// Up to where a segment's flight records are captured, if the ring says so.
  private func captured(ofSegment index: Int, _ seed: UInt32) -> Int? {
    SegmentUse.captured(
      use(ofSegment: index), seed: seed, segmentSize: geometry.segmentSize)
  }

  /// Reports what is wrong with the table of the areas.
  mutating func report(_ areaProblem: String) {
    let table = FileHeaderLayout.size..<RingLayout.fileHeaderSize
    corruption.append(Corruption(table, "area table: \(areaProblem)", in: path))
  }

  /// Reports corruption that costs nothing.
  mutating func reportCorrected(_ range: Range<Int>, _ what: String) {
    corruption.append(
      Corruption(range, "\(what): one bit was wrong, and is corrected", in: path))
  }

  /// A segment as far as it has been written, and the word behind that.
  private func writtenPart(_ part: UnsafeRawBufferPointer, end: Int) -> UnsafeRawBufferPointer {
    if end > 0 { return part.slice(0, min(end, part.count)) }
    return part.slice(0, min(recordsEnd(part) + wordSize, part.count))
  }

  private func firstTicks(
    _ bytes: UnsafeRawBufferPointer, _ seed: UInt32, isSealed: Bool
  ) -> UInt64? {
    var scanner = RecordScanner(
      bytes, from: SegmentLayout.size, seed: seed, zeros: isSealed ? .lost : .mayBeLost)
    while let item = scanner.next() {
      if case .record(let record, _) = item { return record.ticks }
    }
    return nil
  }

  /// Where the last record ends. Its last words may be zero, so its length has to say.
  private func recordsEnd(_ part: UnsafeRawBufferPointer) -> Int {
    var offset = SegmentLayout.size
    while part.count - offset >= wordSize {
      let header = part.load(offset, as: UInt64.self)
      if header == 0 { break }
      let length = Int(header & RecordLayout.lengthMask) * wordSize
      guard length > 0, length <= part.count - offset else { return part.count }
      offset += length
    }
    // Nobody knows whether the segment is empty behind a zero word before all of it has been
    // inspected.
    for rest in stride(from: offset, through: part.count - wordSize, by: wordSize)
    where part.load(rest, as: UInt64.self) != 0 { return part.count }
    return offset
  }

  /// A word of the file; 0 if the file does not have it.
  private func word(
    _ file: borrowing File, at offset: Int, within end: Int
  ) throws(SystemError) -> UInt64 {
    guard offset + wordSize <= end else { return 0 }
    let bytes = try file.bytes(at: offset, count: wordSize)
    return bytes.count == wordSize ? bytes.withUnsafeBytes { $0.load(0, as: UInt64.self) } : 0
  }

  /// Reports clock pairs that were written and cannot be read; as one place if none can be read.
  private mutating func checkClockPairs(_ file: borrowing File) throws(SystemError) {
    let before = corruption.count
    for place in areas.clockPairs {
      let bytes = clockPair(at: place)
      if ClockPair.isUnfinished(bytes) || ClockPair(bytes) != nil { continue }
      // Reported only if it is not being written just now.
      guard try file.bytes(at: place, count: bytes.count).elementsEqual(bytes) else {
        try memory.read(file, place..<place + bytes.count)
        continue
      }
      corruption.append(
        Corruption(place..<place + bytes.count, "a clock reading", in: path))
    }
    guard clock == nil else { return }
    let what =
      "all clock readings: records have times by the clock of the session's archives, or, without "
      + "any, the session's start"
    corruption.removeSubrange(before...)
    corruption.append(Corruption(areas.clocks, what, in: path))
  }

  private func clockPair(at place: Int) -> UnsafeRawBufferPointer {
    memory[place..<place + ClockPairLayout.size]
  }

  /// The ring's clock; nil if no clock pair is valid.
  var clock: TickClock? {
    let pairs = areas.clockPairs.map { ClockPair(clockPair(at: $0)) }
    let valid = pairs.compactMap { $0 }
    guard let newest = valid.max(by: { $0.ordinal < $1.ordinal }) else { return nil }
    // The first pair gives the best rate; if it is lost, the oldest that is left is good enough.
    let oldest = valid.min { $0.ordinal < $1.ordinal } ?? newest
    return TickClock(first: oldest, newest: newest)
  }

  /// The entries that are not known, and where they end.
  mutating func dictionary() -> (
    LogDictionary, [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)], Int
  ) {
    let start = newEntries.lowerBound
    let seed = checksumSeed(session: session, generation: 0)
    let area = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[newEntries])
    for entry in area.correctEntries(seed: seed) {
      reportCorrected(start + entry.lowerBound..<start + entry.upperBound, "dictionary")
    }
    var scanner = EntryScanner(UnsafeRawBufferPointer(area), seed: seed)
    var dictionary = LogDictionary()
    var entries: [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)] = []
    while let entry = scanner.next() {
      let known = dictionary.contradictions
      guard dictionary.insert(entry.entry) else {
        if dictionary.contradictions > known {
          let place = start + scanner.offset - entry.bytes.count..<start + scanner.offset
          let what = "dictionary: an entry has the number of another one"
          corruption.append(Corruption(place, what, in: path))
          continue
        }
        let rest = start + scanner.offset - entry.bytes.count..<newEntries.upperBound
        corruption.append(Corruption(rest, "dictionary: too many entries", in: path))
        break
      }
      entries.append(entry)
    }
    for range in scanner.corruption {
      corruption.append(
        Corruption(
          start + range.lowerBound..<start + range.upperBound, "dictionary", in: path))
    }
    return (dictionary, entries, start + scanner.offset - geometry.dictionaryOffset)
  }
}
