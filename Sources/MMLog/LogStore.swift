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
/// moves what is left in the ring into archives, behind its opening; ``recoveredSessions`` reports.
///
/// A store stays open until `LogStore.close()` or the end of the process, also when no reference to
/// it is left: loggers do not count references. All methods can be called from any thread. After
/// `fork()`, the child logs into a ring of its own, opened at its first log call.
public final class LogStore: Sendable {
  let core: StoreCore

  /// Opens a store: makes the directory if needed, and maps a new ring. Takes two or three
  /// milliseconds, most for the ring's pages; on tmpfs, where all of a ring's space is taken at
  /// once, some more for a large one.
  ///
  /// What dead processes of this name left is recovered behind it, by the store's own thread. Log
  /// calls do not wait for that. No limit deletes anything before it is done. Only with
  /// ``Configuration/resumeLastArchive`` does the opening wait: the session goes on behind what the
  /// recovery writes. It also waits if more than four rings are to be recovered, so that processes
  /// that die at once leave no more and more of them.
  ///
  /// Several processes may use one directory and one name; each has its own ring and archives.
  ///
  /// - Parameters:
  ///   - directory: Where the archives are, and the ring unless configured otherwise. Made with
  ///     mode 0700 if it is not there. A relative path begins at the working directory of this
  ///     moment, and so does that of ``Configuration/ringDirectory``: chdir(2) changes nothing
  ///     later. Symbolic links are followed on the way to it, never at the store's own files.
  ///   - name: The beginning of all file names: 1 to 100 bytes without slashes. Control characters,
  ///     and a dot at the beginning, are escaped there, and then take three bytes of 160 at most.
  ///   - configuration: See ``Configuration``.
  /// - Throws: ``LogError`` if a setting is out of its range, or a directory or file cannot be
  ///   made; no file is left behind then. A dead ring that cannot be recovered is no error: it is
  ///   left, and reported by ``events``.
  public init(
    directory: String, name: String, configuration: Configuration = Configuration()
  ) throws(LogError) {
    try StoreRegistry.prepare()
    core = try StoreCore(directory: directory, name: name, configuration)
  }

  /// Opens a store at the usual place for its name, which ``directory`` says afterwards. That is
  /// the first of these:
  ///
  /// 1. `$LOGS_DIRECTORY`, which systemd sets for a unit with `LogsDirectory=`;
  /// 2. `$STATE_DIRECTORY`, for a unit with `StateDirectory=`;
  /// 3. `/var/log/NAME` for root;
  /// 4. `$XDG_STATE_HOME/NAME`, by default `~/.local/state/NAME`, for other users.
  ///
  /// Of a list of directories in a variable, the first counts. Otherwise as
  /// ``init(directory:name:configuration:)``.
  ///
  /// ```swift
  /// let store = try LogStore(name: "orders")
  /// print("The logs are in \(store.directory)")
  /// ```
  ///
  /// - Parameters:
  ///   - name: The beginning of all file names, and the directory's name where the place is not the
  ///     service manager's.
  ///   - configuration: See ``Configuration``.
  /// - Throws: ``LogError`` as the other does.
  public convenience init(
    name: String, configuration: Configuration = Configuration()
  ) throws(LogError) {
    let directory = StoreLocation.usualDirectory(
      of: name, isRoot: CurrentProcess.effectiveUserID == 0, CurrentProcess.variable)
    try self.init(directory: directory, name: name, configuration: configuration)
  }

  /// Where the archives are: the path that the store was opened with, from the root.
  public var directory: String { core.location.directory }

  /// The sessions that were recovered when this store was opened, the oldest first.
  ///
  /// Blocks the thread until the recovery is done, and so for as long as it takes: for a full ring
  /// of 8 MiB, some tenths of a second. Who need not know all of them listens to ``events``
  /// (`recovered`). If the store was closed meanwhile, or the process is a fork's child, it is
  /// those that were recovered by then. A session whose process died just after this opening may be
  /// among them.
  public var recoveredSessions: [RecoveredSession] { core.recovery.result.sessions }

  /// Rings that could not be recovered when this store was opened. They are left where they are,
  /// and tried again at the next start; except one of which nothing can be read, which is renamed
  /// to end in `.ring.unreadable` and reported once. Blocks the thread as ``recoveredSessions``
  /// does.
  public var recoveryFailures: [LogError] { core.recovery.result.problems }

  /// A logger.
  ///
  /// - Parameter label: Names the part of the service that logs, such as `orders.matching`. Labels
  ///   are few and kept for the life of the process: at most 65,535 different ones are
  ///   distinguished.
  /// - Returns: A logger that shares its level with all others of the label. Any thread; takes a
  ///   lock. Not for signal handlers.
  /// - Complexity: O(1) if there is a logger of that label already. Else it allocates, and enters
  ///   the label into the ring. Keep the logger, do not make one for each call.
  public func logger(label: String) -> Logger { Logger(core.label(label)) }

  /// Makes this the store of all loggers that were made without one (``Logger/init(label:)``,
  /// ``Logger/init(subsystem:category:)``), now and later.
  ///
  /// What they logged before was dropped; it is counted in ``losses``. Their levels are from now on
  /// as this store's. Until it is closed, it stays the default; then another one can be.
  ///
  /// - Precondition: No other store that is open is the default.
  public func makeDefault() {
    precondition(DefaultStore.set(core), "Another open store is the default: close it first")
  }

  /// Sets the level of all labels that `pattern` matches, now and later.
  ///
  /// What is set last counts. Before that, the environment may have set levels when the store was
  /// opened: `MMLOG_LEVEL=db.*=debug,*=info`, where the most particular pattern counts. As long as
  /// somebody outside has set a level (`mmlogctl set-level`), it is that one; see
  /// ``LogStore/Event/levelsSet(rules:)``.
  ///
  /// - Parameters:
  ///   - level: The lowest level that is recorded.
  ///   - pattern: A label, in which `*` stands for any characters and `?` for any one.
  public func setLevel(_ level: Logger.Level, for pattern: String) {
    core.labels.setLevel(level, for: pattern)
  }

  /// Sets how often each statement of all labels that `pattern` matches is recorded, now and later.
  ///
  /// ```swift
  /// // The first 100 of a statement each second, and then one of a thousand.
  /// store.setRateLimit(RateLimit(first: 100, per: .seconds(1), thenEvery: 1000), for: "db.*")
  /// ```
  ///
  /// What is not recorded is not evaluated, is no loss, and is counted: see
  /// ``Statistics/suppressed``. Statements are counted by label and place, all threads together.
  /// Ends of spans are always recorded, and so are statements that somebody outside has turned on
  /// (`mmlogctl enable`). A process has room for some 4096 statements that are limited by their
  /// labels, which keep their places also when the limit ends; others are recorded each time.
  ///
  /// What is set last counts. Before that, the configuration
  /// (``Configuration/rateLimits``) or the environment may have set limits:
  /// `MMLOG_LEVEL='db.*=100/1s/1000'`. As long as somebody outside has set one
  /// (`mmlogctl set-level 'db.*=100/1s'`), it is that one. A label without a limit pays nothing for
  /// this; a call of one with a limit takes the outlined path, and reads the clock.
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

  /// How far records have to have come; see `LogStore.flush(_:within:)`.
  public enum Durability: Sendable {
    /// In the ring: safe from the death of the process. Every record is, as soon as its call has
    /// returned.
    case ring
    /// In an archive: to be read without the ring. As safe as in the ring.
    case archive
    /// On the disk: safe from a power cut.
    case disk
  }

  /// Waits until everything logged before this call is as safe as asked for. Blocks the thread;
  /// asynchronous code has a form that it awaits.
  ///
  /// - Parameters:
  ///   - durability: How far records have to have come. `ring` does nothing.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``: `timedOut`, `closed`, or what kept the archive from being written. The
  ///   records are still in the ring then.
  public func flush(
    _ durability: Durability, within limit: Duration = .seconds(30)
  ) throws(LogError) {
    if durability == .ring { return }
    try core.begunSession()?.drainer.flush(
      syncing: durability == .disk, within: limit.nanoseconds)
  }

  /// Waits until everything logged before this call is as safe as asked for. Another thread is
  /// blocked meanwhile, which a cancellation of the task does not end.
  ///
  /// - Parameters:
  ///   - durability: How far records have to have come. `ring` does nothing.
  ///   - limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``: `timedOut`, `closed`, or what kept the archive from being written. The
  ///   records are still in the ring then.
  public func flush(
    _ durability: Durability, within limit: Duration = .seconds(30)
  ) async throws(LogError) {
    try await onOwnThread { [self] () throws(LogError) in try flush(durability, within: limit) }
  }

  /// What this store did and met when it was opened, and does and meets from now on. Each access
  /// gives a new stream, the first of which begins with what has happened since the opening; one
  /// that is not read keeps the newest 256 events.
  ///
  /// While there is no such stream, and without a ``Configuration/observer``, trouble that somebody
  /// should know of is a line on standard error: a second after it happened at the earliest, or when
  /// the store is closed; one of each kind a minute. A standard error that takes no more gets none.
  public var events: AsyncStream<LogStore.Event> { core.events.stream() }

  /// How many events listeners of ``events`` and the observer have missed, because they did not
  /// keep up.
  public var missedEvents: Int { core.events.missedCount }

  /// Waits until the observer has had all events, unless it is who calls. For a store that is
  /// closed.
  package func waitForObserver() { core.events.waitForObserver() }

  /// Who is notified of events.
  package var observer: (any Observer)? { core.configuration.observer }

  /// How many records were lost since the store was opened, by cause and level.
  public var losses: LossLedger { core.losses }

  /// Ends the session: moves all records to archives, makes these safe from a power cut, removes
  /// the ring. Blocks the thread; asynchronous code has a form that it awaits.
  ///
  /// Records logged afterwards are dropped and counted. Closing twice does nothing. Not to be
  /// called from inside a log call's message: it would wait a second for that call to end.
  ///
  /// If what dead processes left is still being recovered, it waits ten seconds for that, and then
  /// for the ring that is at its turn; others are left to the next start.
  ///
  /// - Throws: ``LogError`` if the archive cannot be written. What is not in it is left in the
  ///   ring, and recovered at the next start.
  public func close() throws(LogError) { try core.close() }

  /// Ends the session: moves all records to archives, makes these safe from a power cut, removes
  /// the ring. Another thread does it meanwhile.
  ///
  /// Records logged afterwards are dropped and counted. Closing twice does nothing.
  ///
  /// - Throws: ``LogError`` if the archive cannot be written. What is not in it is left in the
  ///   ring, and recovered at the next start.
  public func close() async throws(LogError) {
    try await onOwnThread { [core] () throws(LogError) in try core.close() }
  }
}

/// Runs what waits on a thread of its own, so that none of Swift's concurrency is kept from its
/// work.
func onOwnThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws(LogError) -> Value
) async throws(LogError) -> Value {
  try await onOwnThread("mmlog-wait", explaining: "Starting a thread that waits failed", body)
}
