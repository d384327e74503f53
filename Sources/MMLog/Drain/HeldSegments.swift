/// Segments that nobody else empties or reuses until they are released.
struct HeldSegments: ~Copyable {
  private let ring: Ring
  private var (open, sealed, retained) = ([Int](), [Int](), [Int]())

  init(_ ring: Ring) { self.ring = ring }

  /// Retained segments first, then sealed ones, then open ones.
  var indices: [Int] { retained + sealed + open }

  /// Holds a segment; false if the segment is free, or another thread has it. Tries the statuses in
  /// the order in which a segment gets them, so that a change meanwhile hides no segment.
  mutating func hold(_ index: Int) -> Bool {
    if ring.pool.pinOpen(index) {
      open.append(index)
    } else if ring.pool.acquireInTurn(index) {
      sealed.append(index)
    } else if ring.pool.acquireRetained(index) {
      retained.append(index)
    } else {
      return false
    }
    return true
  }

  /// Frees the retained segments: their flight records are captured now.
  mutating func freeRetained() {
    for index in retained { ring.free(segment: index) }
    retained = []
  }

  /// Releases all segments. Frees those that were retained for flight records and have none left.
  mutating func release() {
    for index in retained {
      if ring.pool.flightCount(index) > 0 {
        ring.pool.retain(index)
      } else {
        ring.free(segment: index)
      }
    }
    for index in sealed { ring.pool.release(index) }
    for index in open { ring.pool.unpin(index) }
    (open, sealed, retained) = ([], [], [])
  }
}
