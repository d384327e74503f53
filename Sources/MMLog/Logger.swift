public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

/// Writes records under a label. A logger is a value: copy it, pass it, keep it. All loggers of a
/// label share its level.
///
/// A log call evaluates its message only if its level is recorded. It then costs a few nanoseconds:
/// the arguments go in binary into memory that the kernel owns, and when the call returns, the
/// record survives the process. The decoder makes the texts. No call allocates, locks, counts
/// references or enters the kernel, unless its documentation says so. A call that finds the ring
/// full does what ``LogStore/FullRingPolicy`` says.
///
/// Calls may be made from any thread, inside the message of another log call, in `deinit`, in
/// destructors of an ending thread's values, in `atexit` handlers, and in signal handlers (with
/// messages of at most eleven arguments, and none that allocates). They leave `errno` as it was.
/// After `LogStore.close()`, calls drop and count their records. A child of `fork()` opens a ring
/// of its own at its first call, which takes locks and makes system calls. Log once after the fork,
/// before a signal handler of the child may log.
@frozen
public struct Logger: @unchecked Sendable {
  // Sendable: the label's state is never freed, and only atomic operations touch it.
  /// The state that log calls read. In a logger with a context, this is not the state of its own
  /// label, which the context has.
  @usableFromInline let label: UnsafeMutablePointer<mmlog_label>
  /// The fields, span and trace that each of the logger's records has; nil: none.
  @usableFromInline let context: LogContext?

  @inlinable @inline(__always)
  package init(_ label: UnsafeMutablePointer<mmlog_label>) { (self.label, context) = (label, nil) }

  init(_ context: LogContext) { (label, self.context) = (mmlog_label_of_bound(), context) }

  /// - Parameter label: As in the property ``label``.
  init(_ label: UnsafeMutablePointer<mmlog_label>, _ context: LogContext?) {
    (self.label, self.context) = (label, context)
  }

  /// The state that all loggers of the label share. It is never freed.
  @inlinable
  package var shared: UnsafeMutablePointer<mmlog_label> { context?.label ?? label }

  /// A logger of the default store (``LogStore/makeDefault()``), which need not be open yet.
  ///
  /// ```swift
  /// private let log = Logger(label: "orders.matching")
  /// ```
  ///
  /// Until there is a default store, records are dropped and counted.
  ///
  /// - Parameter label: Names the part of the service that logs.
  /// - Complexity: O(1), under a lock, if the label has a logger already. If not, it allocates, and
  ///   enters the label into the ring. Keep the logger, do not make one for each call. Not for
  ///   signal handlers.
  public init(label: String) { self.init(DefaultStore.label(label)) }

  /// The lowest level that is recorded, shared by all loggers of this label; `off`: no level is
  /// recorded.
  ///
  /// While somebody outside has set a level (`mmlogctl set-level`), that level counts. A level that
  /// the program sets meanwhile counts afterwards. Any thread and signal handler.
  public var level: Level {
    get { Self.level(of: mmlog_level_word(shared)) }
    nonmutating set { mmlog_set_level(shared, UInt32(newValue.rawValue)) }
  }

  private static func level(of word: UInt32) -> Level {
    Level(rawValue: UInt8(truncatingIfNeeded: mmlog_level_of_word(word))) ?? .critical
  }

  /// The lowest level at which calls have to be made, if somebody outside has changed it; else nil.
  /// It is `trace` while single statements are turned on: a later check finds out which statements.
  package var levelFromOutside: Level? {
    let word = mmlog_level_word(shared)
    if word & (MMLOG_OVERRIDDEN | MMLOG_SWITCHED) == 0 { return nil }
    return word & MMLOG_SWITCHED != 0 ? .trace : Self.level(of: word)
  }

  /// The level if somebody outside has set it; else `own`.
  func level(unlessOverridden own: Level) -> Level {
    let word = mmlog_level_word(shared)
    return word & MMLOG_OVERRIDDEN != 0 ? Self.level(of: word) : own
  }

  /// Returns whether a log call of this level may be recorded. True for all levels while somebody
  /// outside has turned on a single statement (`mmlogctl enable`): only the log call itself can
  /// tell whether it is that statement.
  @inlinable @inline(__always)
  public func isEnabled(_ level: Level) -> Bool { Self.isEnabled(level, shared) }

  /// Whether a log call has to go on. If the logger has a context, the call finds out later whether
  /// the level is recorded.
  @inlinable @inline(__always)
  func mayRecord(_ level: Level) -> Bool { Self.isEnabled(level, label) }

  @inlinable @inline(__always)
  static func isEnabled(_ level: Level, _ label: UnsafeMutablePointer<mmlog_label>) -> Bool {
    // The first comparison is done at compile time where the level is known then. A thread that
    // sees a level that lets all pass also sees the gate that was stored before that level, and
    // that no writer has: see `control` in mmlog_switches.c.
    level < .off && UInt32(level.rawValue) >= mmlog_load_acquire_u32(&label.pointee.level)
  }
}
