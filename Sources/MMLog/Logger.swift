public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

/// Writes records under a label. A value: copy it, pass it, keep it; all loggers of a label share
/// its level.
///
/// A log call evaluates its message only if its level is recorded. It then costs a few nanoseconds:
/// the arguments go in binary into memory that the kernel owns, and when the call returns, the
/// record survives the process. Texts are made by the decoder. No call allocates, locks, counts
/// references or enters the kernel, except where it says so; a call that meets a full ring does
/// what ``LogStore/FullRingPolicy`` says.
///
/// Calls may be made from any thread, inside the message of another log call, in `deinit`, in
/// destructors of an ending thread's values, in `atexit` handlers, and in signal handlers (with
/// messages of at most eleven arguments, and none that allocates). They leave `errno` as it was.
/// After `LogStore.close()` they drop and count their records. A child of `fork()` opens a ring of
/// its own at its first call, with locks and system calls: log once after the fork, before a signal
/// handler of the child may.
@frozen
public struct Logger: @unchecked Sendable {
  // Sendable: the label's state is immortal, and touched by atomic operations only.
  /// What the log call reads. Of a logger with a context, not its label's.
  @usableFromInline let label: UnsafeMutablePointer<mmlog_label>
  /// What goes with each of its records; nil: nothing.
  @usableFromInline let context: LogContext?

  @inlinable @inline(__always)
  package init(_ label: UnsafeMutablePointer<mmlog_label>) { (self.label, context) = (label, nil) }

  init(_ context: LogContext) { (label, self.context) = (mmlog_label_of_bound(), context) }

  /// With a label as ``label`` has it.
  init(_ label: UnsafeMutablePointer<mmlog_label>, _ context: LogContext?) {
    (self.label, self.context) = (label, context)
  }

  /// What loggers of the label share, which is never freed.
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
  /// - Complexity: O(1), under a lock, if there is a logger of that label already; else it
  ///   allocates, and enters the label into the ring. Keep the logger, do not make one for each
  ///   call. Not for signal handlers.
  public init(label: String) { self.init(DefaultStore.label(label)) }

  /// The lowest level that is recorded, shared by all loggers of this label; `off`: none is.
  ///
  /// As long as somebody outside has set another (`mmlogctl set-level`), it is that one; what
  /// is set here counts afterwards. Any thread and signal handler.
  public var level: Level {
    get { Self.level(of: mmlog_level_word(shared)) }
    nonmutating set { mmlog_set_level(shared, UInt32(newValue.rawValue)) }
  }

  private static func level(of word: UInt32) -> Level {
    Level(rawValue: UInt8(truncatingIfNeeded: mmlog_level_of_word(word))) ?? .critical
  }

  /// The lowest level that calls have to be made with, if somebody outside has a say in that; else
  /// nil. It is `trace` if single statements are turned on: which they are is found out later.
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

  /// Whether a record of this level may be made. True of all levels while somebody outside has
  /// turned on a single statement (`mmlogctl enable`): only its log call knows which it is.
  @inlinable @inline(__always)
  public func isEnabled(_ level: Level) -> Bool { Self.isEnabled(level, shared) }

  /// Whether a log call has to go on: with a context, it finds out later whether the level is
  /// recorded.
  @inlinable @inline(__always)
  func mayRecord(_ level: Level) -> Bool { Self.isEnabled(level, label) }

  @inlinable @inline(__always)
  static func isEnabled(_ level: Level, _ label: UnsafeMutablePointer<mmlog_label>) -> Bool {
    // The first is known where the level is. Whoever sees a level that lets all pass sees the gate,
    // too, that was stored before it and no writer has: see `control` in mmlog_switches.c.
    level < .off && UInt32(level.rawValue) >= mmlog_load_acquire_u32(&label.pointee.level)
  }
}
