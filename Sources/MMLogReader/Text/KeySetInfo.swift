import MMLogFormat
import MMLogSystem

/// A key set, prepared for reading records. Immutable; any thread.
final class KeySetInfo: Sendable {
  /// A key, with where its name stands.
  struct Key: BitwiseCopyable, Sendable {
    fileprivate let start: Int
    fileprivate let count: Int
    let type: UInt8
  }

  let keys: [Key]
  private let names: StableArray<UInt8>

  init(_ set: KeySet) {
    var (keys, names) = ([Key](), [UInt8]())
    for key in set.keys {
      keys.append(Key(start: names.count, count: key.name.utf8.count, type: key.type))
      names += key.name.utf8
    }
    self.keys = keys
    self.names = StableArray(names)
  }

  func name(of key: Key) -> UnsafeRawBufferPointer {
    let all = UnsafeRawBufferPointer(names.elements)
    return UnsafeRawBufferPointer(rebasing: all[key.start..<key.start + key.count])
  }
}

/// The names of all key sets of a session. They may be searched for in a pair of metadata, and
/// stand in no record.
final class KeyNames {
  private var bytes: [UInt8] = []
  /// The number of key sets.
  private(set) var count = 0
  /// Whether values of key sets may be shown with letters that stand in no string.
  private(set) var mayShowLetters = false

  func add(_ set: KeySet) {
    count += 1
    for key in set.keys {
      // A byte between names, which is in no text that is searched for.
      bytes += key.name.utf8 + [0]
      if !CallSiteInfo.isSimple(key.type) { mayShowLetters = true }
    }
  }

  /// Whether a name has a text in it.
  func contain(_ text: [UInt8]) -> Bool {
    text.withUnsafeBytes { text in bytes.withUnsafeBytes { ByteSearch.contains($0, text) } }
  }
}
