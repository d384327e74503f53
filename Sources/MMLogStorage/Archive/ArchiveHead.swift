import MMLogCrypto
public import MMLogFormat
package import MMLogSystem

/// A hash of the first frames of an archive and, through them, of all archives of the session
/// before it. Once it is noted elsewhere, nobody can change these frames unnoticed.
///
/// Only archives whose frames are chained have one: `LogStore.Configuration.hashChain`. Its text,
/// one line, is what `mmlogctl head` prints, and what `mmlog-decode verify --anchor FILE` reads.
public struct ArchiveHead: Hashable, Sendable, LosslessStringConvertible {
  /// The archive's session.
  public let session: SessionID
  /// Counts the session's archives from 1.
  public let archive: UInt32
  /// How many frames of the archive the hash covers.
  public let frames: UInt64
  /// When the archive was begun.
  public let begun: Timestamp
  /// The store's name.
  public let store: String
  package let hash: FrameHash

  package init(of fileHeader: ArchiveHeader, frames: UInt64, _ hash: FrameHash) {
    (session, archive) = (fileHeader.id.session, fileHeader.number)
    (begun, store) = (fileHeader.created, fileHeader.identity.storeName)
    (self.frames, self.hash) = (frames, hash)
  }

  /// The word that its text begins with.
  package static let word = "mmlog-head"

  /// The head as text: `mmlog-head`, session, archive, frames, hash, when the archive was begun in
  /// nanoseconds since 1970, and the store's name as it stands in names of files.
  public var description: String {
    "\(Self.word) \(session) \(archive) \(frames) \(hash) "
      + "\(begun.nanosecondsSince1970) \(FileNames.escaped(store))"
  }

  /// Reads what ``description`` gives; nil for anything else.
  public init?(_ description: String) {
    let words = description.unicodeScalars.split(
      separator: " ", maxSplits: 6, omittingEmptySubsequences: false
    ).map(Substring.init)
    guard words.count == 7, words[0] == Self.word, let session = SessionID(words[1]),
      let archive = UInt32(words[2]), let frames = UInt64(words[3]), let hash = FrameHash(words[4]),
      let begun = Int64(words[5]), let store = FileNames.unescaped(words[6])
    else { return nil }
    (self.session, self.archive, self.frames, self.hash) = (session, archive, frames, hash)
    (self.begun, self.store) = (Timestamp(nanosecondsSince1970: begun), store)
  }
}

extension ArchiveFile {
  /// The head of all frames that the archive has so far; nil if its frames are not chained.
  ///
  /// The index of a closed archive has it. Otherwise the last frame is read.
  package func head() throws(SystemError) -> ArchiveHead? {
    guard fileHeader.previousHead != nil else { return nil }
    if isClosed, let index = frames.last?.header, index.type == .index, let hash = index.previous {
      return ArchiveHead(of: fileHeader, frames: index.ordinal, hash)
    }
    let last = frames.last { $0.header.isInChain }
    let (place, size) =
      last.map { ($0.offset, $0.header.frameSize) } ?? (start, FileHeaderLayout.size)
    guard case .success(let hash) = try hash(of: place..<place + size) else {
      throw .refusedByLibcrypto(path)
    }
    return ArchiveHead(
      of: fileHeader, frames: frames.last.map { $0.header.ordinal &+ 1 } ?? 0, hash)
  }

  /// The hash of bytes of the file.
  func hash(of range: Range<Int>) throws(SystemError) -> Result<FrameHash, CryptoError> {
    let bytes = try scanner.bytes(range)
    return Result { () throws(CryptoError) in
      try bytes.withUnsafeBufferPointer { (bytes) throws(CryptoError) in
        try FrameHash(of: UnsafeRawBufferPointer(bytes))
      }
    }
  }
}
