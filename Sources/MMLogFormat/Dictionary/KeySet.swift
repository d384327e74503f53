/// The keys of a statement's metadata, written once: records hold the values alone.
package struct KeySet: Equatable, Sendable {
  /// A key, and what every value of it is.
  package struct Key: Equatable, Sendable {
    /// May be empty.
    package var name: String
    /// A ``ValueType``, with the optional bit.
    package var type: UInt8

    package init(_ name: String, _ type: UInt8) { (self.name, self.type) = (name, type) }
  }

  /// In the order of the values. A name may occur twice.
  package var keys: [Key]

  /// The maximum number of keys that a key set is written and read with. A key's value may take no
  /// byte of a record.
  package static let maximumKeys = 1024

  package init(_ keys: [Key]) { self.keys = keys }

  /// About how many bytes the key set takes: its text, and something for each key.
  var size: Int { keys.reduce(32) { $0 + 32 + $1.name.utf8.count } }
}
