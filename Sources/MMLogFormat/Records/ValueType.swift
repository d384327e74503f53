/// The type of an argument or of a metadata value. Raw values stand on disk.
@frozen
public enum ValueType: UInt8, Sendable {
  /// A signed integer of up to 64 bits.
  case int = 1
  /// An unsigned integer of up to 64 bits.
  case uint
  /// A `Double`.
  case double
  /// A `Float`, or narrower.
  case float
  /// A `Bool`.
  case bool
  /// Text in UTF-8.
  case string
  /// Bytes of no known meaning.
  case bytes
  /// A signed integer of up to 128 bits.
  case int128
  /// An unsigned integer of up to 128 bits.
  case uint128
  /// Something private, of which nothing is kept.
  case redacted
  /// Something private, of which a keyed hash is kept.
  case hash
  /// Nothing.
  case null
  /// A sequence of values.
  case array
  /// Values by name.
  case dictionary
  /// A text that is encrypted for recipients.
  case sealed

  /// Added to a type on disk if the value may be nil.
  @inlinable public static var optionalBit: UInt8 { 128 }
  /// How deep arrays and dictionaries may nest.
  package static let deepest = 16
}
