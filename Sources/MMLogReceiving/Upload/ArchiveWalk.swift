import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Checks an archive while it comes in: file header, frames and trailer have to follow one another
/// without anything between them, and have the right checksums.
///
/// So a wrong upload ends at the first wrong frame, and later checks have a bounded number of
/// frames to read. `ArchiveFile` checks whether the parts fit together.
struct ArchiveWalk {
  /// The first file header, as soon as it has come.
  private(set) var first: ArchiveHeader?
  /// Where the next part begins.
  private(set) var offset = 0
  /// The archive that the next part has to belong to; nil if a file header has to come.
  private var archive: ArchiveID?
  /// The frame at ``offset``, once its header was checked: a header can have 40 MiB, and must not
  /// be read again with each piece of the payload.
  private var frame: Frame?
  /// All archives in the file.
  private var archives: Set<ArchiveID> = []
  /// How large all headers are together, in bytes.
  private var headerSize = 0
  private let path: String

  /// What has to be known of a frame until all of it has come.
  private struct Frame {
    let size: Int
    let payload: Range<Int>
    let checksum: UInt32
    let ordinal: UInt64
  }

  /// - Parameter path: The name of the file in reports of corruption.
  init(_ path: String) { self.path = path }

  /// The maximum size of all headers together, which bounds the memory that they take. It is enough
  /// for as many frames as an index can name.
  private static let largestHeaders = 64 << 20
  /// Larger headers are read one at a time, even those of different clients, so that memory is
  /// bounded.
  private static let usualHeader = 1 << 20
  private static let largeHeaders = ForkSafeMutex()

  /// Goes on as far as whole parts have come.
  ///
  /// - Parameter size: How many bytes of the file have come.
  mutating func advance(_ file: borrowing File, to size: Int) throws {
    while try step(file, size) {}
  }

  /// Returns what is wrong with the end of the file; nil if nothing is.
  func problem(atEnd size: Int) -> Corruption? {
    if offset < size || offset == 0 {
      return Corruption(offset..<size, "the end: something begins here and is not whole", in: path)
    }
    if archive == nil { return nil }
    return Corruption(
      size..<size, "the trailer is missing: the archive is not sealed; send it when it is",
      in: path)
  }

  /// Goes on by one part.
  ///
  /// - Returns: False if the next part is not whole yet.
  private mutating func step(_ file: borrowing File, _ size: Int) throws -> Bool {
    guard let archive else { return try takeFileHeader(file, size) }
    if let frame { return try take(frame, file, size) }
    guard let marker = try bytes(file, wordSize, size) else { return false }
    let isFrame = marker.withUnsafeBytes { $0.load(0, as: UInt64.self) } == FrameLayout.markerValue
    return isFrame ? try takeFrameHeader(file, size, archive) : try takeTrailer(file, size, archive)
  }

  private mutating func takeFileHeader(_ file: borrowing File, _ size: Int) throws -> Bool {
    guard let bytes = try bytes(file, FileHeaderLayout.size, size) else { return false }
    let header: ArchiveHeader
    do {
      header = try bytes.withUnsafeBytes { try ArchiveHeader($0) }
    } catch {
      throw wrong(bytes.count, "file header: \(error)")
    }
    if header.isCorrected { throw wrong(bytes.count, "file header: one bit is wrong") }
    guard archives.insert(header.id).inserted else {
      throw wrong(bytes.count, "\(header.id) is there already")
    }
    first = first ?? header
    archive = header.id
    try count(bytes.count)
    offset += bytes.count
    return true
  }

  private mutating func takeFrameHeader(
    _ file: borrowing File, _ size: Int, _ archive: ArchiveID
  ) throws -> Bool {
    guard let fixed = try bytes(file, FrameLayout.size, size) else { return false }
    guard let headerSize = fixed.withUnsafeBytes({ FrameHeader.size($0) }) else {
      throw wrong(fixed.count, "a frame's header has a wrong size")
    }
    guard headerSize <= size - offset else { return false }
    try count(headerSize)
    if headerSize > Self.usualHeader { Self.largeHeaders.lock() }
    defer { if headerSize > Self.usualHeader { Self.largeHeaders.unlock() } }
    let whole = try file.bytes(at: offset, count: headerSize)
    guard let header = whole.withUnsafeBytes({ FrameHeader($0) }) else {
      throw wrong(headerSize, "a frame's header has a wrong checksum")
    }
    guard header.archive == archive else {
      throw wrong(header.frameSize, "a frame of another archive: \(header.archive)")
    }
    let place = offset + headerSize
    frame = Frame(
      size: header.frameSize, payload: place..<place + header.payloadSize,
      checksum: header.payloadChecksum, ordinal: header.ordinal)
    return true
  }

  private mutating func take(
    _ frame: Frame, _ file: borrowing File, _ size: Int
  ) throws -> Bool {
    guard frame.size <= size - offset else { return false }
    guard ~(try file.checksumState(of: frame.payload)) == frame.checksum else {
      throw wrong(frame.size, "frame \(frame.ordinal): the payload has a wrong checksum")
    }
    (self.frame, offset) = (nil, offset + frame.size)
    return true
  }

  private mutating func takeTrailer(
    _ file: borrowing File, _ size: Int, _ archive: ArchiveID
  ) throws -> Bool {
    guard let bytes = try bytes(file, TrailerLayout.size, size) else { return false }
    guard let trailer = bytes.withUnsafeBytes({ Trailer($0) }), trailer.archive == archive else {
      throw wrong(bytes.count, "neither a frame nor the archive's trailer")
    }
    self.archive = nil
    offset += bytes.count
    return true
  }

  /// Returns the next bytes; nil if they have not come yet.
  private func bytes(
    _ file: borrowing File, _ count: Int, _ size: Int
  ) throws(SystemError) -> [UInt8]? {
    guard count <= size - offset else { return nil }
    return try file.bytes(at: offset, count: count)
  }

  private mutating func count(_ size: Int) throws(Refusal) {
    headerSize += size
    if headerSize > Self.largestHeaders {
      throw wrong(0, "the headers of its frames have more than \(Self.largestHeaders) bytes")
    }
  }

  private func wrong(_ size: Int, _ what: String) -> Refusal {
    .corrupted([Corruption(offset..<offset + size, what, in: path)])
  }
}

extension Refusal {
  /// The maximum number of places in an answer.
  static let mostPlaces = 100

  static func corrupted(_ corruption: [Corruption]) -> Refusal {
    let first = corruption.first.map { ": \($0.summary)" } ?? ""
    return Refusal(
      .unprocessableContent,
      "The archive is not stored, because it is corrupted\(first). Verify the file on its machine "
        + "(mmlog-decode verify); if it is right there, send it again.",
      corruption: Array(corruption.prefix(mostPlaces)))
  }
}

extension File {
  /// Returns how many bytes are the same in both files before the first difference, up to `size`.
  borrowing func commonPrefix(
    with other: borrowing File, of size: Int
  ) throws(SystemError) -> Int {
    var offset = 0
    while offset < size {
      let count = min(1 << 18, size - offset)
      let (own, its) = (
        try bytes(at: offset, count: count), try other.bytes(at: offset, count: count)
      )
      if own != its { return offset + zip(own, its).prefix { $0 == $1 }.count }
      if own.isEmpty { break }
      offset += own.count
    }
    return offset
  }
}
