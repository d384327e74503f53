import MMLogFormat
import Testing

/// The offsets of Layout.swift against the literals of docs/FORMAT.md.
@Suite struct LayoutTests {
  private func check(_ pins: KeyValuePairs<String, (Int, Int)>) {
    for (name, (offset, literal)) in pins { #expect(offset == literal, "\(name)") }
  }

  @Test("the file header is as the format says") func theFileHeaderIsAsTheFormatSays() {
    typealias FileHeader = FileHeaderLayout
    check([
      "magic": (FileHeader.magic, 0), "version": (FileHeader.version, 8),
      "file header size": (FileHeader.fileHeaderSize, 12),
      "compatible": (FileHeader.compatibleFeatures, 16),
      "incompatible": (FileHeader.incompatibleFeatures, 24),
      "probe": (FileHeader.byteOrderProbe, 32), "page size": (FileHeader.pageSize, 36),
      "session": (FileHeader.session, 40), "boot": (FileHeader.bootID, 56),
      "process": (FileHeader.processID, 72),
      "start": (FileHeader.startTime, 80), "process name": (FileHeader.processName, 88),
      "process name's size": (FileHeader.processNameSize, 64), "host": (FileHeader.hostName, 152),
      "host's size": (FileHeader.hostNameSize, 64), "zone": (FileHeader.timeZone, 216),
      "zone's size": (FileHeader.timeZoneSize, 64), "store": (FileHeader.storeName, 280),
      "store's size": (FileHeader.storeNameSize, 128), "specific": (FileHeader.specific, 408),
      "checksum": (FileHeader.checksum, 508), "size": (FileHeader.size, 512),
      "probe value": (Int(FileHeader.byteOrderProbeValue), 0x0102_0304),
      "format": (Int(formatVersion), 2),
    ])
    #expect("\(FileHeader.ringMagic)" == "MMLOGRNG" && "\(FileHeader.archiveMagic)" == "MMLOGARC")
  }

  @Test("the ring is as the format says") func theRingIsAsTheFormatSays() {
    typealias Ring = RingLayout
    check([
      "file size": (Ring.fileSize, 408), "dictionary offset": (Ring.dictionaryOffset, 416),
      "dictionary size": (Ring.dictionarySize, 424), "segments": (Ring.segmentsOffset, 432),
      "segment size": (Ring.segmentSize, 440), "count": (Ring.segmentCount, 448),
      "header size": (Ring.segmentHeaderSize, 452), "archive level": (Ring.archiveLevel, 456),
      "ring's chain": (Ring.isChained, 457),
      "spans decide": (Ring.spansDecide, 458), "span limit": (Ring.spanLimit, 472),
      "uses": (Ring.usesOffset, 464),
      "file header and table": (Ring.fileHeaderSize, 1024),
      "state": (Ring.state, 1024),
      "newest archive": (Ring.newestArchive, 1028), "resumed": (Ring.resumed, 1032),
      "newest archive's frames": (Ring.newestFrames, 1052),
      "ending": (Ring.ending, 1056), "state's size": (SessionStateLayout.size, 64),
      "first pair": (Ring.firstClockPair, 1088), "slots": (Ring.clockPairSlots, 1120),
      "second slot": (Ring.clockPairSlots + ClockPairLayout.size, 1152),
      "clocks' size": (ClockPairLayout.areaSize, 96), "ledger": (Ring.ledger, 1536),
      "ledger's size": (Ring.ledgerSize, 512), "dictionary": (Ring.dictionary, 16384),
      "control": (Ring.control, 2048), "open": (Int(Ring.stateOpen), 1),
      "closed": (Int(Ring.stateClosed), 2), "ticks": (ClockPairLayout.ticks, 0),
      "wall": (ClockPairLayout.wall, 8), "monotonic": (ClockPairLayout.monotonic, 16),
      "ordinal": (ClockPairLayout.ordinal, 24), "pair's checksum": (ClockPairLayout.checksum, 28),
      "pair": (ClockPairLayout.size, 32),
    ])
  }

  @Test("the table of areas is as the format says") func theTableOfAreasIsAsTheFormatSays() {
    typealias Table = AreaTableLayout
    let usual = RingAreas.usual
    check([
      "kind": (Table.kind, 0), "offset": (Table.offset, 8), "area's size": (Table.areaSize, 16),
      "entry": (Table.entrySize, 24), "maximum": (Table.maximumEntries, 21),
      "checksum": (Table.checksum, 508),
      "size": (Table.size, 512),
    ])
    #expect(usual.sessionState == 1024..<1088 && usual.clocks == 1088..<1184)
    #expect(usual.ledger == 1536..<2048 && usual.control == 2048..<4608)
    #expect(usual.crash == 4608..<8192 && usual.stateSlots == 8192..<16384)
    #expect(usual.switchCounts == 1184..<1312 && usual.head == 1312..<1352)
    check([
      "archive": (NotedHeadLayout.archive, 0), "checksum": (NotedHeadLayout.checksum, 4),
      "hash": (NotedHeadLayout.hash, 8),
    ])
    typealias Slots = KeySlotsLayout
    #expect(RingAreas.usualEncrypted.keySlots == 16384..<40960)
    check([
      "slot's size": (Slots.slotSize, 0), "slot's checksum": (Slots.checksum, 4),
      "recipients' number": (Slots.recipientCount, 8), "recipients": (Slots.recipients, 16),
      "recipient": (Slots.recipientSize, 32), "place": (Slots.placeSize, 12288),
    ])
  }

  @Test("the report of a crash is as the format says") func theReportOfACrashIsAsTheFormatSays() {
    typealias Crash = CrashLayout
    check([
      "place": (RingLayout.crash, 4608), "state": (Crash.state, 0), "checksum": (Crash.checksum, 4),
      "signal": (Crash.signal, 8), "code": (Crash.code, 12), "thread": (Crash.thread, 16),
      "sender": (Crash.sender, 20), "name": (Crash.threadName, 24),
      "address": (Crash.address, 40), "wall": (Crash.wall, 48), "ticks": (Crash.ticks, 56),
      "machine": (Crash.machine, 64), "registers' number": (Crash.registerCount, 66),
      "modules' number": (Crash.moduleCount, 67), "frames' number": (Crash.frameCount, 68),
      "flags": (Crash.flags, 70), "registers": (Crash.registers, 72),
      "maximum registers": (Crash.maximumRegisters, 34), "frames": (Crash.frames, 344),
      "maximum frames": (Crash.maximumFrames, 128), "modules": (Crash.modules, 1368),
      "maximum modules": (Crash.maximumModules, 14), "message": (Crash.message, 3160),
      "message's size": (Crash.messageSize, 424), "size": (Crash.size, 3584),
      "module's end": (Crash.moduleEnd, 8), "build id's size": (Crash.buildIDSize, 16),
      "build id": (Crash.buildID, 20), "path": (Crash.modulePath, 40),
      "path's size": (Crash.modulePathSize, 88), "module's size": (Crash.moduleSize, 128),
    ])
  }

  @Test("the state slot is as the format says") func theStateSlotIsAsTheFormatSays() {
    typealias Slot = StateSlotLayout
    check([
      "type": (Slot.type, 0), "name's size": (Slot.nameSize, 1), "checksum": (Slot.checksum, 4),
      "value": (Slot.value, 8), "name": (Slot.name, 16), "longest name": (Slot.longestName, 48),
      "size": (Slot.size, 64), "number": (Slot.count, 128), "area": (Slot.areaSize, 8192),
      "copies": (Slot.copies, 2), "text": (Slot.copyText, 8),
      "longest text": (Slot.longestText, 56),
      "length": (Int(Slot.lengthMask), 255), "ordinal": (Int(Slot.ordinalShift), 8),
      "ordinals": (Int(Slot.ordinalMask), 0xFF_FFFF),
      "copy's checksum": (Int(Slot.checksumShift), 32),
      "last state": (Int(RecordLayout.lastStateKind >> 24), 7),
    ])
  }

  @Test("the control page is as the format says") func theControlPageIsAsTheFormatSays() {
    typealias Control = ControlLayout
    check([
      "applied": (Control.appliedLevels, 0), "request": (Control.request, 8),
      "answer": (Control.answer, 16), "captured": (Control.capturedRecords, 24),
      "forgotten": (Control.forgottenRecords, 32), "last pass": (Control.lastPass, 40),
      "failed passes": (Control.failedPasses, 48), "failed syncs": (Control.failedSyncs, 52),
      "suppressed": (Control.suppressed, 56),
      "slots": (Control.levelSlots, 64),
      "capture": (Int(ControlRequest.Actions.capture.rawValue), 1),
      "rotate": (Int(ControlRequest.Actions.rotate.rawValue), 2),
      "sync": (Int(ControlRequest.Actions.sync.rawValue), 4),
      "slot": (Control.levelSlotSize, 960), "labels": (Control.labelLevels, 1984),
      "their number": (Control.labelCount, 576), "size": (Control.size, 2560),
      "level": (Int(Control.levelMask), 15),
      "overridden": (Int(Control.overridden), 128), "ordinal": (Control.requestOrdinal, 0),
      "checksum": (Control.requestChecksum, 4), "count": (Control.requestCount, 8),
      "rules": (Control.requestRules, 16), "switches": (Control.switchCount, 16),
      "rule's level": (Int(Control.ruleLevel), 255),
      "rule's statement": (Int(Control.ruleStatement), 256),
      "rule's line": (Int(Control.ruleLineShift), 32),
      "rule's ordinal": (Int(Control.ruleOrdinalShift), 32),
    ])
  }

  @Test("the segment is as the format says") func theSegmentIsAsTheFormatSays() {
    typealias Segment = SegmentLayout
    check([
      "generation": (Segment.generation, 0), "state": (Segment.state, 8),
      "archived": (Segment.archived, 12), "thread": (Segment.threadOrdinal, 16),
      "thread id": (Segment.threadID, 20), "name": (Segment.threadName, 24),
      "name's size": (Segment.threadNameSize, 16), "end": (Segment.end, 40),
      "checksum": (Segment.checksum, 44), "first": (Segment.firstNumber, 48),
      "archived's checksum": (Segment.archivedChecksum, 56),
      "end's checksum": (Segment.endChecksum, 60),
      "writer": (Segment.writer, 64), "size": (Segment.size, 128),
      "free": (Int(Segment.stateFree), 0),
      "open": (Int(Segment.stateOpen), 1), "sealed": (Int(Segment.stateSealed), 2),
    ])
  }

  @Test("the record is as the format says") func theRecordIsAsTheFormatSays() {
    typealias Record = RecordLayout
    check([
      "word": (wordSize, 8), "header": (Record.headerWord, 0), "ticks": (Record.ticksWord, 1),
      "identity": (Record.identityWord, 2), "body": (Record.bodyWord, 3),
      "length": (Int(Record.lengthMask), 0xFF_FFFF), "bits": (Int(Record.lengthBits), 24),
      "record": (Int(Record.recordKind >> 24), 1), "fragment": (Int(Record.fragmentKind >> 24), 2),
      "call site": (Int(Record.callSiteKind >> 24), 3), "label": (Int(Record.labelKind >> 24), 4),
      "key set": (Int(Record.keySetKind >> 24), 5),
      "label shift": (Int(Record.labelShift), 32), "level shift": (Int(Record.levelShift), 48),
      "flags shift": (Int(Record.flagsShift), 56), "value": (Record.longestValue, 16 << 20),
      "body's maximum": (Record.longestBody, 17 << 20),
      "metadata": (Int(RecordFlags.metadata.rawValue), 1),
      "thread": (Int(RecordFlags.thread.rawValue), 2), "cut": (Int(RecordFlags.cut.rawValue), 4),
      "unterminated": (Int(RecordFlags.unterminated.rawValue), 8),
      "inline": (Int(RecordFlags.inlineCallSite.rawValue), 16),
      "context": (Int(RecordFlags.context.rawValue), 64),
      "its count": (Int(ContextLayout.countMask), 0xFFFF_FFFF),
      "its span": (Int(ContextLayout.spanBit), 1 << 32),
      "its trace": (Int(ContextLayout.traceBit), 1 << 33),
      "its fields": (Int(ContextLayout.fieldsBit), 1 << 34),
      "its flags": (Int(ContextLayout.traceFlagsShift), 56),
      "pairs": (Int(BlockLayout.pairsMask), 0x7FFF_FFFF),
      "another block": (Int(BlockLayout.moreBit), 1 << 31),
      "key set of a block": (Int(BlockLayout.keySetShift), 32), "blocks": (BlockLayout.most, 4),
      "last": (Int(FragmentLayout.last), 1),
      "fragment's thread": (Int(FragmentLayout.thread), 2), "deepest": (ValueType.deepest, 16),
      "optional": (Int(ValueType.optionalBit), 128),
    ])
  }

  @Test("types and causes and levels have their numbers")
  func typesAndCausesAndLevelsHaveTheirNumbers() {
    let types: [ValueType] = [
      .int, .uint, .double, .float, .bool, .string, .bytes, .int128, .uint128, .redacted, .hash,
      .null, .array, .dictionary,
    ]
    #expect(types.map(\.rawValue) == Array(1...14))
    let causes: [LossLedger.Cause] = [
      .ringFull, .overwritten, .cut, .tooDeep, .noRing, .corrupted, .tooLarge,
    ]
    #expect(causes == LossLedger.Cause.allCases && causes.map(\.rawValue) == Array(0...6))
    let levels: [Level] = [.trace, .debug, .info, .notice, .warning, .error, .critical]
    #expect(levels == Level.allCases && levels.map(\.rawValue) == Array(0...6))
    #expect(Level(fromFile: 7) == .critical && Level(fromFile: 255) == .critical)
  }

  @Test("the frame is as the format says") func theFrameIsAsTheFormatSays() {
    typealias Frame = FrameLayout
    check([
      "number": (FileHeaderLayout.archiveNumber, 408),
      "created": (FileHeaderLayout.archiveCreated, 416),
      "previous head": (FileHeaderLayout.previousHead, 424),
      "archive's chain": (FileHeaderLayout.isChained, 456), "hash": (FrameHashLayout.size, 32),
      "chained": (Int(Frame.chainedFlag), 16),
      "marker": (Frame.marker, 0), "type": (Frame.type, 8), "codec": (Frame.codec, 9),
      "header": (Frame.headerSize, 12), "payload": (Frame.payloadSize, 16),
      "raw": (Frame.rawSize, 20),
      "payload's checksum": (Frame.payloadChecksum, 24), "count": (Frame.count, 28),
      "first ticks": (Frame.firstTicks, 32), "last ticks": (Frame.lastTicks, 40),
      "first wall": (Frame.firstWall, 48), "last wall": (Frame.lastWall, 56),
      "clock's ticks": (Frame.clockTicks, 64), "clock's wall": (Frame.clockWall, 72),
      "rate": (Frame.clockRate, 80), "lowest": (Frame.lowestGeneration, 88),
      "levels": (Frame.levels, 96), "ranges": (Frame.rangeCount, 100),
      "ordinal": (Frame.ordinal, 104),
      "archive": (Frame.archive, 112), "archive's number": (ArchiveIDLayout.number, 16),
      "checksum": (Frame.checksum, 132), "size": (Frame.size, 160),
      "generation": (Frame.rangeGeneration, 0),
      "from": (Frame.rangeFrom, 8), "to": (Frame.rangeTo, 12), "segment": (Frame.rangeSegment, 16),
      "writer": (Frame.rangeWriter, 20),
      "first number": (Frame.rangeFirstNumber, 24), "entries": (Frame.rangeEntries, 32),
      "range's thread": (Frame.rangeThread, 36), "range": (Frame.rangeSize, 40),
      "maximum": (Frame.largestPayload, 64 << 20),
      "thread's ordinal": (Frame.threadOrdinal, 0), "thread's id": (Frame.threadID, 4),
      "thread's name": (Frame.threadName, 8), "thread": (Frame.threadSize, 24),
    ])
    let marker = withUnsafeBytes(of: Frame.markerValue.littleEndian) { Array($0) }
    #expect(marker == [0xF5, 0x4D, 0x4D, 0x4C, 0x46, 0x52, 0x4D, 0x0A])
  }

  @Test("the index and the trailer are as the format says")
  func theIndexAndTheTrailerAreAsTheFormatSays() {
    typealias Entry = IndexEntryLayout
    typealias End = TrailerLayout
    check([
      "offset": (Entry.offset, 0), "count": (Entry.count, 8), "type": (Entry.type, 12),
      "levels": (Entry.levels, 13), "first ticks": (Entry.firstTicks, 16),
      "last ticks": (Entry.lastTicks, 24), "first wall": (Entry.firstWall, 32),
      "last wall": (Entry.lastWall, 40), "raw": (Entry.rawSize, 48), "frame": (Entry.frameSize, 52),
      "entry": (Entry.size, 64), "how": (SessionEndLayout.how, 0),
      "signal": (SessionEndLayout.signal, 4), "sender": (SessionEndLayout.sender, 8),
      "its checksum": (SessionEndLayout.checksum, 12), "time": (SessionEndLayout.time, 16),
      "recovered": (SessionEndLayout.recovered, 24),
      "end": (SessionEndLayout.size, 32), "magic": (End.magic, 0),
      "dictionary": (End.dictionaryOffset, 8), "index": (End.indexOffset, 16),
      "records": (End.recordCount, 24), "file": (End.fileSize, 32), "frames": (End.frameCount, 40),
      "archive": (End.archive, 44), "checksum": (End.checksum, 76), "trailer": (End.size, 80),
    ])
    #expect("\(End.magicValue)" == "MMLOGEND")
  }
}
