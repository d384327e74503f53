import MMLogStorage
import MMLogSystem

/// How much space is taken, and promised to uploads that are going on.
struct Usage {
  /// An upload that is not finished.
  struct Unfinished {
    let client: String
    /// How large it is, or is to be.
    var claimed: Int
    /// How much of it is there.
    var written: Int
    /// How large the part is that was there before, and stays until this one is known to be better.
    var spared = 0
    /// Whether a request has it.
    var isActive = true
  }

  /// By file name.
  var unfinished: [String: Unfinished] = [:]
  /// What is stored, by client, as of the last scan and what came since.
  private(set) var stored: [String: Int] = [:]
  private var scanned: UInt64?
  /// What came since the last scan began, by client.
  private var added: [String: Int] = [:]

  /// How long what a scan has found counts, in nanoseconds: somebody may have deleted archives.
  private static let scanInterval: UInt64 = 10_000_000_000

  /// Notes that a scan begins.
  mutating func beginScan() { added = [:] }

  /// Takes in what a scan has found. What came meanwhile may count twice, until the next one: too
  /// much is refused rather than too little.
  mutating func set(_ stored: [String: Int]) {
    (self.stored, scanned) = (stored.merging(added, uniquingKeysWith: +), Clock.monotonic())
  }

  /// Whether nothing is known of what is stored.
  var isUnknown: Bool { scanned == nil }

  /// Whether another scan may find less.
  var isOld: Bool { scanned.map { Clock.monotonic() - $0 > Self.scanInterval } ?? true }

  /// Takes in an archive that is stored.
  mutating func add(_ size: Int, of client: String) {
    stored[client, default: 0] += size
    added[client, default: 0] += size
  }

  /// What is taken and promised of one client, or of all, without what is promised to one upload.
  func taken(client: String?, without name: String) -> Int {
    let own = { (other: String) in client == nil || client == other }
    let stored = stored.reduce(0) { $0 + (own($1.key) ? $1.value : 0) }
    return unfinished.reduce(stored) { sum, upload in
      guard own(upload.value.client) else { return sum }
      let promised = upload.key == name ? 0 : max(upload.value.claimed, upload.value.written)
      return sum + upload.value.spared + promised
    }
  }

  /// What is promised to uploads that are going on and not written yet, without one of them.
  func outstanding(without name: String) -> Int {
    unfinished.reduce(0) { sum, upload in
      let counts = upload.key != name && upload.value.isActive
      return sum + (counts ? max(0, upload.value.claimed - upload.value.written) : 0)
    }
  }
}
