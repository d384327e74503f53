/// What an area of a ring is for. A reader passes over kinds that are not here.
private enum AreaKind: UInt32, CaseIterable {
  case sessionState = 1
  case clocks
  case ledger
  case control
  case crash
  case stateSlots
  case switchCounts
  case head
  case keySlots

  /// Where a writer of this version puts the part of the area that this version knows.
  var usualPlace: Range<Int> {
    switch self {
    case .sessionState: place(RingLayout.sessionState, SessionStateLayout.size)
    case .clocks: place(RingLayout.clocks, ClockPairLayout.areaSize)
    case .ledger: place(RingLayout.ledger, RingLayout.ledgerSize)
    case .control: place(RingLayout.control, ControlLayout.size)
    case .crash: place(RingLayout.crash, CrashLayout.size)
    case .stateSlots: place(RingLayout.stateSlots, StateSlotLayout.areaSize)
    case .switchCounts: place(RingLayout.switchCounts, RingLayout.switchCountsSize)
    case .head: place(RingLayout.head, NotedHeadLayout.size)
    case .keySlots: place(RingLayout.keySlots, KeySlotsLayout.areaSize)
    }
  }

  private func place(_ offset: Int, _ size: Int) -> Range<Int> { offset..<offset + size }
}

/// Where a ring's areas are, as its area table says (FORMAT.md, 3). Of each area, only the part
/// that this version knows.
package struct RingAreas: Equatable, Sendable {
  /// See ``SessionStateLayout``.
  package var sessionState: Range<Int>
  /// See ``ClockPairLayout``.
  package var clocks: Range<Int>
  package var ledger: Range<Int>
  /// See ``ControlLayout``; nil: the process cannot be asked for anything.
  package var control: Range<Int>?
  /// See ``CrashLayout``; nil: there is no room for a report.
  package var crash: Range<Int>?
  /// See ``StateSlotLayout``; nil: there are none.
  package var stateSlots: Range<Int>?
  /// A word for each statement that is turned on; nil: nothing is counted.
  package var switchCounts: Range<Int>?
  /// See ``NotedHead``; nil: none is noted.
  package var head: Range<Int>?
  /// See ``KeySlotsLayout``; nil: records are not encrypted.
  package var keySlots: Range<Int>?

  /// Where a writer of this version puts the areas.
  package static let usual = RingAreas(
    sessionState: AreaKind.sessionState.usualPlace, clocks: AreaKind.clocks.usualPlace,
    ledger: AreaKind.ledger.usualPlace, control: AreaKind.control.usualPlace,
    crash: AreaKind.crash.usualPlace, stateSlots: AreaKind.stateSlots.usualPlace,
    switchCounts: AreaKind.switchCounts.usualPlace, head: AreaKind.head.usualPlace)

  /// The same in a ring that is encrypted.
  package static let usualEncrypted: RingAreas = {
    var areas = usual
    areas.keySlots = AreaKind.keySlots.usualPlace
    return areas
  }()

  /// Where the clock pairs are, the first one first.
  package var clockPairs: [Int] {
    Array(stride(from: clocks.lowerBound, to: clocks.upperBound, by: ClockPairLayout.size))
  }

  private subscript(kind: AreaKind) -> Range<Int>? {
    switch kind {
    case .sessionState: sessionState
    case .clocks: clocks
    case .ledger: ledger
    case .control: control
    case .crash: crash
    case .stateSlots: stateSlots
    case .switchCounts: switchCounts
    case .head: head
    case .keySlots: keySlots
    }
  }

  /// The bytes of the area table.
  package var encoded: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: AreaTableLayout.size)
    bytes.withUnsafeMutableBytes { out in
      let areas = AreaKind.allCases.compactMap { kind in self[kind].map { (kind, $0) } }
      for (index, (kind, place)) in areas.enumerated() {
        let entry = index * AreaTableLayout.entrySize
        out.store(kind.rawValue, entry + AreaTableLayout.kind)
        out.store(UInt64(place.lowerBound), entry + AreaTableLayout.offset)
        out.store(UInt64(place.count), entry + AreaTableLayout.areaSize)
      }
      out.storeChecksum(at: AreaTableLayout.checksum)
    }
    return bytes
  }
}

extension RingAreas {
  /// Reads the table of a ring; if it cannot be right, the areas are where a writer of this version
  /// puts them.
  ///
  /// - Parameters:
  ///   - ring: The ring's first bytes.
  ///   - limit: Where its dictionary begins.
  /// - Returns: The areas, and what is wrong with the table: part of a sentence; nil: nothing.
  static func read(
    from ring: UnsafeRawBufferPointer, before limit: Int
  ) -> (areas: RingAreas, problem: String?) {
    var table = Array(ring.dropFirst(FileHeaderLayout.size).prefix(AreaTableLayout.size))
    return table.withUnsafeMutableBytes { table in
      let isCorrected = table.count == AreaTableLayout.size && table.correctFileHeader()
      do throws(FormatError) {
        let areas = try RingAreas(UnsafeRawBufferPointer(table), before: limit)
        return (areas, isCorrected ? "one bit was wrong, and is corrected" : nil)
      } catch {
        // Only a ring that has key slots has room for them.
        let isEncrypted = limit >= RingLayout.dictionary + KeySlotsLayout.areaSize
        return (
          isEncrypted ? .usualEncrypted : .usual,
          "\(error); the areas are taken to be in their usual places"
        )
      }
    }
  }

  private init(_ table: UnsafeRawBufferPointer, before limit: Int) throws(FormatError) {
    let areas = try Self.areas(table, before: limit)
    func place(_ kind: AreaKind) throws(FormatError) -> Range<Int>? {
      let places = areas.filter { $0.kind == kind.rawValue }.map(\.place)
      guard places.count <= 1 else { throw .invalid("second area \(kind.rawValue)") }
      return places.first.map { $0.prefix(kind.usualPlace.count) }
    }
    func required(_ kind: AreaKind) throws(FormatError) -> Range<Int> {
      guard let place = try place(kind) else {
        throw .invalid("lack of area \(kind.rawValue)")
      }
      return place
    }
    sessionState = try required(.sessionState)
    clocks = try required(.clocks)
    ledger = try required(.ledger)
    control = try place(.control)
    crash = try place(.crash)
    stateSlots = try place(.stateSlots)
    switchCounts = try place(.switchCounts)
    head = try place(.head)
    keySlots = try place(.keySlots)
  }

  /// The entries, none of which overlaps another.
  private static func areas(
    _ table: UnsafeRawBufferPointer, before limit: Int
  ) throws(FormatError) -> [(kind: UInt32, place: Range<Int>)] {
    guard table.count == AreaTableLayout.size else { throw .truncated }
    guard table.checksumDifference(at: AreaTableLayout.checksum) == 0 else { throw .wrongChecksum }
    var areas: [(kind: UInt32, place: Range<Int>)] = []
    for index in 0..<AreaTableLayout.maximumEntries {
      let start = index * AreaTableLayout.entrySize
      let entry = table.slice(start, AreaTableLayout.entrySize)
      let kind = entry.load(AreaTableLayout.kind, as: UInt32.self)
      if kind == 0 { break }
      areas.append((kind, try place(of: entry, kind, before: limit)))
    }
    areas.sort { $0.place.lowerBound < $1.place.lowerBound }
    for (area, next) in zip(areas, areas.dropFirst())
    where area.place.upperBound > next.place.lowerBound {
      throw .invalid("overlap of areas \(area.kind) and \(next.kind)")
    }
    return areas
  }
  /// Where the area of an entry is.
  ///
  /// - Throws: ``FormatError`` if it does not lie between the table and `limit`.
  private static func place(
    of entry: UnsafeRawBufferPointer, _ kind: UInt32, before limit: Int
  ) throws(FormatError) -> Range<Int> {
    let offset = entry.load(AreaTableLayout.offset, as: UInt64.self)
    let size = entry.load(AreaTableLayout.areaSize, as: UInt64.self)
    guard offset % UInt64(wordSize) == 0, size % UInt64(wordSize) == 0 else {
      throw .invalid("alignment of area \(kind)")
    }
    guard offset >= RingLayout.fileHeaderSize, offset <= limit, size <= UInt64(limit) - offset
    else {
      throw .invalid("place of area \(kind)")
    }
    guard size > 0, size >= AreaKind(rawValue: kind)?.usualPlace.count ?? 0 else {
      throw .invalid("size of area \(kind)")
    }
    return Int(offset)..<Int(offset + size)
  }
}
