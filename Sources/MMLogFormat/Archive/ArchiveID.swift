/// The archive that something belongs to: its session, and its number within the session.
package struct ArchiveID: Hashable, Sendable, CustomStringConvertible {
  package let session: SessionID
  /// Counts the session's archives from 1.
  package let number: UInt32

  package init(session: SessionID, number: UInt32) {
    (self.session, self.number) = (session, number)
  }

  /// Reads what stands at an offset, as ``ArchiveIDLayout`` says.
  package init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    session = SessionID(bytes, at: offset + ArchiveIDLayout.session)
    number = bytes.load(offset + ArchiveIDLayout.number, as: UInt32.self)
  }

  func encode(into out: UnsafeMutableRawBufferPointer, at offset: Int) {
    out.store(session.words.0, offset + ArchiveIDLayout.session)
    out.store(session.words.1, offset + ArchiveIDLayout.session + 8)
    out.store(number, offset + ArchiveIDLayout.number)
  }

  /// The ID as it stands on disk, in ``ArchiveIDLayout/size`` bytes.
  package var encoded: [UInt8] {
    session.bytes + withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  /// The ID of no archive, for what has no archive yet.
  package static let none = ArchiveID(session: SessionID(words: (0, 0)), number: 0)

  package var description: String { "session \(session), archive \(number)" }
}
