/// What a frame of an archive holds. Raw values stand on disk.
package enum FrameType: UInt8, Sendable {
  /// A type that this version does not know: readers pass over such frames.
  case other
  case dictionary
  case records
  case losses
  case sessionEnd
  case index
  /// What a fatal signal was about: see ``CrashReport``.
  case crash
  /// The archive's key, encrypted for its recipients: see ``FrameCipher``.
  case keySlot
  /// The key of the session's ring, encrypted for its recipients: see ``RingCipher``.
  case ringKeySlot
}

/// How a payload is arranged and compressed. Raw values stand on disk.
package enum FrameCodec: UInt8, Sendable {
  case rows = 0
  /// The same rows by column. The payload itself says which of its parts zlib has compressed.
  case columns = 1
  /// Rows as they stood in an encrypted ring: see ``SealedRows``.
  case sealedRows = 2
  /// Rows that zlib has compressed.
  case zlibRows = 16
  /// Like ``columns``, but compressed by zstd.
  case zstdColumns = 33

  package var isInColumns: Bool { self == .columns || self == .zstdColumns }
  /// Whether only records are arranged in this way.
  var isOfRecords: Bool { isInColumns || self == .sealedRows }

  /// The format of what is compressed in the payload; nil if nothing is.
  package var compression: CompressionFormat? {
    switch self {
    case .rows, .sealedRows: nil
    case .columns, .zlibRows: .zlib
    case .zstdColumns: .zstd
    }
  }
}

/// The header of a frame, with its ranges.
package struct FrameHeader: Equatable, Sendable {
  package private(set) var type: FrameType
  /// The type as it stands in the file, also one that this version does not know.
  package private(set) var rawType: UInt8
  package var codec: FrameCodec
  package var payloadSize = 0
  package var rawSize = 0
  package var payloadChecksum: UInt32 = 0
  package var summary = RecordSummary()
  package var clock = TickClock(ticks: 0, wall: .zero, rate: 0)
  /// Only an index has them, in place of the clock; nil if it does not say.
  package var archiveCounts: ArchiveCounts?
  package var lowestGeneration: UInt64 = 0
  /// Whether its records are flight records. Its ranges then say nothing of other records, and the
  /// ranges of other frames say nothing of flight records.
  package var isFlight = false
  /// Whether its payload is encrypted.
  package var isEncrypted = false
  /// Whether a repair has written it in place of frames that the repair could not read: those with
  /// the ordinals behind that of the frame before, up to its own.
  package var isSubstitute = false
  /// The effort for text in columns. In a header that is still to be filled in: the maximum effort.
  package var effort = TextEffort.full
  package var ordinal: UInt64 = 0
  /// The archive that the frame was written into. A frame that stands in another archive got there
  /// by a fault.
  package var archive = ArchiveID.none
  package var ranges: [RingRange] = []
  /// In a chained archive, the hash of what comes before the frame: see ``FrameChain``.
  package var previous: FrameHash?

  package init(_ type: FrameType, codec: FrameCodec = .rows) {
    (self.type, rawType) = (type, type.rawValue)
    self.codec = codec
  }

  /// Whether an index names the frame.
  package var isInIndex: Bool {
    rawType != FrameType.dictionary.rawValue && rawType != FrameType.index.rawValue
  }

  package var headerSize: Int {
    Self.size(ranges: ranges.count, isChained: previous != nil)
  }

  private static func size(ranges: Int, isChained: Bool) -> Int {
    FrameLayout.size + ranges * FrameLayout.rangeSize + (isChained ? FrameHashLayout.size : 0)
  }

  /// The frame's whole size: header, payload and padding.
  package var frameSize: Int { paddedSize(headerSize + payloadSize) }

  /// Appends the header's bytes to `bytes`, checksum included.
  package func encode(into bytes: inout [UInt8]) {
    bytes.append(storing: headerSize) { encode(to: $0) }
  }

  /// Stores the header's bytes, all of them.
  private func encode(to out: UnsafeMutableRawBufferPointer) {
    out.initializeMemory(as: UInt8.self, repeating: 0)
    out.store(FrameLayout.markerValue, FrameLayout.marker)
    out.store(rawType, FrameLayout.type)
    out.store(codec.rawValue, FrameLayout.codec)
    out.store(UInt32(headerSize), FrameLayout.headerSize)
    out.store(UInt32(payloadSize), FrameLayout.payloadSize)
    out.store(UInt32(rawSize), FrameLayout.rawSize)
    out.store(payloadChecksum, FrameLayout.payloadChecksum)
    out.store(summary.count, FrameLayout.count)
    out.store(summary.firstTicks, FrameLayout.firstTicks)
    out.store(summary.lastTicks, FrameLayout.lastTicks)
    out.store(summary.firstWall, FrameLayout.firstWall)
    out.store(summary.lastWall, FrameLayout.lastWall)
    out.store(clock.ticks, FrameLayout.clockTicks)
    out.store(clock.wall, FrameLayout.clockWall)
    out.store(clock.rate, FrameLayout.clockRate)
    out.store(lowestGeneration, FrameLayout.lowestGeneration)
    out.store(summary.levels, FrameLayout.levels)
    out.store(flags, FrameLayout.flags)
    archiveCounts?.encode(into: out)
    out.store(UInt32(ranges.count), FrameLayout.rangeCount)
    out.store(ordinal, FrameLayout.ordinal)
    archive.encode(into: out, at: FrameLayout.archive)
    for (index, range) in ranges.enumerated() {
      range.encode(into: out, at: FrameLayout.size + index * FrameLayout.rangeSize)
    }
    previous?.encode(into: out, at: out.count - FrameHashLayout.size)
    out.store(headerChecksum(UnsafeRawBufferPointer(out)), FrameLayout.checksum)
  }

  /// Appends a whole frame: the header, the payload as it is stored, and padding. Sets the header's
  /// size and checksum of the payload.
  package mutating func encode(storing payload: [UInt8], into bytes: inout [UInt8]) {
    payload.withUnsafeBytes { payload in
      encode(storing: payload.count, into: &bytes) { output, _ in output.copyMemory(from: payload) }
    }
  }

  /// Appends a whole frame whose payload `store` makes in place.
  ///
  /// - Parameters:
  ///   - size: The size of the payload as it is stored.
  ///   - store: Makes the payload. It gets the header as it will be, but for the payload's
  ///     checksum.
  package mutating func encode<Failure: Error>(
    storing size: Int, into bytes: inout [UInt8],
    _ store: (UnsafeMutableRawBufferPointer, FrameHeader) throws(Failure) -> Void
  ) throws(Failure) {
    payloadSize = size
    try bytes.append(storing: frameSize) { (frame) throws(Failure) in
      let payload = UnsafeMutableRawBufferPointer(rebasing: frame[headerSize..<headerSize + size])
      try store(payload, self)
      payloadChecksum = crc32c(UnsafeRawBufferPointer(payload))
      encode(to: UnsafeMutableRawBufferPointer(rebasing: frame[..<headerSize]))
      for place in headerSize + size..<frameSize { frame[place] = 0 }
    }
  }

  private var flags: UInt8 {
    (isFlight ? FrameLayout.flightFlag : 0) | effort.rawValue << FrameLayout.effortShift
      | (isEncrypted ? FrameLayout.encryptedFlag : 0)
      | (previous == nil ? 0 : FrameLayout.chainedFlag)
      | (isSubstitute ? FrameLayout.substituteFlag : 0)
  }

  /// The size of the header that begins `bytes`, if it can be the header of a frame at all.
  ///
  /// - Parameter bytes: At least the fixed part of a header.
  package static func size(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard bytes.count >= FrameLayout.size,
      bytes.load(FrameLayout.marker, as: UInt64.self) == FrameLayout.markerValue
    else { return nil }
    let ranges = Int(bytes.load(FrameLayout.rangeCount, as: UInt32.self))
    guard ranges <= FrameLayout.maximumRanges,
      case let isChained = bytes[FrameLayout.flags] & FrameLayout.chainedFlag != 0,
      case let size = size(ranges: ranges, isChained: isChained),
      bytes.load(FrameLayout.headerSize, as: UInt32.self) == size
    else { return nil }
    return size
  }

  /// Reads a header that has exactly the size that ``size(_:)`` gave; nil if it is corrupted. A
  /// header with a codec that this version does not know has the type ``FrameType/other``.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard Self.size(bytes) == bytes.count,
      headerChecksum(bytes) == bytes.load(FrameLayout.checksum, as: UInt32.self)
    else { return nil }
    let known = FrameCodec(rawValue: bytes[FrameLayout.codec])
    codec = known ?? .rows
    rawType = bytes[FrameLayout.type]
    type = (known == nil ? nil : FrameType(rawValue: rawType)) ?? .other
    if codec.isOfRecords, type != .records { type = .other }
    payloadSize = Int(bytes.load(FrameLayout.payloadSize, as: UInt32.self))
    rawSize = Int(bytes.load(FrameLayout.rawSize, as: UInt32.self))
    payloadChecksum = bytes.load(FrameLayout.payloadChecksum, as: UInt32.self)
    summary.count = bytes.load(FrameLayout.count, as: UInt32.self)
    summary.firstTicks = bytes.load(FrameLayout.firstTicks, as: UInt64.self)
    summary.lastTicks = bytes.load(FrameLayout.lastTicks, as: UInt64.self)
    summary.firstWall = bytes.load(FrameLayout.firstWall, as: Timestamp.self)
    summary.lastWall = bytes.load(FrameLayout.lastWall, as: Timestamp.self)
    summary.levels = bytes[FrameLayout.levels]
    clock = TickClock(
      ticks: bytes.load(FrameLayout.clockTicks, as: UInt64.self),
      wall: bytes.load(FrameLayout.clockWall, as: Timestamp.self),
      rate: bytes.load(FrameLayout.clockRate, as: UInt64.self))
    lowestGeneration = bytes.load(FrameLayout.lowestGeneration, as: UInt64.self)
    isEncrypted = bytes[FrameLayout.flags] & FrameLayout.encryptedFlag != 0
    isSubstitute = bytes[FrameLayout.flags] & FrameLayout.substituteFlag != 0
    let flags = type == .records ? bytes[FrameLayout.flags] : 0
    isFlight = flags & FrameLayout.flightFlag != 0
    let effort = flags >> FrameLayout.effortShift & FrameLayout.effortMask
    self.effort = TextEffort(rawValue: effort) ?? .full
    archiveCounts = type == .index ? ArchiveCounts(header: bytes) : nil
    ordinal = bytes.load(FrameLayout.ordinal, as: UInt64.self)
    archive = ArchiveID(bytes, at: FrameLayout.archive)
    guard rawSize <= FrameLayout.largestPayload, payloadSize <= FrameLayout.largestPayload else {
      return nil
    }
    let isChained = bytes[FrameLayout.flags] & FrameLayout.chainedFlag != 0
    let end = bytes.count - (isChained ? FrameHashLayout.size : 0)
    previous = isChained ? FrameHash(bytes, at: end) : nil
    ranges = stride(from: FrameLayout.size, to: end, by: FrameLayout.rangeSize).map {
      RingRange(bytes, at: $0)
    }
  }
}

/// The CRC32C of a whole header with its checksum field taken as zero.
private func headerChecksum(_ header: UnsafeRawBufferPointer) -> UInt32 {
  var zero: UInt32 = 0
  return withUnsafeBytes(of: &zero) { zero in
    let before = crc32cState(0xFFFF_FFFF, header.slice(0, FrameLayout.checksum))
    let middle = crc32cState(before, zero)
    let rest = FrameLayout.checksum + 4
    return ~crc32cState(middle, header.slice(rest, header.count - rest))
  }
}
