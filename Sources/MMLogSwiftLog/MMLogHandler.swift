#if SwiftLog
  public import Logging
  public import MMLog

  /// A backend for swift-log that records into a ``/MMLog/LogStore``.
  ///
  /// ```swift
  /// import Logging
  /// import MMLogSwiftLog
  ///
  /// let store = try LogStore(directory: "/var/log/orders", name: "orders")
  /// LoggingSystem.bootstrap { MMLogHandler(label: $0, store: store) }
  /// ```
  ///
  /// Everything that a logger of swift-log is given is recorded: the message as one text, metadata
  /// with its structure (and integers, floating-point numbers and Booleans with their types), what
  /// an error says of itself as `error.message` and `error.type`, as swift-log's own handler has
  /// it, and the source, if one is given, as `source`. If the logger's metadata, its provider's and
  /// the event's have the same key, the event's wins, then the provider's.
  ///
  /// A handler is a value, as swift-log wants it: changes of a copy change no other. Calls may be
  /// made from any thread and task, in `deinit` and while the process exits. After
  /// `LogStore.close()` calls are dropped and counted. Loggers that were made before the bootstrap
  /// keep the handler that swift-log gave them, which prints.
  ///
  /// A call neither locks nor enters the kernel, and allocates nothing itself. swift-log's message
  /// is a `String`, which is made before the call, and texts of other types in the metadata are
  /// made during the call. To record typed arguments, use ``/MMLog/LogStore``'s own loggers.
  public struct MMLogHandler: LogHandler {
    private let logger: MMLog.Logger
    private var ownLevel: Logging.Logger.Level?

    /// Metadata that goes with every message of this handler.
    public var metadata: Logging.Logger.Metadata = [:]

    /// Gives metadata for a message when it is logged, such as metadata in a task-local value.
    public var metadataProvider: Logging.Logger.MetadataProvider?

    /// Which values are private, by their attributes. Default: ``ValuePrivacy``, if a value has
    /// that attribute; else a value is public.
    ///
    /// ```swift
    /// LoggingSystem.bootstrap { label in
    ///   var handler = MMLogHandler(label: label, store: store)
    ///   handler.privacy = { $0[ValuePrivacy.self] == .public ? .public : .private }
    ///   return handler
    /// }
    /// ```
    ///
    /// Texts, numbers, Booleans and what an error says of itself (`error.message`) have no
    /// attributes: the closure's answer for empty attributes holds for them. `auto` counts as
    /// `private`. Messages, keys, `error.type` and `source` are always public.
    public var privacy: @Sendable (Logging.Logger.MetadataValueAttributes) -> Privacy = {
      $0[ValuePrivacy.self]?.privacy ?? .public
    }

    /// Whether the source that a call gives, as in `logger.info("…", source: "Matching")`, is
    /// recorded as `source`. Default: it is.
    ///
    /// It takes some 30 ns to find out whether a call gives one, which swift-log does not say. If
    /// no call does, `false` saves that time.
    public var recordsSource = true

    /// Makes a handler for one label.
    ///
    /// - Parameters:
    ///   - label: Names the part of the service that logs. Handlers of the same label share the
    ///     level that the store has for it. Labels are few: each new label is kept for the life of
    ///     the process, and at most 65,535 are distinguished. What varies, such as a connection's
    ///     number, is metadata.
    ///   - store: Where records go. The handler keeps it from being freed, not from being closed;
    ///     after `LogStore.close()`, records are dropped and counted.
    ///   - metadataProvider: Gives metadata at each message. Default: what swift-log was
    ///     bootstrapped with.
    /// - Complexity: O(1) if the label is known already.
    public init(
      label: String, store: LogStore,
      metadataProvider: Logging.Logger.MetadataProvider? = LoggingSystem.metadataProvider
    ) {
      logger = store.logger(label: label)
      self.metadataProvider = metadataProvider
    }

    /// The lowest level that is recorded.
    ///
    /// Until it is set, this is the store's present level for the label
    /// (``/MMLog/LogStore/setLevel(_:for:)``). Afterwards it is the level that was set, for this
    /// handler and its copies. While somebody outside has set another level (`mmlogctl set-level`),
    /// it is that level.
    public var logLevel: Logging.Logger.Level {
      get {
        if let level = logger.levelFromOutside { return Logging.Logger.Level(level) }
        return ownLevel ?? Logging.Logger.Level(logger.level)
      }
      set { ownLevel = newValue }
    }

    /// Whether nothing is recorded except single statements that somebody outside has turned on.
    private var isOff: Bool {
      if let level = logger.levelFromOutside { return level == .off }
      return ownLevel == nil && logger.level == .off
    }

    /// A value of ``metadata``.
    public subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    /// Records an event. Called by swift-log, which has compared the levels.
    public func log(event: Logging.LogEvent) {
      let (level, line) = (Level(event.level), UInt32(clamping: event.line))
      // swift-log has no level `off`: critical events come here even then.
      if level == .critical && isOff { return }
      let provided = metadataProvider?.get()
      let own = ownLevel.map { Level($0) }
      guard logger.acquireWriter(level, file: event.file, line, ownLevel: own) else { return }
      logger.record(
        event.message.description, level, file: event.file, function: event.function, line
      ) {
        writeFields(of: event, provided, to: &$0)
      }
    }

    /// Records an event. Called by handlers that pass an event on in the form that swift-log had
    /// before `LogEvent`.
    ///
    /// swift-log's own implementations of the older methods call only each other.
    @available(*, deprecated, renamed: "log(event:)")
    public func log(
      level: Logging.Logger.Level, message: Logging.Logger.Message,
      metadata: Logging.Logger.Metadata?, source: String, file: String, function: String, line: UInt
    ) {
      log(
        event: Logging.LogEvent(
          level: level, message: message, metadata: metadata, source: source, file: file,
          function: function, line: line))
    }
  }

  /// Says of a metadata value whether it is written to disk.
  ///
  /// ```swift
  /// import Logging
  /// import MMLogSwiftLog
  ///
  /// let hashed = Logger.MetadataValue.attributed("\(user)", attributes: [ValuePrivacy.hash])
  /// logger.info("signed in", metadata: ["user": hashed])
  /// ```
  public enum ValuePrivacy: Int64, Logging.Logger.MetadataValueAttributes.Attribute {
    /// It is written.
    case `public` = 0
    /// Nothing of it is ever written; `<private>` is shown in its place.
    case `private` = 1
    /// A keyed hash is written, which is equal for equal values of a session.
    case hash = 2
    /// Its text is written, encrypted: see `Logger.Privacy.sealed`.
    case sealed = 3

    var privacy: MMLog.Logger.Privacy {
      switch self {
      case .public: .public
      case .private: .private
      case .hash: .hash
      case .sealed: .sealed
      }
    }
  }

  extension Logging.Logger.Level {
    /// swift-log's level of the same name; `critical` for `off`, which swift-log does not have.
    public init(_ level: Level) {
      self =
        switch level {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical, .off: .critical
        }
    }
  }

  extension Level {
    /// The level of the same name as swift-log's.
    public init(_ level: Logging.Logger.Level) {
      self =
        switch level {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }
  }
#endif
