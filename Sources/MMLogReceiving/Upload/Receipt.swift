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

  package let outcome: Outcome
  /// The archive's path in the receiver's directory; empty if it is not there yet.
  package var path = ""
  /// How many bytes are there.
  package let size: Int
  /// Of the whole archive; 0 if it is not there yet.
  package var checksum: UInt32 = 0
  /// How many records it has, if it was checked now.
  package var recordCount: Int?
}
