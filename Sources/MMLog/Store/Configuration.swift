public import MMLogCrypto
public import MMLogFormat
public import MMLogStorage
import MMLogSystem

extension LogStore {
  /// What a log call does when no segment of the ring is free, because the archive cannot be
  /// written as fast as records come, or not at all.
  public enum FullRingPolicy: Equatable, Sendable {
    /// Wait for free segments, at most as long as given for all that a record takes; then drop the
    /// record and count it.
    ///
    /// If the archive cannot be written, as on a full disk, and a call has waited in vain, later
    /// calls drop their records without waiting until the archive can be written again.
    ///
    /// A log call inside another one, as in a signal handler, waits for a millisecond at most.
    case wait(upTo: Duration)
    /// Drop the record, and count it.
    case dropNewest
    /// Discard the oldest segment that is not being archived at the moment, and count its records
    /// as lost: the ring keeps the newest records.
    case overwriteOldest
  }

  /// What compresses the records of archives. The call sites of an archive are always compressed
  /// with zlib.
  public enum Compression: Equatable, Sendable {
    /// zlib, which every reader has.
    case zlib
    /// zstd, which compresses text in half the time, and a little smaller. Only in builds of mmlog
    /// with the trait `Zstd`. A reader that was built without the trait says so, and reads the
    /// rest.
    case zstd

    var format: CompressionFormat { self == .zlib ? .zlib : .zstd }
  }

  /// How a store works. Every setting has a default that suits a service. The store checks all
  /// settings before it allocates anything.
  public struct Configuration: Sendable {
    /// The size of the mapped file that records are written into, in bytes, rounded up to whole
    /// segments. From 256 KiB to 4 GiB; default 8 MiB.
    ///
    /// The store takes the space on the disk at once. It makes the first MiB of pages ready when it
    /// is opened; right after that, the drainer makes the rest ready.
    ///
    /// The service can log as much as the ring holds while the disk stands still.
    public var ringSize = 8 << 20

    /// The size of a segment of the ring, in bytes: a multiple of 4096, from 4 KiB to 16 MiB; nil
    /// (the default): a 64th of the ring, from 4 KiB to 256 KiB.
    ///
    /// A log call that opens a new segment takes several times as long as others. With large
    /// segments, few calls open one. But each thread that logs holds a segment. Threads can hold
    /// three quarters of the segments; further threads share one segment, under a lock. The ring
    /// must have room for eight segments.
    public var segmentSize: Int?

    /// The size of the dictionary, the part of the ring that holds the static parts of log
    /// statements, in bytes: a multiple of 4096, from 4 KiB to 64 MiB; nil (the default): an eighth
    /// of the ring, 1 MiB at most. 1 MiB is enough for some 2,500 log statements with three
    /// arguments each.
    ///
    /// When half of the dictionary is used, it grows to twice its size, up to eight times its first
    /// size. Only then does it take that space on the disk, in addition to ``ringSize``; before,
    /// the space is a hole in the file. If there is no space, or the dictionary has grown as far as
    /// it may, records carry their static parts themselves. Such records are larger and slower, but
    /// not lost.
    public var dictionarySize: Int?

    /// Where the ring is, if not beside the archives. Default: nil.
    ///
    /// On a tmpfs such as `/dev/shm`, the kernel's write-back never disturbs a log call. The ring
    /// survives the process, but not the machine.
    ///
    /// Give each directory of archives a ring directory of its own. Of two stores of one name that
    /// share a ring directory, the one that is opened first recovers the dead rings of both into
    /// its own archives.
    public var ringDirectory: String?

    /// The recipients for whom ring and archives are encrypted: public keys, as `age-keygen` makes
    /// them; 64 at most. Default: none, and nothing is encrypted.
    ///
    /// ```swift
    /// var configuration = LogStore.Configuration()
    /// let operations = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    /// configuration.recipients = [try Recipient(operations)]
    /// ```
    ///
    /// The ring and each archive have a key of their own, which only a recipient's secret key
    /// opens. Neither this process's next start nor anybody who has the disk can read what the
    /// process has written. A log call costs 1 to 10 ns more; calls back to back cost up to four
    /// times as much. A further thread makes the streams that calls encrypt with; a thread that
    /// logs without a pause waits for it. Needs the trait `Encryption`. `docs/SECURITY.md` says who
    /// can read what.
    public var recipients: [Recipient] = []

    /// Whether each frame of an archive has the hash of the frame before it, and each archive the
    /// hash of the archive before it in its session. Default: false.
    ///
    /// Whoever knows a hash can find out whether anything before it was changed, removed or
    /// inserted. `mmlogctl head` and ``ArchiveInfo/head`` of ``Event/sealed(archive:)`` give the
    /// newest hash. Keep this hash where those who can change archives cannot change it. To check
    /// it, use `mmlog-decode verify --anchor FILE`. Costs 32 bytes a frame, and the hashing
    /// (SHA-256). Needs the trait `Encryption`, and does not encrypt.
    public var hashChain = false

    /// When an archive is closed and the next one begun. Default: at 64 MiB or 24 hours. See
    /// ``LogStore/update(_:)``.
    public var rotation = Rotation()

    /// Whether a session goes on with the last archive of the store's directory, in the same file,
    /// instead of beginning a new one. Default: false, so that sealed archives never change.
    ///
    /// For programs that start often and log little, and would otherwise leave a file each time.
    /// The session goes on with the archive if that is sealed, has room and time left by
    /// ``rotation``, and is neither uploaded, pinned nor leased; and if ``shouldSeal`` does not
    /// object. An uploader has to acquire a lease on each archive that it sends; see
    /// ``LogStore/acquireLease(on:by:for:)``. The opening of the store waits until what dead
    /// processes left is recovered.
    public var resumeLastArchive = false

    /// Returns whether an archive is to stay as it is, so that the session begins a new one. Counts
    /// only with ``resumeLastArchive``. Default: nil, which means no. The store's own thread calls
    /// it once for each session, before the session's first record is archived. It should not take
    /// long.
    public var shouldSeal: (@Sendable (ArchiveInfo) -> Bool)?

    /// How much is kept of the archives. Default: 1 GiB, and 5 % of the file system are left free.
    /// See ``LogStore/update(_:)``.
    public var retention = Retention()

    /// The number of bytes from which on ``LogStore/Event/pendingReached(bytes:)`` reports archives
    /// that are not uploaded. Nil, the default: it never does.
    public var pendingThreshold: Int?

    /// The number of bytes from which on ``LogStore/Event/sizeReached(bytes:)`` reports the size of
    /// all archives. Nil, the default: it never does.
    public var sizeThreshold: Int?

    /// The observer, which is notified of what the store does from its opening on, and can keep
    /// archives from being deleted. Default: none. The store holds it until it is closed.
    public var observer: (any LogStore.Observer)?

    /// Called before and after the store works on its files: opening and recovery, moving records
    /// to archives, rotation, compression, retention, and closing. Default: nil, none. For a device
    /// that must be kept awake meanwhile.
    ///
    /// ```swift
    /// var configuration = LogStore.Configuration()
    /// configuration.maintenanceHook = { phase in
    ///   switch phase {
    ///   case .willBegin: Device.holdAwake()
    ///   case .didEnd: Device.letSleep()
    ///   }
    /// }
    /// ```
    ///
    /// The thread that does the work makes both calls, even if the work fails. If several threads
    /// work at the same time, their pairs of calls overlap: count them. A thread with nothing to
    /// move does not call; the thread that applies limits calls each minute. There is no call for
    /// what another method of the store does on its caller's thread, such as
    /// ``LogStore/removeAll()``, and none for making a ring in a fork's child, or in place of a
    /// lost one.
    ///
    /// The work waits for the hook. The hook must not block for long, or call a method of the store
    /// that waits, such as `LogStore.flush(_:within:)`. It should not log into the store: if the
    /// ring is full, the log call would wait for its own thread. Programs that the hook starts
    /// inherit blocked signals; see ``LogStore/Observer``.
    public var maintenanceHook: (@Sendable (LogStore.MaintenancePhase) -> Void)?

    /// How hard archives are compressed: 0 (not at all), or by column and with zlib from 1
    /// (fastest) to 9 (smallest). Default 1, with which one processor keeps up with several busy
    /// threads. A higher level only pays for text. Records that come slowly, less than 256 KiB of
    /// them a second, are compressed as with level 9, which then takes a hundredth of a processor
    /// at most. The last records before a store is closed are, too, if they are half a MiB at most.
    /// ``LogStore/Statistics/thoroughFrames`` counts these frames.
    public var compressionLevel = 1

    /// What records are compressed with. Default: ``LogStore/Compression/zlib``.
    public var compression = LogStore.Compression.zlib

    /// How many threads move records from the ring to archives: 1 or 2. Default: 2, or 1 if the
    /// thread that makes the configuration may run on one processor only.
    ///
    /// With 2, one thread collects records and writes frames, and the other encodes and compresses
    /// the frames meanwhile, so that more is archived in the same time. Records are archived in the
    /// same order, and exactly once, as with 1. A second thread takes some 2 MiB of memory, and no
    /// time while records come slowly.
    public var drainThreads = CurrentProcess.processorCount > 1 ? 2 : 1

    /// Whether text is compressed with less effort while more than half of the ring waits to be
    /// archived, and not at all while three quarters wait. Default: true, so that no log call waits
    /// for compression.
    ///
    /// This makes archives larger if a service logs random text faster than it can be compressed:
    /// ``LogStore/Statistics/reducedFrames`` and ``LogStore/Statistics/storedFrames`` count how
    /// often. Numbers, patterns, and text that repeats are written as before.
    public var reducesCompression = true

    /// What a log call does when the ring is full. Default: wait up to a second.
    public var fullRing = LogStore.FullRingPolicy.wait(upTo: .seconds(1))

    /// How long a record may stay in the ring before it is moved to the archive: from 10 ms to an
    /// hour; default 30 seconds.
    ///
    /// Records are moved earlier if a MiB of them waits, or a quarter of the ring is full; if
    /// somebody flushes, syncs, captures or rotates; if ``syncInterval``, ``syncLevel`` or
    /// ``captureLevel`` ask for it; and each second if there is a tap. Waiting costs nothing:
    /// waiting records outlive the process, and readers find them in the ring. The more records go
    /// into an archive at a time, the smaller the archive becomes.
    public var drainInterval = Duration.seconds(30)

    /// How often new records are archived and made safe from a power cut: from 10 ms; nil (the
    /// default): only by `LogStore.flush(_:within:)` and when an archive is closed.
    public var syncInterval: Duration?

    /// The level from which on records are archived and made safe from a power cut within a second,
    /// or within ``drainInterval`` if that is less; nil (the default): none.
    public var syncLevel: Logger.Level?

    /// The taps, which are given records besides. MMLogTaps has the public name for this.
    package var recordTaps: [any RecordTapSettings] = []

    /// How often limits are applied if there is no other reason to apply them. A minute, except in
    /// tests.
    package var maintenanceInterval = Duration.seconds(60)

    /// After how long without a sign of life the drainer is said to stand still. Five seconds,
    /// except in tests.
    package var stallTime = Duration.seconds(5)
    /// How long closing waits for what taps are still to write.
    package var tapTimeout = Duration.seconds(1)

    /// Whether the store handles SIGBUS in the ring's memory. Default: true.
    ///
    /// The kernel raises SIGBUS when it cannot provide a mapped page: somebody has cut the ring's
    /// file, or its disk fails. If the signal is handled, such a page becomes ordinary memory, the
    /// caller goes on, and the store moves to a new ring. If not, the process dies. The first store
    /// that is opened sets the handler. For all other memory, it calls the handler that was set
    /// before; a handler that is set later has to call this one.
    public var containsFaults = true

    /// Whether fatal signals are recorded: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and
    /// SIGSYS. Default: false.
    ///
    /// A handler writes the signal, its address, the registers and the return addresses into the
    /// ring, with the build ids of the programs that the addresses are in. Then it calls the
    /// handler that was set before, Swift's own included. `mmlog-decode crash` shows the report.
    /// The first store with this setting sets the handlers; handlers that are set later have to
    /// call them. Threads that log get 64 KiB of stack for handlers, unless they have such a stack.
    /// Only the first eight stores of a process that are opened get a report.
    public var recordsCrashes = false

    /// Whether the store notes SIGTERM, SIGINT and SIGHUP in the ring when they end the process.
    /// Default: true.
    ///
    /// A service that these signals stop then does not look like one that crashed. When a store is
    /// opened, it sets a handler for each of these signals whose action is the default one. The
    /// handler notes signal, sender and time in the rings of all open stores, restores the default
    /// action, and raises the signal again: the process ends as it would without the handler. A
    /// service may handle or ignore a signal itself, before or after the store is opened: the store
    /// does not disturb that. A handler that is set later, and calls this one, decides alone what
    /// happens.
    public var recordsTermination = true

    /// Whether the ring has room for
    /// ``Logger/recordInSignalHandler(_:_:number:file:function:line:)`` and C's
    /// `mmlog_signal_write`. Default: false; then these record nothing.
    ///
    /// The room is one segment, of which at least half is kept free, so that a handler can write
    /// even if the ring is full.
    public var servesSignalHandlers = false

    /// The level of labels for which no other level is set. Default: `info`.
    public var level = Logger.Level.info

    /// How often each statement of a label is recorded, by patterns of labels: see
    /// ``LogStore/setRateLimit(_:for:)``. Default: always.
    public var rateLimits: [String: RateLimit] = [:]

    /// The level from which on records go into archives. Default: `trace`, all.
    ///
    /// If this is higher than ``level``, the ring is a flight recorder. Records below this level
    /// cost their callers the same and survive the process, too, but they stay in the ring, where
    /// the newest ones take the place of the oldest. No archive has them unless they are
    /// *captured*: because of a record of ``captureLevel``, by `LogStore.capture(reason:within:)`,
    /// or because the process dies. The decoder marks them. The ring should have room for what is
    /// logged in ``captureTime``.
    public var archiveLevel = Logger.Level.trace

    /// The level from which on a record makes the store capture the flight records that led to it,
    /// within a second, or within ``drainInterval`` if that is less. Default: `error`; nil: no
    /// record does.
    public var captureLevel: Logger.Level? = .error

    /// How far back a capture goes, and how long a record below ``archiveLevel`` is kept at all:
    /// from 1 ms to a day; default one minute. After a crash, all records that are left in the ring
    /// are captured, except those that an earlier capture skipped as too old.
    public var captureTime = Duration.seconds(60)

    /// Which spans make the store capture their flight records when they end. Default: nil: spans
    /// decide nothing.
    ///
    /// With this setting, a record below ``archiveLevel`` that belongs to a span waits for the
    /// span's end. If the span fails, asks for it, or takes longer than the limit, the store
    /// captures the span's records of all threads, and no others, within ``drainInterval``.
    /// Otherwise the span's records are erased, also in the ring, and no later capture or recovery
    /// finds them. For a span that has not ended, nothing changes: other captures and the death of
    /// the process keep its records.
    ///
    /// A record belongs to the span of its task or logger (`Logger.with`), and to a span that it
    /// begins or ends, but not to the spans around these. Log a span's records before the span
    /// ends. A record that is larger than ``segmentSize`` belongs to no span. If a store has
    /// ``recipients``, a recovery of its ring cannot read which records belong to a span: it keeps
    /// those that the drainer had not erased yet.
    public var spanCapture: SpanCapture?

    /// What ``Logger/Privacy/auto`` means for values that are neither numbers nor Booleans:
    /// `public`, `private` (the default), `hash` or `sealed`.
    public var autoPrivacy = Logger.Privacy.private

    /// Whether the store's directories may belong to another user, or may let every user make and
    /// remove files.
    ///
    /// Default: false. Then the directories have to belong to the process's user or to root. If
    /// every user can write to them, they have to be sticky, as `/tmp` and `/dev/shm` are;
    /// otherwise anyone could remove logs, or plant some. Members of the directory's group count as
    /// trusted, and so do the directories above. See `chmod(1)`.
    public var allowsUntrustedDirectory = false

    /// The permission bits of files that the store makes: rings, archives, and the notes beside
    /// them, also those that recovery and rotation make. The umask does not change these bits,
    /// unless they are the default. Default: `0o600`, for the process's user alone. System calls:
    /// openat(2), fchmod(2).
    ///
    /// For a collector that reads with another user's rights: `0o640`, with ``fileGroup``. The
    /// owner must be able to read and write. No other user may have the right to write, because
    /// mmlog recognizes its own files by their owner. Nobody may have the right to execute. Users
    /// who may read the files may also enter and list the directories that the store makes. Files
    /// and directories that are there already stay as they are. `.mmlog-lock` is for its user
    /// alone.
    ///
    /// Whoever may read a file may also lock it, and so keep a ring from being recovered, or an
    /// archive from being deleted. Give the right to read only to users whom you trust that far.
    public var fileMode: UInt32 = 0o600

    /// The group of files and directories that the store makes: its name, or its number in decimal
    /// digits, as chown(1) takes them. Nil, the default: the group that the system chooses, which
    /// is the process's own, or the directory's if the directory has the set-group-ID bit. System
    /// calls: getgrnam_r(3), fchown(2).
    ///
    /// Unless the process is privileged, its user has to be a member of the group. See
    /// ``fileMode``.
    public var fileGroup: String?

    /// Fields that are true of all records of the process: a version, an environment, a device, a
    /// user. Recorded once. Readers show them with each record, or once for all records. They are
    /// what OpenTelemetry calls a *resource*; use OpenTelemetry's names if possible.
    ///
    /// ```swift
    /// var configuration = LogStore.Configuration()
    /// configuration.fields = ["service.version": "1.4.2", "deployment.environment.name": "test"]
    /// ```
    ///
    /// The store adds what the machine says, unless there is a field of that name: `systemd.unit`,
    /// `container.id` and `k8s.pod.uid`, as /proc/self/cgroup has them. All fields together may
    /// take a quarter of ``dictionarySize``. Default: none.
    public var fields: Logger.Metadata = [:]

    /// A configuration with all defaults.
    public init() {}

    /// The fields, and those that the machine gives.
    var allFields: Logger.Metadata {
      let group = ControlGroup.current()
      var all = fields
      for (name, value) in [
        ("systemd.unit", group.unit), ("container.id", group.container), ("k8s.pod.uid", group.pod),
      ] {
        if let value, !all.pairs.contains(where: { $0.0 == name }) {
          all.append(.string(value), for: name)
        }
      }
      return all
    }

    var settings: StoreSettings { StoreSettings(rotation: rotation, retention: retention) }

    /// Whether the records of the ring are encrypted.
    var encryptsRing: Bool { !recipients.isEmpty }

    /// How many bytes of the dictionary have room on the disk from the beginning.
    var firstDictionarySize: Int { dictionarySize ?? min(ringSize / 8 / 4096 * 4096, 1 << 20) }

    var resumption: Resumption? {
      resumeLastArchive ? Resumption(unless: shouldSeal ?? { _ in false }) : nil
    }

    var archiveSettings: ArchiveSeries.Settings {
      ArchiveSeries.Settings(
        rotation: rotation, compressionLevel: compressionLevel,
        format: compression.format, recipients: recipients, isChained: hashChain)
    }
  }
}
