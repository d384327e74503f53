public import MMLogFormat
public import MMLogStorage
import MMLogSystem

/// A directory of logs, and this process's place in it: a ring that loggers write into, and the
/// archives that a background thread moves their records to.
///
/// ```swift
/// let store = try LogStore(directory: "/var/log/orders", name: "orders")
/// let log = store.logger(label: "orders.matching")
/// log.info("order \(id) accepted")
/// try store.close()
/// ```
///
/// A record whose log call has returned survives the process, however it ends: the kernel owns the
/// ring's pages. If the process ends without `LogStore.close()`, the next store of the same name
/// moves what is left in the ring into archives, after it has opened. ``recoveredSessions`` tells
/// what it recovered.
///
/// A store stays open until `LogStore.close()` or the end of the process, even if no reference to
/// it is left: loggers do not count references. All methods can be called from any thread. After
/// `fork()`, the child logs into a ring of its own, opened at its first log call.
public final class LogStore: Sendable {
  let core: StoreCore

  /// Opens a store: makes the directory if needed, and maps a new ring. Takes two or three
  /// milliseconds, most of it for the ring's pages. On tmpfs, where all of a ring's space is taken
  /// at once, a large ring takes some milliseconds more.
  ///
  /// Once the store is open, its own thread recovers what dead processes of this name left. Log
  /// calls do not wait for the recovery. No limit deletes anything before the recovery is done. The
  /// opening waits for the recovery in two cases only. With ``Configuration/resumeLastArchive`` it
  /// waits because the session's records go after those that the recovery writes. If more than four
  /// rings are to be recovered, it waits because processes that die soon after their start would
  /// otherwise leave more and more rings.
  ///
  /// Several processes may use the same directory and name. Each has its own ring and archives.
  ///
  /// - Parameters:
  ///   - directory: Where the archives are, and the ring unless configured otherwise. Made with
  ///     mode 0700 if it is not there. A relative path begins at the working directory of this
  ///     moment, also in ``Configuration/ringDirectory``: a later chdir(2) changes nothing.
  ///     Symbolic links are followed on the way to it, never at the store's own files.
  ///   - name: The beginning of all file names: 1 to 100 bytes without slashes. In file names,
  ///     control characters and a dot at the beginning are escaped and take three bytes each. The
  ///     escaped name may have 160 bytes at most.
  ///   - configuration: See ``Configuration``.
  /// - Throws: ``LogError`` if a setting is out of its range, or a directory or file cannot be
  ///   made; then no file is left behind. A dead ring that cannot be recovered is no error: it
  ///   stays, and ``events`` reports it.
  public init(
    directory: String, name: String, configuration: Configuration = Configuration()
  ) throws(LogError) {
    try StoreRegistry.prepare()
    core = try StoreCore(directory: directory, name: name, configuration)
  }

  /// Opens a store at the usual place for its name. Afterwards ``directory`` says where that is. It
  /// is the first of these:
  ///
  /// 1. `$LOGS_DIRECTORY`, which systemd sets for a unit with `LogsDirectory=`;
  /// 2. `$STATE_DIRECTORY`, for a unit with `StateDirectory=`;
  /// 3. `/var/log/NAME` for root;
  /// 4. `$XDG_STATE_HOME/NAME`, by default `~/.local/state/NAME`, for other users.
  ///
  /// If a variable has a list of directories, the first one counts. All else is as in
  /// ``init(directory:name:configuration:)``.
  ///
  /// ```swift
  /// let store = try LogStore(name: "orders")
  /// print("The logs are in \(store.directory)")
  /// ```
  ///
  /// - Parameters:
  ///   - name: The beginning of all file names. Also the directory's name, unless the service
  ///     manager sets the place.
  ///   - configuration: See ``Configuration``.
  /// - Throws: ``LogError``, as ``init(directory:name:configuration:)`` does.
  public convenience init(
    name: String, configuration: Configuration = Configuration()
  ) throws(LogError) {
    let directory = StoreLocation.usualDirectory(
      of: name, isRoot: CurrentProcess.effectiveUserID == 0, CurrentProcess.variable)
    try self.init(directory: directory, name: name, configuration: configuration)
  }

  /// Where the archives are: the absolute form of the path that the store was opened with.
  public var directory: String { core.location.directory }

  /// The sessions that were recovered when this store was opened, the oldest first.
  ///
  /// Blocks the thread until the recovery is done: some tenths of a second for a full ring of 8
  /// MiB. Code that need not know all sessions at once can listen to ``events`` (`recovered`). If
  /// the store is closed before the recovery is done, only the sessions that were recovered by
  /// then. In a fork's child, none unless the recovery was done before the fork. A session whose
  /// process died just after this opening may be among them.
  public var recoveredSessions: [RecoveredSession] { core.recovery.result.sessions }

  /// Rings that could not be recovered when this store was opened. They stay where they are, and
  /// the next start tries again. A ring of which nothing can be read is instead renamed to end in
  /// `.ring.unreadable`, and reported once. Blocks the thread as ``recoveredSessions`` does.
  public var recoveryFailures: [LogError] { core.recovery.result.problems }

  /// Returns a logger for a label.
  ///
  /// - Parameter label: Names the part of the service that logs, such as `orders.matching`. Labels
  ///   are few and kept for the life of the process: at most 65,535 different ones are
  ///   distinguished.
  /// - Returns: A logger that shares its level with all others of the label. Any thread; takes a
  ///   lock. Not for signal handlers.
  /// - Complexity: O(1) if the label has a logger already. If not, it allocates, and enters the
  ///   label into the ring. Keep the logger, do not make one for each call.
  public func logger(label: String) -> Logger { Logger(core.label(label)) }

  /// Makes this the store of all loggers that were or will be made without a store
  /// (``Logger/init(label:)``, ``Logger/init(subsystem:category:)``).
  ///
  /// What those loggers logged before was dropped, and ``losses`` counts it. From now on, their
  /// levels are those that this store sets. The store stays the default until it is closed; then
  /// another store can become the default.
  ///
  /// - Precondition: No other open store is the default.
  public func makeDefault() {
    precondition(DefaultStore.set(core), "Another open store is the default: close it first")
  }

  /// Sets the level of all labels that `pattern` matches, of present and of later loggers.
  ///
  /// The level that is set last counts. Before the first call, the levels that the environment had
  /// when the store was opened count: in `MMLOG_LEVEL=db.*=debug,*=info`, the most specific
  /// pattern wins. While somebody outside has set a level (`mmlogctl set-level`), that level
  /// counts; see ``LogStore/Event/levelsSet(rules:)``.
  ///
  /// - Parameters:
  ///   - level: The lowest level that is recorded.
  ///   - pattern: A label, in which `*` stands for any characters and `?` for any one.
  public func setLevel(_ level: Logger.Level, for pattern: String) {
    core.labels.setLevel(level, for: pattern)
  }

  /// Sets how often each statement of all labels that `pattern` matches is recorded, for present
  /// and for later loggers.
  ///
  /// ```swift
  /// // The first 100 of a statement each second, and then one of a thousand.
  /// store.setRateLimit(RateLimit(first: 100, per: .seconds(1), thenEvery: 1000), for: "db.*")
  /// ```
  ///
  /// A statement that is not recorded is not evaluated. It is no loss, and
  /// ``Statistics/suppressed`` counts it. Statements are counted by label and place, all threads
  /// together. Ends of spans are always recorded, and so are statements that somebody outside has
  /// turned on (`mmlogctl enable`). A process has room for some 4096 statements that are limited by
  /// their labels. They keep their room even when the limit ends. Further statements are recorded
  /// each time.
  ///
  /// The limit that is set last counts. Before the first call, limits of the configuration
  /// (``Configuration/rateLimits``) or of the environment count: `MMLOG_LEVEL='db.*=100/1s/1000'`.
  /// While somebody outside has set a limit (`mmlogctl set-level 'db.*=100/1s'`), that limit
  /// counts. Calls of a label without a limit cost no more for this. Calls of a label with a limit
  /// take the outlined path, and read the clock.
  ///
  /// - Parameters:
  ///   - limit: How often a statement is recorded; `.none`: always.
  ///   - pattern: A label, in which `*` stands for any characters and `?` for any one.
  public func setRateLimit(_ limit: RateLimit, for pattern: String) {
    core.labels.setLimit(limit, for: pattern)
  }

  /// The level of each label that has a logger, as it is now. Any thread; takes a lock.
  ///
  /// - Complexity: O(labels).
  public var levels: [String: Logger.Level] { core.labels.levels }

  /// How safe records have to be; see `LogStore.flush(_:within:)`.
  public enum Durability: Sendable {
    /// In the ring: safe from the death of the process. Every record is this safe as soon as its
    /// call has returned.
    case ring
    /// In an archive: readers do not need the ring. As safe as in the ring.
    case archive
    /// On the disk: safe from a power cut.
    case disk
  }

  /// Waits until everything logged before this call is as safe as asked for. Blocks the thread;
  /// asynchronous code can await another form.
  ///
  /// - Parameters:
  ///   - durability: How safe records have to be. `ring` does nothing.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``: `timedOut`, `closed`, or what kept an archive from being written or
  ///   made safe. Then records that are in no archive are still in the ring.
  public func flush(
    _ durability: Durability, within limit: Duration = .seconds(30)
  ) throws(LogError) {
    if durability == .ring { return }
    try core.begunSession()?.drainer.flush(
      syncing: durability == .disk, within: limit.nanoseconds)
  }

  /// Waits until everything logged before this call is as safe as asked for. Meanwhile another
  /// thread is blocked. Canceling the task does not end that.
  ///
  /// - Parameters:
  ///   - durability: How safe records have to be. `ring` does nothing.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``: `timedOut`, `closed`, or what kept an archive from being written or
  ///   made safe. Then records that are in no archive are still in the ring.
  public func flush(
    _ durability: Durability, within limit: Duration = .seconds(30)
  ) async throws(LogError) {
    try await onOwnThread { [self] () throws(LogError) in try flush(durability, within: limit) }
  }

  /// What happened in this store when it was opened, and what happens from now on. Each access
  /// returns a new stream. The first stream begins with what has happened since the opening. A
  /// stream that nobody reads keeps the newest 256 events.
  ///
  /// While there is no such stream and no ``Configuration/observer``, the store writes a line on
  /// standard error for trouble that somebody should know of: one line of each kind a minute, a
  /// second after the trouble at the earliest, or when the store is closed. If standard error takes
  /// no more, the store leaves the line out.
  public var events: AsyncStream<LogStore.Event> { core.events.stream() }

  /// How many events listeners of ``events`` and the observer have missed, because they did not
  /// keep up.
  public var missedEvents: Int { core.events.missedCount }

  /// Waits until the observer has had all events, unless the observer itself calls this. For a
  /// closed store.
  package func waitForObserver() { core.events.waitForObserver() }

  /// The observer, which is notified of events.
  package var observer: (any Observer)? { core.configuration.observer }

  /// How many records were lost since the store was opened, by cause and level.
  public var losses: LossLedger { core.losses }

  /// Ends the session: moves all records to archives, makes these safe from a power cut, removes
  /// the ring. Blocks the thread; asynchronous code can await another form.
  ///
  /// Records logged afterwards are dropped and counted. Closing twice does nothing. Do not call
  /// this inside a log call's message: it would wait a second for that call to end. A call that has
  /// not ended by then counts as a lost record of the level `critical`.
  ///
  /// If the recovery of what dead processes left is not done, closing waits up to ten seconds for
  /// it, and then until the ring that is being recovered is done. Further rings are left to the
  /// next start.
  ///
  /// - Throws: ``LogError`` if the archive cannot be written. Records that are not in the archive
  ///   stay in the ring, and the next start recovers them.
  public func close() throws(LogError) { try core.close() }

  /// Ends the session: moves all records to archives, makes these safe from a power cut, removes
  /// the ring. Another thread does this meanwhile.
  ///
  /// Records logged afterwards are dropped and counted. Closing twice does nothing.
  ///
  /// - Throws: ``LogError`` if the archive cannot be written. Records that are not in the archive
  ///   stay in the ring, and the next start recovers them.
  public func close() async throws(LogError) {
    try await onOwnThread { [core] () throws(LogError) in try core.close() }
  }
}

/// Runs a function that waits on a thread of its own, so that it blocks no thread of Swift's
/// concurrency.
func onOwnThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws(LogError) -> Value
) async throws(LogError) -> Value {
  try await onOwnThread("mmlog-wait", explaining: "Starting a thread that waits failed", body)
}
