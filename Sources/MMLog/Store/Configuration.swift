public import MMLogCrypto
public import MMLogFormat
public import MMLogStorage
import MMLogSystem

extension LogStore {
  /// What a log call does when no segment of the ring is free: the archive cannot be written as
  /// fast as records come, or not at all.
  public enum FullRingPolicy: Equatable, Sendable {
    /// Wait for a free segment, so long at most; then drop the record and count it.
    ///
    /// Where the archive cannot be written, as on a full disk, and a call has waited for so long,
    /// later calls drop their records without waiting, until the archive can be written again.
    ///
    /// A call inside another log call, as in a signal handler, waits for a millisecond at most.
    case wait(upTo: Duration)
    /// Drop the record, and count it.
    case dropNewest
    /// Give up the oldest segment that is not being archived at the moment, and count its records
    /// as lost: a flight recorder.
    case overwriteOldest
  }

  /// What compresses the records of archives. Whatever it is, an archive's call sites are
  /// compressed with zlib.
  public enum Compression: Equatable, Sendable {
    /// zlib, which every reader has.
    case zlib
    /// zstd, which takes half the time for text, and makes it a little smaller. Only in builds of
    /// mmlog with the trait `Zstd`; a reader that was built without it says so, and reads the rest.
    case zstd

    var format: CompressionFormat { self == .zlib ? .zlib : .zstd }
  }

  /// How a store works. Every setting has a default that suits a service; all are checked before
  /// anything is allocated.
  public struct Configuration: Sendable {
    /// Size of the mapped file that records are written into, in bytes, rounded up to whole
    /// segments. From 256 KiB to 4 GiB; default 8 MiB.
    ///
    /// Space on the disk is taken at once. Of the pages, the first MiB is made ready when the store
    /// is opened, and the rest by the drainer, right after that.
    ///
    /// What the ring holds is what the service can log while the disk stands still.
    public var ringSize = 8 << 20

    /// Size of a segment of the ring, in bytes: a multiple of 4096, from 4 KiB to 16 MiB; nil (the
    /// default): a 64th of the ring, from 4 KiB to 256 KiB.
    ///
    /// A log call that takes a new segment takes some times as long as others: with large segments,
    /// few do. But each thread that logs holds one. Three quarters of the segments can be
    /// held so; further threads share one, under a lock. The ring must have room for eight
    /// segments.
    public var segmentSize: Int?

    /// Size of the part of the ring that holds the static parts of log statements, in bytes: a
    /// multiple of 4096, from 4 KiB to 64 MiB; nil (the default): an eighth of the ring, 1 MiB at
    /// most, which is enough for some 2,500 log statements with three arguments each.
    ///
    /// When half of it is used, it grows to twice its size, up to eight times. It takes that space
    /// on the disk then, besides ``ringSize``; as a hole, it is in the file from the beginning. If
    /// there is no space, or it has grown as far as it may, records carry their static part
    /// themselves: larger and slower, not lost.
    public var dictionarySize: Int?

    /// Where the ring is, if not beside the archives. Default: nil.
    ///
    /// On a tmpfs such as `/dev/shm` no write-back ever disturbs a log call, and the ring survives
    /// the process but not the machine.
    public var ringDirectory: String?

    /// For whom ring and archives are encrypted: public keys, as `age-keygen` makes them; 64 at
    /// most. Default: none, they are not.
    ///
    /// ```swift
    /// var configuration = LogStore.Configuration()
    /// let operations = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    /// configuration.recipients = [try Recipient(operations)]
    /// ```
    ///
    /// The ring and each archive have a key of their own, which only a recipient's secret key
    /// opens: neither this process's next start nor anybody who has the disk can read what it has
    /// written. A log call costs 1 to 10 ns more, and up to four times as much back to back. A
    /// further thread makes what calls encrypt with: who logs without a pause waits for that
    /// thread. Needs the trait `Encryption`. `docs/SECURITY.md` says who can read what.
    public var recipients: [Recipient] = []

    /// Whether each frame of an archive carries the hash of the one before it, and each archive
    /// that of the one before it in its session. Default: false.
    ///
    /// Who knows a hash finds out whether anything before it was changed, taken out or put in:
    /// `mmlogctl head` and ``ArchiveInfo/head`` of ``Event/sealed(archive:)`` give it, to be kept
    /// where nobody can change it who can change archives; `mmlog-decode verify --anchor FILE`
    /// checks it. Costs 32 bytes a frame, and the hashing (SHA-256). Needs the trait `Encryption`,
    /// and does not encrypt.
    public var hashChain = false

    /// When an archive is closed and the next begun. Default: at 64 MiB or 24 hours. See
    /// ``LogStore/update(_:)``.
    public var rotation = Rotation()

    /// Whether the first archive of a session goes behind what the last archive of the store's
    /// directory holds already, in the same file. Default: false, so that what is sealed never
    /// changes.
    ///
    /// For programs that start often and log little, which else would leave a file each time. It is
    /// done if that archive is sealed, has room and time left by ``rotation``, and is neither
    /// uploaded, pinned nor leased; and if ``shouldSeal`` does not object. An uploader has to
    /// acquire a lease on what it sends; see ``LogStore/acquireLease(on:by:for:)``. What dead
    /// processes left is then recovered before the store is open.
    public var resumeLastArchive = false

    /// With ``resumeLastArchive``: whether an archive is to stay as it is, so that a new one is
    /// begun. Default: nil, no. Called once for each session, by the store's own thread, before its
    /// first record is archived; should not take long.
    public var shouldSeal: (@Sendable (ArchiveInfo) -> Bool)?

    /// What is kept of the archives. Default: 1 GiB, and 5 % of the file system are left free. See
    /// ``LogStore/update(_:)``.
    public var retention = Retention()

    /// How many bytes of archives that are not uploaded are reported by
    /// ``LogStore/Event/pendingReached(bytes:)``. Nil, the default: none.
    public var pendingThreshold: Int?

    /// How many bytes of archives are reported by ``LogStore/Event/sizeReached(bytes:)``. Nil, the
    /// default: none.
    public var sizeThreshold: Int?

    /// Is notified of what the store does, from its opening on, and keeps archives from being
    /// deleted. Default: nobody. Held until the store is closed.
    public var observer: (any LogStore.Observer)?

    /// Is called before and after the store works on its files: opening and recovery, moving
    /// records to archives, rotation, compression, retention, and closing. Default: nil, nobody.
    /// For a device that must be held awake meanwhile.
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
    /// The thread that does the work makes both calls, also when the work fails. Several threads
    /// work at times, so that their pairs overlap: count them. A thread with nothing to move calls
    /// nobody; the one that applies limits calls each minute. What another method of the store does
    /// on its caller's thread, such as ``LogStore/removeAll()``, is not announced; nor is the
    /// making of a ring in a fork's child, or in place of one that is lost.
    ///
    /// The work waits for the hook. It must not block for long, nor call a method of the store that
    /// waits, such as `LogStore.flush(_:within:)`. It should not log into the store: where the ring
    /// is full, the call would wait for the very thread that it is on. Programs that it starts
    /// inherit blocked signals, see ``LogStore/Observer``.
    public var maintenanceHook: (@Sendable (LogStore.MaintenancePhase) -> Void)?

    /// How hard archives are compressed: 0 (not at all), or by column and with zlib from 1
    /// (fastest) to 9 (smallest). Default 1, with which one processor keeps up with several busy
    /// threads; more than that pays for text only. Records that come slowly, less than 256 KiB of
    /// them a second, are compressed as with 9, which then takes a hundredth of a processor at
    /// most; and so are the last ones when a store is closed, if they are half a MiB at most.
    /// ``LogStore/Statistics/thoroughFrames`` counts these frames.
    public var compressionLevel = 1

    /// What records are compressed with. Default: ``LogStore/Compression/zlib``.
    public var compression = LogStore.Compression.zlib

    /// How many threads move records from the ring to archives: 1 or 2. Default: 2, or 1 where the
    /// thread that makes the configuration may run on one processor only.
    ///
    /// With 2, one collects records and writes frames, and the other encodes and compresses them
    /// meanwhile, so that more is archived in the same time. Order and exactness are the same. A
    /// second thread takes no time while records come slowly, and some 2 MiB of memory.
    public var drainThreads = CurrentProcess.processorCount > 1 ? 2 : 1

    /// Whether text is compressed with less effort while more than half of the ring waits to be
    /// archived, and not at all while three quarters do. Default: true, so that no log call waits
    /// for a coder.
    ///
    /// Archives are larger for it where a service logs random text faster than it can be
    /// compressed: ``LogStore/Statistics/reducedFrames`` and ``LogStore/Statistics/storedFrames``
    /// count how often. Numbers, patterns, and text that repeats are written as ever.
    public var reducesCompression = true

    /// What to do when the ring is full. Default: wait up to a second.
    public var fullRing = LogStore.FullRingPolicy.wait(upTo: .seconds(1))

    /// How long a record may stay in the ring before it is moved to the archive: from 10 ms to an
    /// hour; default 30 seconds.
    ///
    /// Records are moved before if a MiB of them waits, or a quarter of the ring is full; if
    /// somebody flushes, syncs, captures or rotates; if ``syncInterval``, ``syncLevel`` or
    /// ``captureLevel`` ask for it; and each second if there is a tap. What waits costs nothing:
    /// it outlives the process, and readers find it in the ring. The more records go into an
    /// archive at a time, the smaller it becomes.
    public var drainInterval = Duration.seconds(30)

    /// How often what was logged is archived and made safe from a power cut, if there is anything
    /// new: from 10 ms; nil (the default): only by `LogStore.flush(_:within:)` and when an archive
    /// is closed.
    public var syncInterval: Duration?

    /// From which level on a record is archived and made safe from a power cut within a second, or
    /// within ``drainInterval`` if that is less; nil (the default): none.
    public var syncLevel: Logger.Level?

    /// Who is given records besides. MMLogTaps has the public name for it.
    package var recordTaps: [any RecordTapSettings] = []

    /// How often limits are applied if nothing else is a reason to. A minute, but in tests.
    package var maintenanceInterval = Duration.seconds(60)

    /// After how long without a sign of life the drainer is said to stand still. Five seconds, but
    /// in tests.
    package var stallTime = Duration.seconds(5)

    /// Whether SIGBUS is handled in the ring's memory. Default: true.
    ///
    /// The kernel raises it when a mapped page cannot be had: somebody has cut the ring's file, or
    /// its disk fails. With this, such a page becomes ordinary memory, the caller goes on, and the
    /// store moves to a new ring; without it, the process dies. The handler is set when the first
    /// store is opened, and goes on to the one that was set before; a handler that is set later has
    /// to do likewise.
    public var containsFaults = true

    /// Whether fatal signals are recorded: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and
    /// SIGSYS. Default: false.
    ///
    /// Their handler writes signal, address, registers and return addresses into the ring, with the
    /// build ids of the programs that they are in, and calls the handler that was there before,
    /// Swift's own included. `mmlog-decode crash` shows it. The handlers are set when the
    /// first store that asks for it is opened; handlers that are set later have to go on to them.
    /// Threads that log get 64 KiB of stack for them, unless they have some. Of the stores of a
    /// process the first eight to be opened get a record.
    public var recordsCrashes = false

    /// Whether SIGTERM, SIGINT and SIGHUP are noted in the ring when they end the process. Default:
    /// true.
    ///
    /// So a service that is stopped by them does not look like one that crashed. A handler is set
    /// for each of them whose action is the default one when a store is opened. It notes signal,
    /// sender and time in the rings of all open stores, restores the default action, and raises the
    /// signal again: the process ends as it would without it. A service that handles or ignores a
    /// signal itself, sooner or later, is not disturbed; a handler that is set later, and calls
    /// this one, decides alone what happens.
    public var recordsTermination = true

    /// Whether the ring has a place for
    /// ``Logger/recordInSignalHandler(_:_:number:file:function:line:)`` and C's
    /// `mmlog_signal_write`. Default: false; nothing can be recorded by these then.
    ///
    /// It takes one segment, of which half at least is kept free, so that a handler can write
    /// though the ring is full.
    public var servesSignalHandlers = false

    /// The level of labels for which nothing else is set. Default: `info`.
    public var level = Logger.Level.info

    /// How often each statement of labels is recorded, by patterns of labels: see
    /// ``LogStore/setRateLimit(_:for:)``. Default: always.
    public var rateLimits: [String: RateLimit] = [:]

    /// From which level on records go into archives. Default: `trace`, all.
    ///
    /// With a higher one than ``level``, the ring is a flight recorder: records below it cost their
    /// callers the same and survive the process too, but they stay in the ring, where the newest
    /// take the oldest ones' place. No archive has them, unless they are *captured*: by a record of
    /// ``captureLevel``, by `LogStore.capture(reason:within:)`, or because the process dies. The
    /// decoder marks them. The ring should have room for what is logged in ``captureTime``.
    public var archiveLevel = Logger.Level.trace

    /// The level from which on a record has what led to it captured, within a second, or within
    /// ``drainInterval`` if that is less. Default: `error`; nil: none has.
    public var captureLevel: Logger.Level? = .error

    /// How far back a capture goes, and how long a record below ``archiveLevel`` is kept at all:
    /// from 1 ms to a day; default one minute. After a crash, all that is left in the ring counts,
    /// except records that an earlier capture skipped as too old.
    public var captureTime = Duration.seconds(60)

    /// Which spans have their flight records captured when they end. Default: nil, spans decide
    /// nothing.
    ///
    /// With one, a record below ``archiveLevel`` that belongs to a span waits for the span's end.
    /// If the span fails, asks for it, or takes longer than the limit, then what belongs to the
    /// span is captured, over all threads, and nothing else; within ``drainInterval``. Otherwise it
    /// is erased, also in the ring, and no later capture or recovery finds it. A span that has not
    /// ended counts as before: other captures and the death of the process keep what belongs to it.
    ///
    /// A record belongs to the span of its task or logger (`Logger.with`), and to that which it
    /// begins or ends; not to the spans around that one. Log it before the span ends. One that is
    /// larger than ``segmentSize`` belongs to none. Where a store has ``recipients``, whoever
    /// recovers its ring cannot read that: what the drainer had not erased yet is kept.
    public var spanCapture: SpanCapture?

    /// What ``Logger/Privacy/auto`` means for values that are neither numbers nor Booleans:
    /// `public`, `private` (the default), `hash` or `sealed`.
    public var autoPrivacy = Logger.Privacy.private

    /// Whether the store's directories may belong to another user, or let every user make and
    /// remove files.
    ///
    /// Default: false. Then they have to belong to the process's user or to root, and if every user
    /// can write to them, they have to be sticky, as `/tmp` and `/dev/shm` are: anyone else could
    /// remove logs, or plant some. Group members count as trusted, and so does the way to the
    /// directory. See `chmod(1)`.
    public var allowsUntrustedDirectory = false

    /// The permission bits of files that the store makes: rings, archives, and what is noted beside
    /// them; also what recovery and rotation make. Whatever the umask, unless it is the default.
    /// Default: `0o600`, for the process's user alone. System calls: openat(2), fchmod(2).
    ///
    /// For a collector that reads with another user's rights: `0o640`, with ``fileGroup``. The
    /// owner must be able to read and write. Nobody else may be given the right to write, because
    /// mmlog takes a file for its own by its owner; nor may any be given the right to execute.
    /// Where files may be read, the directories that the store makes may be entered and listed.
    /// Files and directories that are there already stay as they are. `.mmlog-lock` is for its user
    /// alone.
    ///
    /// Who may read a file may take a lock on it, and so keep a ring from being recovered, or an
    /// archive from being deleted. Give that right to whom you trust so far.
    public var fileMode: UInt32 = 0o600

    /// The group of files and directories that the store makes: its name, or its number in decimal
    /// digits, as chown(1) takes them. Nil, the default: as the system has it, which is the
    /// process's own, or the directory's where that has the set-group-ID bit. System calls:
    /// getgrnam_r(3), fchown(2).
    ///
    /// Unless the process is privileged, its user has to be a member. See ``fileMode``.
    public var fileGroup: String?

    /// What is true of all records of the process, by name: a version, an environment, a device, a
    /// user. Recorded once, and shown by all readers with each record, or once for all of them:
    /// OpenTelemetry's *resource*, whose names are best used.
    ///
    /// ```swift
    /// var configuration = LogStore.Configuration()
    /// configuration.fields = ["service.version": "1.4.2", "deployment.environment.name": "test"]
    /// ```
    ///
    /// What the machine says is added, unless there is a field of that name: `systemd.unit`,
    /// `container.id` and `k8s.pod.uid`, as /proc/self/cgroup has them. All together may take a
    /// quarter of ``dictionarySize``. Default: none.
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

    /// How much of the dictionary has room on the disk from the beginning.
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
