/// What became of a request that was done.
package struct Receipt: Equatable, Sendable {
  package enum Outcome: String, Sendable {
    /// The archive is new here.
    case stored
    /// The same archive, or a longer one that begins with it, was here.
    case unchanged
    /// The archive goes on where the stored one ended, and has taken its place.
    case extended
    /// A part of the archive is here, and more has to come.
    case incomplete
  }

  package var outcome: Outcome
  /// The archive's path in the receiver's directory; empty if it is not stored yet.
  package var path = ""
  /// How many bytes the receiver has.
  package var size: Int
  /// The CRC32C of the whole archive; 0 if the receiver does not have all of it yet.
  package var checksum: UInt32 = 0
  /// How many records the archive has, if it was checked now.
  package var recordCount: Int?
}
