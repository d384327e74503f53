import CMMLogCore

// Every byte that mmlog writes to disk is declared here and nowhere else, but for two structures
// that C declares, because handlers of signals write them. Offsets are chained as previous + size,
// and a test pins them to literals. `docs/FORMAT.md` says the same in prose; change both together.
//
//   ring     [ header 512 | area table 512 ] [ areas ] [ dictionary ] [ segment uses ]
//            [ segment ] [ segment ] …
//   areas    [ session state | clock pairs | switch counts | noted head ] [ ledger ]
//            [ control page ] [ report of a crash ] [ state slot 64 ] [ state slot 64 ] …
//            [ key slots, of an encrypted ring ]
//   segment  [ header 128 ] [ record ] [ record ] … zeros
//   record   [ length kind checksum ] [ ticks ] [ site label level flags ] [ arguments ]
//            [ metadata ] [ span ] [ context ]
//   archive  [ header 512 ] [ frame ] [ frame ] … [ dictionary ] [ index ] [ trailer 80 ]
//   frame    [ header 160 | ranges 40 each ] [ payload ] padding to 8

/// The unit of everything that is mapped: 8 bytes, little-endian.
@inlinable public var wordSize: Int { 8 }

/// A size in bytes, with the padding to the next word.
@inlinable @inline(__always)
package func paddedSize(_ size: Int) -> Int { (size &+ wordSize &- 1) & ~(wordSize &- 1) }

/// The format version that this code writes, and the only one that it reads: version 1 was never
/// released, and version 2 is that of release 1.0, which stays as it is.
package let formatVersion: UInt32 = 2

/// The first 512 bytes of a ring and of an archive: who wrote it, and how.
package enum FileHeaderLayout {
  package static let magic = 0
  package static let version = magic + 8
  package static let fileHeaderSize = version + 4
  package static let compatibleFeatures = fileHeaderSize + 4
  package static let incompatibleFeatures = compatibleFeatures + 8
  package static let byteOrderProbe = incompatibleFeatures + 8
  package static let pageSize = byteOrderProbe + 4
  package static let session = pageSize + 4
  package static let bootID = session + 16
  package static let processID = bootID + 16
  package static let startTime = processID + 4 + 4
  package static let processName = startTime + 8
  package static let processNameSize = 64
  package static let hostName = processName + processNameSize
  package static let hostNameSize = 64
  package static let timeZone = hostName + hostNameSize
  package static let timeZoneSize = 64
  package static let storeName = timeZone + timeZoneSize
  package static let storeNameSize = 128
  /// Where the fields of the ring, or of the archive, begin.
  package static let specific = storeName + storeNameSize
  package static let archiveNumber = specific
  package static let archiveCreated = archiveNumber + 4 + 4
  /// The head of the session's archive before it, if the archive's frames are chained.
  package static let previousHead = archiveCreated + 8
  package static let isChained = previousHead + FrameHashLayout.size
  package static let checksum = size - 4
  package static let size = 512

  package static let ringMagic: StaticString = "MMLOGRNG"
  package static let archiveMagic: StaticString = "MMLOGARC"
  package static let byteOrderProbeValue: UInt32 = 0x0102_0304
}

/// The ring file: the rest of its file header, and its areas.
package enum RingLayout {
  package static let fileSize = FileHeaderLayout.specific
  package static let dictionaryOffset = fileSize + 8
  package static let dictionarySize = dictionaryOffset + 8
  package static let segmentsOffset = dictionarySize + 8
  package static let segmentSize = segmentsOffset + 8
  package static let segmentCount = segmentSize + 8
  package static let segmentHeaderSize = segmentCount + 4
  /// The level below which records stay in the ring.
  package static let archiveLevel = segmentHeaderSize + 4
  /// Whether the frames of the session's archives are chained.
  package static let isChained = archiveLevel + 1
  /// Whether spans decide about their flight records: see ``SpanCapture``.
  package static let spansDecide = isChained + 1
  /// Where the segments' uses are, a word for each segment: see ``SegmentUse``.
  package static let usesOffset = archiveLevel + 8
  /// How long a span may take in nanoseconds before its flight records are captured; 0: any time.
  package static let spanLimit = usesOffset + 8

  /// How much is written once, when the ring is made: the file header, and the table of its areas.
  package static let fileHeaderSize = FileHeaderLayout.size + AreaTableLayout.size
  /// Where a writer of this version puts the areas. A reader goes by the table: ``RingAreas``.
  package static let sessionState = fileHeaderSize
  package static let clocks = sessionState + SessionStateLayout.size
  package static let ledger = sessionState + 512
  package static let ledgerSize = LossLedger.causes * LossLedger.levels * 8
  package static let control = ledger + ledgerSize
  package static let crash = control + ControlLayout.size
  /// Behind the clocks, where there is room.
  package static let switchCounts = clocks + ClockPairLayout.areaSize
  package static let switchCountsSize = ControlLayout.switchCount * wordSize
  package static let head = switchCounts + switchCountsSize
  /// Only in an encrypted ring: its dictionary begins behind the key slots.
  package static let keySlots = stateSlots + StateSlotLayout.areaSize
  /// Fields of these areas, as offsets from the ring's start.
  package static let state = sessionState + SessionStateLayout.state
  package static let newestArchive = sessionState + SessionStateLayout.newestArchive
  package static let newestFrames = sessionState + SessionStateLayout.newestFrames
  package static let resumed = sessionState + SessionStateLayout.resumed
  package static let ending = sessionState + SessionStateLayout.ending
  package static let firstClockPair = clocks
  package static let clockPairSlots = clocks + ClockPairLayout.slots
  /// At a page's edge: these pages stay mapped when the rest of the ring is unmapped.
  package static let stateSlots = 8192
  /// Where the dictionary of a new ring begins, and the smallest offset that a dictionary may have.
  package static let dictionary = stateSlots + StateSlotLayout.areaSize
  /// The largest sizes in a ring of any writer, in bytes, and the most segments.
  package static let largestFile = 8 << 30
  package static let largestDictionary = 64 << 20
  package static let largestSegment = 16 << 20
  package static let maximumSegments = 1 << 20

  package static let stateOpen: UInt32 = 1
  package static let stateClosed: UInt32 = 2
}

/// The table of a ring's areas, behind its file header: entries up to one of kind 0, and a checksum
/// at the same offset as in the file header.
package enum AreaTableLayout {
  package static let kind = 0
  package static let offset = kind + 4 + 4
  package static let areaSize = offset + 8
  package static let entrySize = areaSize + 8
  package static let maximumEntries = 21
  package static let checksum = FileHeaderLayout.checksum
  package static let size = FileHeaderLayout.size
}

/// The area of a ring that has the state of its session.
package enum SessionStateLayout {
  package static let state = 0
  package static let newestArchive = state + 4
  /// Names the file in which the session's first archive stands behind others: an
  /// ``ArchiveIDLayout``.
  package static let resumed = newestArchive + 4
  /// How many frames the newest archive has at least.
  package static let newestFrames = resumed + ArchiveIDLayout.size
  /// A bit of ``newestFrames``, set before the archive gets its trailer: from then on, a limit may
  /// delete the archive.
  package static let mayBeSealed: UInt32 = 1 << 31
  /// In place of the number of frames: the archive has its trailer.
  package static let allFrames = UInt32.max
  /// How the process ended, written by the process itself: ``SessionEndLayout``.
  package static let ending = newestFrames + 4
  package static let size = ending + SessionEndLayout.size
}

/// The area of a ring that has what the session's next archive is chained to.
package enum NotedHeadLayout {
  package static let archive = 0
  package static let checksum = archive + 4
  package static let hash = checksum + 4
  package static let size = hash + FrameHashLayout.size
}

/// The area of an encrypted ring that has the ring's key for its recipients. The key is in two
/// places, so that one place is whole while the other is written anew. In each place, the slot
/// stands behind the recipients.
package enum KeySlotsLayout {
  package static let slotSize = 0
  /// Of all bytes behind the checksum, up to the slot's end.
  package static let checksum = slotSize + 4
  package static let recipientCount = checksum + 4
  package static let recipients = recipientCount + 8
  package static let recipientSize = 32
  package static let placeSize = 12288
  package static let areaSize = 2 * placeSize
}

/// The area of a ring through which a running process receives requests.
package enum ControlLayout {
  /// The ordinal of the newest level request that the process has carried out.
  package static let appliedLevels = 0
  /// The newest request, and the newest answer: a ``ControlRequest`` and a ``ControlAnswer``.
  package static let request = appliedLevels + 8
  package static let answer = request + 8
  /// How many flight records the process has captured, and how many it has evicted.
  package static let capturedRecords = answer + 8
  package static let forgottenRecords = capturedRecords + 8
  /// When the drainer's last successful pass ended, in nanoseconds since 1970 (0: there was none);
  /// how many passes have failed; and how many syncs of archives have failed.
  package static let lastPass = forgottenRecords + 8
  package static let failedPasses = lastPass + 8
  package static let failedSyncs = failedPasses + 4
  /// How many records rate limits have suppressed.
  package static let suppressed = failedSyncs + 4
  package static let levelSlots = 64
  package static let levelSlotSize = 960
  /// A byte for each of the first labels: ``levelMask``, and ``overridden``.
  package static let labelLevels = levelSlots + 2 * levelSlotSize
  package static let labelCount = 576
  package static let size = labelLevels + labelCount

  /// The level plus one; 0: not known.
  package static let levelMask: UInt8 = 15
  /// Whether the level was set from outside.
  package static let overridden: UInt8 = 128

  /// How many statements may be turned on at a time: a request has no room for more.
  package static let switchCount = 16

  /// A level request, in one of the slots. A rule's second word has, behind the level, whether the
  /// rule is about a statement, and the statement's line. The last word of such a rule has its
  /// limit, and the ordinal of the request that the rule came with.
  package static let requestOrdinal = 0
  package static let requestChecksum = requestOrdinal + 4
  package static let requestCount = requestChecksum + 4
  package static let requestRules = requestCount + 4 + 4
  package static let ruleLevel: UInt64 = 0xFF
  package static let ruleStatement: UInt64 = 1 << 8
  package static let ruleLimit: UInt64 = 1 << 9
  package static let ruleLineShift: UInt64 = 32
  package static let ruleOrdinalShift: UInt64 = 32
}

/// A state slot, in the area of a ring that has them: a named place for a value that is
/// overwritten.
package enum StateSlotLayout {
  /// A ``ValueType``; 0: the slot is free.
  package static let type = 0
  package static let nameSize = type + 1
  /// Of the bytes before the checksum, and of the name.
  package static let checksum = nameSize + 1 + 2
  /// The value, of all types but strings.
  package static let value = checksum + 4
  package static let name = value + 8
  package static let longestName = size - name
  package static let size = 64

  package static let count = 128
  package static let areaSize = count * size

  /// A string's two copies are in the places of the next two slots. Each copy begins with a word:
  /// the text's length in the lowest bits, then the copy's ordinal, then its checksum.
  package static let copies = 2
  package static let copyText = 8
  package static let longestText = size - copyText
  package static let lengthMask: UInt64 = 0xFF
  package static let ordinalShift: UInt64 = 8
  package static let ordinalMask: UInt64 = 0xFF_FFFF
  package static let checksumShift: UInt64 = 32
}

/// A clock pair. The area of a ring that has them begins with the one taken when the ring was made.
package enum ClockPairLayout {
  package static let ticks = 0
  package static let wall = ticks + 8
  package static let monotonic = wall + 8
  package static let ordinal = monotonic + 8
  package static let checksum = ordinal + 4
  package static let size = checksum + 4

  /// Where the area has the two slots that are written in turn.
  package static let slots = size
  package static let areaSize = 3 * size
}

package enum SegmentLayout {
  package static let generation = 0
  package static let state = generation + 8
  package static let archived = state + 4
  package static let threadOrdinal = archived + 4
  package static let threadID = threadOrdinal + 4
  package static let threadName = threadID + 4
  package static let threadNameSize = 16
  package static let end = threadName + threadNameSize
  package static let checksum = end + 4
  /// The number of the segment's first entry among those of its writer.
  package static let firstNumber = checksum + 4
  /// The complements of ``archived`` and ``end``, which change while the rest stays.
  package static let archivedChecksum = firstNumber + 8
  package static let endChecksum = archivedChecksum + 4
  /// Who numbers the entries: a thread has several writers, and some belong to no thread.
  package static let writer = endChecksum + 4
  /// The number of the stream that its records are encrypted with; 0: they are not.
  package static let stream = writer + 4 + 4
  package static let size = 128

  package static let stateFree = UInt32(MMLOG_SEGMENT_FREE)
  package static let stateOpen = UInt32(MMLOG_SEGMENT_OPEN)
  package static let stateSealed = UInt32(MMLOG_SEGMENT_SEALED)
}

/// A record's three leading words; its arguments follow.
public enum RecordLayout {
  /// Index of the word with length, kind and checksum: stored last, with release order.
  @inlinable public static var headerWord: Int { 0 }
  /// Index of the word with the ticks.
  @inlinable public static var ticksWord: Int { 1 }
  /// Index of the word with call site, label, level and flags.
  @inlinable public static var identityWord: Int { 2 }
  /// Index of the first word after the three that every record has.
  @inlinable public static var bodyWord: Int { 3 }

  /// Bits of the header word that hold the length in words.
  package static let lengthBits: UInt64 = 24
  package static let lengthMask: UInt64 = (1 << 24) - 1

  /// Kind of a whole record, where it stands in the header word.
  @inlinable public static var recordKind: UInt64 { 1 << 24 }
  package static let fragmentKind: UInt64 = 2 << 24
  package static let callSiteKind: UInt64 = 3 << 24
  package static let labelKind: UInt64 = 4 << 24
  package static let keySetKind: UInt64 = 5 << 24
  package static let sessionFieldsKind: UInt64 = 6 << 24
  package static let lastStateKind: UInt64 = 7 << 24
  /// What is left of a flight record that was erased: see ``ErasedRecord``.
  package static let erasedKind: UInt64 = 9 << 24

  /// Where label, level and flags stand in the identity word; the call site has the lowest bits.
  @inlinable public static var labelShift: UInt64 { 32 }
  /// See ``labelShift``.
  @inlinable public static var levelShift: UInt64 { 48 }
  /// See ``labelShift``.
  @inlinable public static var flagsShift: UInt64 { 56 }

  /// The longest value that a record holds in one piece; longer ones are cut.
  @inlinable package static var longestValue: Int { 16 << 20 }
  /// The longest body of a fragmented record: the longest message and something beside it.
  package static let longestBody = longestValue + (1 << 20)
}

/// The word that a block of fields begins with: metadata, or those of a context.
public enum BlockLayout {
  /// Its lowest bits: how many pairs stand behind the values of the key set.
  package static let pairsMask: UInt64 = (1 << 31) - 1
  /// Whether another block follows.
  package static let moreBit: UInt64 = 1 << 31
  /// Where the key set's number stands; 0: none.
  @inlinable public static var keySetShift: UInt64 { 32 }
  /// The maximum number of blocks in a row. The limit bounds hostile records: a key set may have
  /// any number of values that take no word.
  package static let most = 4
}

/// The word that a record's context begins with.
package enum ContextLayout {
  /// Its lowest bits: how many words follow it.
  package static let countMask: UInt64 = (1 << 32) - 1
  /// A word follows: the span that the record belongs to.
  package static let spanBit: UInt64 = 1 << 32
  /// Three words follow: a trace, and the span of it that was open elsewhere.
  package static let traceBit: UInt64 = 1 << 33
  /// Blocks of fields follow.
  package static let fieldsBit: UInt64 = 1 << 34
  /// Where the trace's flags stand.
  package static let traceFlagsShift: UInt64 = 56
}

/// What a record says of itself in the highest byte of its identity word.
public struct RecordFlags: OptionSet, Sendable {
  /// The bits as they stand on disk.
  public let rawValue: UInt8
  /// Makes flags from the bits as they stand on disk.
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Metadata follow the arguments.
  @inlinable public static var metadata: Self { Self(rawValue: 1) }
  /// A word with the thread follows the identity word.
  package static let thread = Self(rawValue: 2)
  /// A value was cut: it was longer than 16 MiB, there was no memory for it, or it was too much for
  /// a signal handler.
  @inlinable public static var cut: Self { Self(rawValue: 4) }
  /// The message is a piece of a line: no line end follows it.
  @inlinable public static var unterminated: Self { Self(rawValue: 8) }
  /// The record carries its call site's entry at its end.
  package static let inlineCallSite = Self(rawValue: 16)
  /// Words behind arguments and metadata say that a span begins or ends: see ``SpanLayout``.
  @inlinable public static var span: Self { Self(rawValue: 32) }
  /// A context stands last: span, trace and fields that were bound before the call.
  @inlinable package static var context: Self { Self(rawValue: 64) }
}

/// The span's words in a record that begins or ends a span. A beginning has two: the span's number,
/// and the number of the span that it is a part of. An end has three: the span's number, the ticks
/// at which it began, and the call site at which it began.
public enum SpanLayout {
  /// Set in the first word where the span ends.
  @inlinable public static var endBit: UInt64 { 1 << 63 }
  /// Set in the third word if the span's operation failed. The bits below are a call site's number.
  @inlinable public static var failedBit: UInt64 { 1 << 32 }
  /// Set in the third word if the span's flight records are captured although it did not fail.
  @inlinable public static var capturesBit: UInt64 { 1 << 33 }

  package static let beginCount = 2
  package static let endCount = 3

  /// How many words there are, as the first of them says.
  package static func count(_ first: UInt64) -> Int {
    first & endBit == 0 ? beginCount : endCount
  }
}

/// The words of a fragment after the identity word, which holds index, label, level and these
/// flags.
package enum FragmentLayout {
  package static let last: UInt8 = 1
  package static let thread: UInt8 = 2
  /// Header, ticks, identity, thread and body length: the most that comes before the part.
  package static let maximumLeadingWords = 5
}

/// An ``ArchiveID``, wherever it stands.
package enum ArchiveIDLayout {
  package static let session = 0
  package static let number = session + 16
  package static let size = number + 4
}

/// The hash of a frame, wherever it stands: SHA-256.
package enum FrameHashLayout {
  package static let size = 32
}

package enum FrameLayout {
  package static let marker = 0
  package static let type = marker + 8
  package static let codec = type + 1
  package static let headerSize = codec + 1 + 2
  package static let payloadSize = headerSize + 4
  package static let rawSize = payloadSize + 4
  package static let payloadChecksum = rawSize + 4
  package static let count = payloadChecksum + 4
  package static let firstTicks = count + 4
  package static let lastTicks = firstTicks + 8
  package static let firstWall = lastTicks + 8
  package static let lastWall = firstWall + 8
  package static let clockTicks = lastWall + 8
  package static let clockWall = clockTicks + 8
  package static let clockRate = clockWall + 8
  package static let lowestGeneration = clockRate + 8
  package static let levels = lowestGeneration + 8
  /// Whether an index says what the archive holds, and how the session ended. Only an index has
  /// this, and the counts in the clock's place.
  package static let countsState = levels + 1
  package static let counts = clockTicks
  /// When the session ended, if it ends in the archive. Only an index has this.
  package static let countsEndTime = size - 8
  /// Frames of records have bit 0: flight records; bits 1 and 2: ``TextEffort``. All frames have
  /// bit 3: encrypted; bit 4: the header ends with the hash of what comes before the frame; bit 5:
  /// a substitute.
  package static let flags = levels + 2
  package static let flightFlag: UInt8 = 1
  package static let encryptedFlag: UInt8 = 8
  package static let chainedFlag: UInt8 = 16
  package static let substituteFlag: UInt8 = 32
  package static let effortShift: UInt8 = 1
  package static let effortMask: UInt8 = 3
  package static let numberOfCounts = 8
  package static let rangeCount = levels + 4
  package static let ordinal = rangeCount + 4
  /// Which archive the frame belongs to. A stale or misdirected block names another archive.
  package static let archive = ordinal + 8
  package static let checksum = archive + ArchiveIDLayout.size
  package static let size = 160

  package static let rangeGeneration = 0
  package static let rangeFrom = rangeGeneration + 8
  package static let rangeTo = rangeFrom + 4
  package static let rangeSegment = rangeTo + 4
  package static let rangeWriter = rangeSegment + 4
  /// The number of the first entry of the range, and how many numbered ones there are.
  package static let rangeFirstNumber = rangeWriter + 4
  package static let rangeEntries = rangeFirstNumber + 8
  package static let rangeThread = rangeEntries + 4
  package static let rangeSize = rangeThread + 4

  /// A thread in the table that precedes the rows.
  package static let threadOrdinal = 0
  package static let threadID = threadOrdinal + 4
  package static let threadName = threadID + 4
  package static let threadSize = threadName + SegmentLayout.threadNameSize
  /// More threads than a frame can have: each thread has a row, and the table and the rows fit into
  /// ``RowBuilder/targetSize``.
  package static let maximumThreads = 1 << 15

  /// The sync marker F5 "MMLFRM" 0A: not text, and broken by any newline conversion.
  package static let markerValue: UInt64 = 0x0A4D_5246_4C4D_4DF5
  /// More ranges than a frame can have: each has a record, and their rows fit into
  /// ``RowBuilder/targetSize``.
  package static let maximumRanges = 1 << 20
  /// The maximum size of a decompressed payload, in bytes.
  package static let largestPayload = 64 << 20
}

/// What an index frame says of another frame.
package enum IndexEntryLayout {
  package static let offset = 0
  package static let count = offset + 8
  package static let type = count + 4
  package static let levels = type + 1
  package static let firstTicks = levels + 1 + 2
  package static let lastTicks = firstTicks + 8
  package static let firstWall = lastTicks + 8
  package static let lastWall = firstWall + 8
  package static let rawSize = lastWall + 8
  package static let frameSize = rawSize + 4
  package static let size = 64
}

/// How a session ended: in the ring, where the process writes it as it ends, and as a frame's
/// payload. C declares it, because a signal handler in C writes it: mmlog_report.h.
package enum SessionEndLayout {
  package static let how = offset(of: \mmlog_ending.how)
  package static let signal = offset(of: \mmlog_ending.signal)
  package static let sender = offset(of: \mmlog_ending.sender)
  package static let checksum = offset(of: \mmlog_ending.checksum)
  package static let time = offset(of: \mmlog_ending.time)
  package static let recovered = offset(of: \mmlog_ending.recovered)
  package static let size = MemoryLayout<mmlog_ending>.size
}

/// The report of a crash: in the ring, and as a frame's payload. C declares it, because the handler
/// that writes it is in C: mmlog_report.h.
package enum CrashLayout {
  package static let state = offset(of: \mmlog_crash_report.state)
  /// Of a report in the ring: two bytes of the word that has the state. See
  /// ``CrashReport/survivals(_:)``.
  package static let survivals = state + 1
  package static let survivalsCopy = survivals + 1
  package static let checksum = offset(of: \mmlog_crash_report.checksum)
  package static let signal = offset(of: \mmlog_crash_report.signal)
  package static let code = offset(of: \mmlog_crash_report.code)
  package static let thread = offset(of: \mmlog_crash_report.thread)
  package static let sender = offset(of: \mmlog_crash_report.sender)
  package static let threadName = offset(of: \mmlog_crash_report.thread_name)
  package static let threadNameSize = address - threadName
  package static let address = offset(of: \mmlog_crash_report.address)
  package static let wall = offset(of: \mmlog_crash_report.wall)
  package static let ticks = offset(of: \mmlog_crash_report.ticks)
  package static let machine = offset(of: \mmlog_crash_report.machine)
  package static let registerCount = offset(of: \mmlog_crash_report.register_count)
  package static let moduleCount = offset(of: \mmlog_crash_report.module_count)
  package static let frameCount = offset(of: \mmlog_crash_report.frame_count)
  package static let flags = offset(of: \mmlog_crash_report.flags)
  package static let registers = offset(of: \mmlog_crash_report.registers)
  package static let maximumRegisters = MMLOG_CRASH_REGISTERS
  package static let frames = offset(of: \mmlog_crash_report.frames)
  package static let maximumFrames = MMLOG_CRASH_FRAMES
  package static let modules = offset(of: \mmlog_crash_report.modules)
  package static let maximumModules = MMLOG_CRASH_MODULES
  package static let message = offset(of: \mmlog_crash_report.message)
  package static let messageSize = size - message
  package static let size = MemoryLayout<mmlog_crash_report>.size

  package static let moduleBase = offset(of: \mmlog_crash_module.base)
  package static let moduleEnd = offset(of: \mmlog_crash_module.end)
  package static let buildIDSize = offset(of: \mmlog_crash_module.build_id_size)
  package static let buildID = offset(of: \mmlog_crash_module.build_id)
  package static let maximumBuildID = MMLOG_BUILD_ID
  package static let modulePath = offset(of: \mmlog_crash_module.path)
  package static let modulePathSize = MMLOG_MODULE_PATH
  package static let moduleSize = MemoryLayout<mmlog_crash_module>.size

  package static let stateComplete = UInt8(MMLOG_CRASH_COMPLETE)
  /// Complete, and the handler has returned.
  package static let stateReturned = UInt8(MMLOG_CRASH_RETURNED)
  package static let hasMoreFrames = UInt16(MMLOG_CRASH_MORE_FRAMES)
  package static let isGuessed = UInt16(MMLOG_CRASH_GUESSED)
  package static let isException = UInt16(MMLOG_CRASH_EXCEPTION)
  /// The bits above the flags: which part of the ring's stream encrypts what follows; 0: none.
  package static let partShift = UInt16(MMLOG_CRASH_PART_SHIFT)
  package static let parts = MMLOG_CRASH_PARTS
}

/// The offset of a field in a structure of C.
private func offset<Structure, Field>(of field: KeyPath<Structure, Field>) -> Int {
  guard let offset = MemoryLayout<Structure>.offset(of: field) else {
    preconditionFailure("a field of C is stored")
  }
  return offset
}

package enum TrailerLayout {
  package static let magic = 0
  package static let dictionaryOffset = magic + 8
  package static let indexOffset = dictionaryOffset + 8
  package static let recordCount = indexOffset + 8
  package static let fileSize = recordCount + 8
  package static let frameCount = fileSize + 8
  /// Which archive ends here.
  package static let archive = frameCount + 4
  package static let checksum = size - 4
  package static let size = 80

  package static let magicValue: StaticString = "MMLOGEND"
}
