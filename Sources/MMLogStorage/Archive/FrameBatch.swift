import MMLogCrypto
import MMLogFormat
import MMLogSystem

/// Frames that are written together.
struct FrameBatch {
  private let archive: ArchiveID
  private let start: Int
  private var ordinal: UInt64
  private let cipher: FrameCipher?
  private let path: String
  var bytes: [UInt8] = []
  var index: [IndexEntry] = []
  var frameCount: UInt32 = 0
  private(set) var chain: FrameChain?

  init(
    of archive: ArchiveID, at start: Int, ordinal: UInt64, _ cipher: FrameCipher?,
    _ chain: FrameChain?, path: String
  ) {
    self.archive = archive
    self.start = start
    self.ordinal = ordinal
    (self.cipher, self.chain, self.path) = (cipher, chain, path)
  }

  /// Adds a frame with a key slot, unless the slot is empty.
  mutating func add(_ type: FrameType, _ slot: [UInt8]) throws(SystemError) {
    if !slot.isEmpty { try add(FrameHeader(type), slot, nil) }
  }

  /// Adds a frame whose payload is compressed here, if that makes it smaller.
  mutating func add(
    _ fields: FrameHeader, _ payload: [UInt8], _ compressor: Compressor?
  ) throws(SystemError) {
    let compressed = compressor?.compress(payload)
    var header = fields
    header.codec = compressed == nil ? .rows : .zlibRows
    header.rawSize = payload.count
    try add(header, stored: compressed ?? payload)
  }

  /// Adds a frame with its payload as it is, or encrypted. The caller has set codec and raw size
  /// in `fields`.
  mutating func add(_ fields: FrameHeader, stored payload: [UInt8]) throws(SystemError) {
    var header = fields
    (header.archive, header.ordinal, header.previous) = (archive, ordinal, chain?.head)
    let place = bytes.count
    if let cipher, header.type.isSecret {
      header.isEncrypted = true
      try withLibrary(path) { () throws(CryptoError) in
        try payload.withUnsafeBufferPointer { (payload) throws(CryptoError) in
          try header.encode(storing: payload.count + FrameCipher.growth, into: &bytes) {
            (output, header) throws(CryptoError) in
            try cipher.encrypt(UnsafeRawBufferPointer(payload), into: output, header)
          }
        }
      }
    } else {
      header.encode(storing: payload, into: &bytes)
    }
    try end(header, at: place)
  }

  /// Adds a frame as it stands in the archive that this is a copy of.
  mutating func add(_ header: FrameHeader, asIs frame: [UInt8]) throws(SystemError) {
    let place = bytes.count
    bytes += frame
    try end(header, at: place)
  }

  /// Ends the frame that begins at `place`: the next frame is chained to it.
  private mutating func end(_ header: FrameHeader, at place: Int) throws(SystemError) {
    try withLibrary(path) { () throws(CryptoError) in
      try bytes.withUnsafeBufferPointer { (bytes) throws(CryptoError) in
        let frame = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[place...])
        try chain?.append(header, frame)
      }
    }
    if header.isInIndex {
      index.append(IndexEntry(offset: start + place, header: header))
    }
    ordinal += 1
    frameCount += 1
  }
}

/// Runs `body`, which needs libcrypto.
func withLibrary<Result>(
  _ path: String, _ body: () throws(CryptoError) -> Result
) throws(SystemError) -> Result {
  do throws(CryptoError) { return try body() } catch { throw .refusedByLibcrypto(path) }
}
