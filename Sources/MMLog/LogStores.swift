public import MMLogFormat
public import MMLogStorage
import MMLogSystem

/// Several stores of the process, handled together: levels, archives, sizes and limits, flushing,
/// capturing and closing.
///
/// ```swift
/// let stores = try LogStores(directory: "/var/log/orders", names: ["orders", "audit"])
/// let audit = stores["audit"]?.logger(label: "audit")
/// stores.setLevel(.debug, for: "db.*")
/// try stores.limitTotalSize(to: 2 << 30)
/// try stores.close()
/// ```
///
/// A plain value: copies share the stores, but not the list of stores. Each method handles one
/// store after the other. If a store fails, the method still handles the others, and throws the
/// first error afterwards. All methods can be called from any thread. For methods that block the
/// thread, ``LogStore`` has asynchronous forms, for one store at a time.
public struct LogStores: Sendable {
  /// The stores, in the order in which they were added.
  public private(set) var stores: [LogStore]

  /// Makes a list of stores that are open.
  public init(_ stores: [LogStore] = []) { self.stores = stores }

  /// Opens stores in one directory; see
  /// ``LogStore/init(directory:name:configuration:)``.
  ///
  /// - Parameters:
  ///   - directory: The directory of all stores.
  ///   - names: Their names.
  ///   - configuration: The settings of all stores. Limits of retention apply to each store by
  ///     itself.
  /// - Throws: ``LogError`` if a store cannot be opened. Then the others are closed.
  public init(
    directory: String, names: [String],
    configuration: LogStore.Configuration = LogStore.Configuration()
  ) throws(LogError) {
    self.init()
    do throws(LogError) {
      for name in names {
        add(try LogStore(directory: directory, name: name, configuration: configuration))
      }
    } catch {
      try? close()
      throw error
    }
  }

  /// Adds a store that is open.
  public mutating func add(_ store: LogStore) { stores.append(store) }

  /// The first store of a name; nil if there is none.
  public subscript(name: String) -> LogStore? { stores.first { $0.core.location.name == name } }

  // MARK: - Levels and settings

  /// Sets the level of all labels that a pattern matches, in all stores; see
  /// ``LogStore/setLevel(_:for:)``.
  ///
  /// - Parameters:
  ///   - level: The lowest level that is recorded.
  ///   - pattern: A label, in which `*` stands for any characters and `?` for any one.
  public func setLevel(_ level: Logger.Level, for pattern: String) {
    for store in stores { store.setLevel(level, for: pattern) }
  }

  /// Changes the settings of each store; see ``LogStore/update(_:)``.
  ///
  /// - Parameter change: Changes the present settings of one store. Called once for each, under a
  ///   lock: it must not use the stores or log.
  /// - Throws: ``LogError`` if a limit is out of its range. That store's settings are not changed.
  public func update(_ change: (inout LogStore.Settings) -> Void) throws(LogError) {
    try forAll { (store) throws(LogError) in try store.update(change) }
  }

  // MARK: - Records

  /// Waits until everything logged before this call is as safe as asked for, in all stores. Blocks
  /// the thread.
  ///
  /// - Parameters:
  ///   - durability: How safe records have to be.
  ///   - limit: How long to wait at most, for all stores together. Default: 30 seconds.
  /// - Throws: ``LogError``, as `LogStore.flush(_:within:)` does.
  public func flush(
    _ durability: LogStore.Durability, within limit: Duration = .seconds(30)
  ) throws(LogError) {
    try forAll(within: limit) { (store, left) throws(LogError) in
      try store.flush(durability, within: left)
    }
  }

  /// Captures the flight records of all stores; see `LogStore.capture(reason:within:)`. Blocks the
  /// thread.
  ///
  /// - Parameters:
  ///   - reason: Why. Each log has this text.
  ///   - limit: How long to wait at most, for all stores together. Default: 30 seconds.
  /// - Throws: ``LogError``, as `LogStore.flush(_:within:)` does.
  public func capture(
    reason: String, within limit: Duration = .seconds(30)
  ) throws(LogError) {
    try forAll(within: limit) { (store, left) throws(LogError) in
      try store.capture(reason: reason, within: left)
    }
  }

  /// How many records all stores have lost since they were opened, by cause and level.
  public var losses: LossLedger { stores.reduce(into: LossLedger()) { $0 += $1.losses } }

  // MARK: - Archives

  /// Closes the archive that each store is writing; see `LogStore.rotate(within:)`. Blocks the
  /// thread.
  ///
  /// - Parameter limit: How long to wait at most, for all stores together. Default: 30 seconds.
  /// - Returns: The archives that were closed, in the order of ``stores``.
  /// - Throws: ``LogError``, as `LogStore.rotate(within:)` does. The archives of the other stores
  ///   are still closed.
  @discardableResult
  public func rotate(within limit: Duration = .seconds(30)) throws(LogError) -> [ArchiveInfo] {
    var archives: [ArchiveInfo] = []
    try forAll(within: limit) { (store, left) throws(LogError) in
      if let archive = try store.rotate(within: left) { archives.append(archive) }
    }
    return archives
  }

  /// The archives of all stores, the oldest first; see ``LogStore/archives()``.
  ///
  /// - Throws: ``LogError`` if a directory cannot be read.
  /// - Complexity: O(*n* log *n*), and one system call for each archive that was seen before, some
  ///   ten for each new one.
  public func archives() throws(LogError) -> [ArchiveInfo] {
    var archives: [ArchiveInfo] = []
    for store in distinct { archives += try store.archives() }
    return ArchiveOrder.sorted(archives)
  }

  /// The space that the archives of all stores take together; see ``LogStore/sizes``. Costs
  /// nothing, and waits for nobody.
  public var sizes: LogStore.Sizes {
    let all = distinct.map(\.sizes)
    return LogStore.Sizes(
      pending: all.reduce(0) { $0 + $1.pending }, uploaded: all.reduce(0) { $0 + $1.uploaded },
      total: all.reduce(0) { $0 + $1.total })
  }

  /// Deletes archives until the archives of all stores together take no more space than allowed:
  /// first the uploaded ones, then the oldest, whichever store they belong to.
  ///
  /// Applies once, now. Each store's own limits still apply. As limits of ``Retention`` do, it
  /// keeps archives that are being written, that are pinned, or that a recovery needs, and those
  /// around the newest crash of each store; so more may be left than allowed. It asks no observer.
  /// ``LogStore/Event/deleted(archive:rule:)`` reports each deleted archive, with the rule
  /// `Retention.Rule.totalSize`. Blocks the thread.
  ///
  /// ``sizeChanges`` says when the archives have grown.
  ///
  /// - Parameter size: How much the archives may take together, in bytes on the disk (allocated
  ///   blocks).
  /// - Returns: The archives that were deleted, store by store.
  /// - Throws: ``LogError``: `invalidConfiguration` for a size that is not positive; what keeps
  ///   archives or rings from being inspected, in which case no archive is deleted; or what keeps
  ///   an archive from being deleted.
  /// - Complexity: as ``archives()``; and O(rings) if there is something to delete.
  @discardableResult
  public func limitTotalSize(to size: Int) throws(LogError) -> [ArchiveInfo] {
    var retention = Retention.unlimited
    retention.totalSize = size
    try LogStore.Configuration.check(LogStore.Settings(rotation: Rotation(), retention: retention))
    let all = try archives()
    let plan = try RetentionPlan(
      retention, all,
      ringDirectories: Set(distinct.map(\.core.maintenance.ringDirectory)).inOrder(), space: nil)
    let over = Dictionary(grouping: plan.deletions.map { all[$0.index] }, by: Place.init)
    var deleted: [ArchiveInfo] = []
    try forAll { (store) throws(LogError) in
      guard let archives = over[Place(store)] else { return }
      let judged = Dictionary(archives.map { ($0.fileName, $0) }) { first, _ in first }
      deleted += try store.core.maintenance.remove(archives, for: .totalSize) {
        !$0.state.isPinned && judged[$0.fileName].map($0.isUnchanged(since:)) == true
      }
    }
    return deleted
  }

  // MARK: - Closing

  /// Closes all stores; see `LogStore.close()`. Blocks the thread. Closing twice does nothing.
  ///
  /// - Throws: ``LogError`` if an archive cannot be written. The other stores are still closed.
  public func close() throws(LogError) {
    try forAll { (store) throws(LogError) in try store.close() }
  }

  // MARK: - One after the other

  /// Does something with each store; throws the first error afterwards.
  private func forAll(_ body: (LogStore) throws(LogError) -> Void) throws(LogError) {
    var failure: LogError?
    for store in stores {
      do throws(LogError) { try body(store) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// As ``forAll(_:)``, and gives `body` the time that is left.
  private func forAll(
    within limit: Duration, _ body: (LogStore, Duration) throws(LogError) -> Void
  ) throws(LogError) {
    let end = ContinuousClock.now + limit
    try forAll { (store) throws(LogError) in
      try body(store, max(.zero, ContinuousClock.now.duration(to: end)))
    }
  }

  /// One store for each directory and name: further stores of that directory and name have the same
  /// archives.
  private var distinct: [LogStore] {
    var places: Set<Place> = []
    return stores.filter { places.insert(Place($0)).inserted }
  }

  private struct Place: Hashable {
    var directory: String
    var name: String

    init(_ store: LogStore) {
      (directory, name) = (store.core.location.directory, store.core.location.name)
    }

    init(_ archive: ArchiveInfo) {
      (directory, name) = (archive.directory, archive.storeName)
    }
  }
}
