import MMLogSystem

/// How much space is taken, and promised to uploads that are going on.
struct Usage {
  /// An upload that is not finished.
  struct Unfinished {
    let client: String
    /// How large the upload is, or is to be.
    var claimed: Int
    /// How many of its bytes are there.
    var written: Int
    /// The size of an earlier upload that stays until this one is known to be better.
    var earlierSize = 0
    /// Whether a request is sending it.
    var isActive = true
    /// The walk through the first `size` bytes; nil: they are to be walked through anew.
    var walked: (walk: ArchiveWalk, size: Int)?
  }

  /// The unfinished uploads, by file name.
  var unfinished: [String: Unfinished] = [:]
  /// How many bytes are stored, by client: what the last scan found, and what came since.
  private(set) var stored: [String: Int] = [:]
  private var scanned: UInt64?
  /// How many bytes came since the last scan began, by client.
  private var added: [String: Int] = [:]

  /// How long the result of a scan holds, in nanoseconds: somebody may have deleted archives.
  private static let scanInterval: UInt64 = 10_000_000_000

  /// Notes that a scan begins.
  mutating func beginScan() { added = [:] }

  /// Takes in the result of a scan. Archives that came meanwhile may count twice until the next
  /// scan: the receiver refuses too much rather than too little.
  mutating func set(_ stored: [String: Int]) {
    (self.stored, scanned) = (stored.merging(added, uniquingKeysWith: +), Clock.monotonic())
  }

  /// Whether nothing is known of what is stored.
  var isUnknown: Bool { scanned == nil }

  /// Whether another scan may find less.
  var isOld: Bool { scanned.map { Clock.monotonic() - $0 > Self.scanInterval } ?? true }

  /// Counts an archive that has been stored.
  mutating func add(_ size: Int, of client: String) {
    stored[client, default: 0] += size
    added[client, default: 0] += size
  }

  /// Returns the walk through `size` bytes of an upload, whose bytes are about to change; nil if
  /// it is not known.
  mutating func takeWalk(of name: String, to size: Int) -> ArchiveWalk? {
    defer { unfinished[name]?.walked = nil }
    guard let walked = unfinished[name]?.walked, walked.size == size else { return nil }
    return walked.walk
  }

  /// How many bytes one client, or all clients, have stored or were promised, without what is
  /// promised to one upload.
  func taken(client: String?, without name: String) -> Int {
    let own = { (other: String) in client == nil || client == other }
    let stored = stored.reduce(0) { $0 + (own($1.key) ? $1.value : 0) }
    return unfinished.reduce(stored) { sum, upload in
      guard own(upload.value.client) else { return sum }
      let promised = upload.key == name ? 0 : max(upload.value.claimed, upload.value.written)
      return sum + upload.value.earlierSize + promised
    }
  }

  /// How many bytes are promised to uploads that are going on, and not written yet, without one
  /// upload.
  func outstanding(without name: String) -> Int {
    unfinished.reduce(0) { sum, upload in
      let counts = upload.key != name && upload.value.isActive
      return sum + (counts ? max(0, upload.value.claimed - upload.value.written) : 0)
    }
  }
}
