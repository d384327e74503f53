package import MMLogFormat
import MMLogSystem

/// Which archives the limits of a ``Retention`` do not allow.
package struct RetentionPlan: Sendable {
  /// What a plan has to know of an archive.
  package struct Archive: Sendable {
    /// The space that it takes on the disk, in bytes.
    package var allocated: Int
    /// The time of its last record, or when it was begun.
    package var lastTime: Timestamp
    package var isUploaded = false
    /// Whether a consumer has not acknowledged all of it.
    package var isUnsent = false
    /// Why it may not be deleted, whatever the limits; nil: it may.
    package var obstacle: Retention.Obstacle?
    /// Whether it holds no record, but only how a session ended. Such an archive is not counted in
    /// the number of archives: otherwise the end of a session would cost the oldest records.
    package var isEmpty = false
    /// The store that it belongs to: the archives before and after a crash are of the same store.
    package var store = ""
    /// When the session that ends in it crashed; nil if none did.
    package var crashTime: Timestamp?

    package init(allocated: Int, lastTime: Timestamp) {
      self.allocated = allocated
      self.lastTime = lastTime
    }
  }

  /// An archive to be deleted, by its place in the list, and why.
  package struct Deletion: Equatable, Sendable {
    package let index: Int
    package let rule: Retention.Rule
  }

  /// The archives to be deleted, in this order.
  package private(set) var deletions: [Deletion] = []
  /// Limits that would not hold even after all deletions: what is left is in ``kept``.
  package private(set) var unmet: [Retention.Rule] = []
  /// Archives that no limit may delete, by their place in the list, and why.
  package private(set) var kept: [Int: Retention.Obstacle] = [:]

  private let archives: [Archive]
  /// The archives that may be deleted and are not yet, in order.
  private var candidates: [Int]
  private var count: Int
  private var size: Int

  /// Finds out what is to be deleted.
  ///
  /// - Parameters:
  ///   - archives: All archives, the oldest first.
  ///   - now: The present moment.
  ///   - space: The free space and the whole space of the file system, in bytes. Nil if unknown:
  ///     then nothing is deleted for free space.
  /// - Complexity: O(*n*).
  package init(
    _ retention: Retention, _ archives: [Archive], now: Timestamp, space: (free: Int, total: Int)?
  ) {
    self.archives = archives
    (candidates, count, size) = ([], 0, 0)
    let crashes = Self.aroundCrashes(archives, retention.crashes)
    for index in archives.indices {
      kept[index] = archives[index].obstacle ?? (crashes.contains(index) ? .aroundCrash : nil)
    }
    spareUnsent(retention, now)
    let free = archives.indices.filter { [kept] in kept[$0] == nil }
    candidates = free.filter { archives[$0].isUploaded } + free.filter { !archives[$0].isUploaded }
    count = archives.count { !$0.isEmpty }
    size = archives.reduce(0) { $0 + $1.allocated }
    if let age = retention.age { apply(age: age, now) }
    if let count = retention.count { apply(.count) { $0.count > count } }
    if let size = retention.totalSize { apply(.totalSize) { $0.size > size } }
    if let space { apply(retention, space) }
  }

  /// The archives before and after the newest crashes of each store: of the sessions that crashed
  /// last, whichever began last.
  private static func aroundCrashes(_ archives: [Archive], _ crashes: Int) -> Set<Int> {
    var around: Set<Int> = []
    for places in Dictionary(grouping: archives.indices, by: { archives[$0].store }).values {
      let ended = places.enumerated().compactMap { place, index in
        archives[index].crashTime.map { (place: place, time: $0) }
      }
      for crash in ended.inOrder({ $0.time < $1.time }).suffix(crashes) {
        around.formUnion(places[crash.place...].prefix(2))
      }
    }
    return around
  }

  /// Spares the newest archives that are not shipped, as far as the limit goes.
  private mutating func spareUnsent(_ retention: Retention, _ now: Timestamp) {
    guard let limit = retention.unsentSize else { return }
    var sum = 0
    for index in archives.indices.reversed() where archives[index].isUnsent {
      sum += archives[index].allocated
      if sum > limit { return }
      let isOld = retention.unsentAge.map { archives[index].lastTime < now - $0 } ?? false
      if !isOld, kept[index] == nil { kept[index] = .unsent }
    }
  }

  private mutating func apply(age: Duration, _ now: Timestamp) {
    let limit = now - age
    let old = candidates.filter { archives[$0].lastTime < limit }
    for index in old { delete(index, .age) }
    let gone = Set(old)
    candidates.removeAll { gone.contains($0) }
    // Nobody knows the last record of an archive that is being written.
    if kept.contains(where: { $1 != .active && archives[$0].lastTime < limit }) {
      unmet.append(.age)
    }
  }

  private mutating func apply(_ rule: Retention.Rule, while isExceeded: (Self) -> Bool) {
    var deleted = 0
    while deleted < candidates.count, isExceeded(self) {
      delete(candidates[deleted], rule)
      deleted += 1
    }
    candidates.removeFirst(deleted)
    if isExceeded(self) { unmet.append(rule) }
  }

  private mutating func apply(_ retention: Retention, _ space: (free: Int, total: Int)) {
    guard let wanted = retention.freeSpace?.bytes(ofTotal: space.total) else { return }
    // What the other rules delete becomes free, too.
    let before = size + deletions.reduce(0) { $0 + archives[$1.index].allocated }
    // Nothing is added to `free`, which is the largest integer if nothing limits the space.
    let isShort = { (plan: Self) in before - plan.size < wanted - space.free }
    guard isShort(self) else { return }
    // A full disk costs more than records that were not shipped.
    let unsent = kept.filter { $0.value == .unsent }.keys.inOrder()
    for index in unsent { kept[index] = nil }
    candidates += unsent
    defer {
      let left = Set(candidates)
      for index in unsent where left.contains(index) { kept[index] = .unsent }
    }
    let newest = newest(retention.minimumSize)
    for index in candidates where index >= newest { kept[index] = .newest }
    candidates.removeAll { $0 >= newest }
    apply(.freeSpace, while: isShort)
  }

  /// The first of the newest archives that take `bytes` together at most: all from there on are
  /// kept.
  private func newest(_ bytes: Int) -> Int {
    var sum = 0
    for index in archives.indices.reversed() {
      sum += archives[index].allocated
      if sum > bytes { return index + 1 }
    }
    return 0
  }

  private mutating func delete(_ index: Int, _ rule: Retention.Rule) {
    deletions.append(Deletion(index: index, rule: rule))
    if !archives[index].isEmpty { count -= 1 }
    size -= archives[index].allocated
  }
}
