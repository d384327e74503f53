import MMLogFormat

/// A file of a log, in memory.
struct LogFile: Sendable {
  let name: String
  let bytes: [UInt8]
  let parts: [FilePart]
  /// The sessions whose archives are in it, one after the other, with the archives' numbers; or
  /// whose ring it is, with number 0.
  let sections: [(session: SessionID, number: Int)]

  init(_ name: String, _ bytes: [UInt8]) {
    (self.name, self.bytes) = (name, bytes)
    let isRing = name.hasSuffix(".ring")
    parts = FilePart.all(of: bytes, isRing: isRing)
    sections = parts.filter { $0.kind == .fileHeader }.map { part in
      let fileHeader = bytes[part.range]
      let session = fileHeader.withUnsafeBytes {
        SessionID(
          words: (
            $0.load(FileHeaderLayout.session, as: UInt64.self),
            $0.load(FileHeaderLayout.session + 8, as: UInt64.self)
          ))
      }
      let number = fileHeader.withUnsafeBytes {
        $0.load(FileHeaderLayout.archiveNumber, as: UInt32.self)
      }
      return (session, isRing ? 0 : Int(number))
    }
  }

  var isRing: Bool { name.hasSuffix(".ring") }
  var frames: [FilePart] { parts.filter(\.isFrame) }
  var fileHeaders: [FilePart] { parts.filter { $0.kind == .fileHeader } }

  func has(_ session: SessionID) -> Bool { sections.contains { $0.session == session } }
}
