import CMMLogC
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// Passes events to a function in C.
///
/// No lock is held while the function runs: it may take its time, and the process may fork
/// meanwhile.
///
/// Proof of `@unchecked Sendable`: what changes is atomic. The program says that the store may call
/// its function on a thread of its own.
final class EventHandler: LogStore.Observer, @unchecked Sendable {
  private let function:
    @convention(c) (UnsafePointer<mmlog_event>?, UnsafeMutableRawPointer?) -> Void
  private let context: UnsafeMutableRawPointer?
  private let isRunning = Atomic<Bool>(false)
  private let isOver = Atomic<Bool>(false)

  /// Nil if the options have no function.
  init?(_ options: mmlog_options) {
    guard let function = options.on_event else { return nil }
    (self.function, context) = (function, options.context)
  }

  func handle(_ event: LogStore.Event) {
    // Either this function sees what `stop` has stored, or `stop` sees what this function has
    // stored.
    isRunning.store(true, ordering: .sequentiallyConsistent)
    defer { isRunning.store(false, ordering: .releasing) }
    if isOver.load(ordering: .sequentiallyConsistent) { return }
    event.textInC.withCString { text in
      event.path.withCString { path in
        var inC = mmlog_event(
          size: MemoryLayout<mmlog_event>.size, kind: event.kind,
          is_trouble: event.trouble != nil, text: text, path: path, number: event.number,
          system_error: event.systemError)
        function(&inC, context)
      }
    }
  }

  /// Makes no new calls of the function. A call that is under way goes on.
  func end() { isOver.store(true, ordering: .sequentiallyConsistent) }

  /// As ``end()``, and waits until a call that is under way returns. The function itself must not
  /// call this.
  func stop() {
    end()
    while isRunning.load(ordering: .sequentiallyConsistent) { Sleep.nanoseconds(1_000_000) }
  }
}

// Events as C has them: see mmlog_event_kind.
extension LogStore.Event {
  /// The text as a program in C understands it.
  var textInC: String {
    switch self {
    case .failed(let error): error.messageInC
    case .limitExceeded(let rule, _), .willDelete(_, let rule), .deleted(_, let rule):
      withNamesInC(text, rule)
    default: text
    }
  }

  fileprivate var kind: mmlog_event_kind {
    switch self {
    case .failed: MMLOG_EVENT_FAILED
    case .resumed: MMLOG_EVENT_RESUMED
    case .stalled: MMLOG_EVENT_STALLED
    case .dropped: MMLOG_EVENT_DROPPED
    case .takenAway: MMLOG_EVENT_TAKEN_AWAY
    case .lowSpace: MMLOG_EVENT_LOW_SPACE
    case .limitExceeded: MMLOG_EVENT_LIMIT_EXCEEDED
    case .notDeleted: MMLOG_EVENT_NOT_DELETED
    // There is no other tap in C.
    case .tapFailed: MMLOG_EVENT_CONSOLE_FAILED
    case .tapResumed: MMLOG_EVENT_CONSOLE_RESUMED
    case .ringFilling: MMLOG_EVENT_RING_FILLING
    case .pendingReached: MMLOG_EVENT_PENDING_REACHED
    case .sizeReached: MMLOG_EVENT_SIZE_REACHED
    case .willRotate: MMLOG_EVENT_WILL_ROTATE
    case .rotated: MMLOG_EVENT_ROTATED
    case .sealed: MMLOG_EVENT_SEALED
    case .willDelete: MMLOG_EVENT_WILL_DELETE
    case .deleted: MMLOG_EVENT_DELETED
    case .recovered: MMLOG_EVENT_RECOVERED
    case .captured: MMLOG_EVENT_CAPTURED
    case .levelsSet: MMLOG_EVENT_LEVELS_SET
    case .notUploaded: MMLOG_EVENT_OTHER
    }
  }

  fileprivate var path: String {
    switch self {
    case .willRotate(let archive, _), .rotated(let archive), .takenAway(let archive): archive
    case .sealed(let archive), .willDelete(let archive, _), .deleted(let archive, _),
      .notDeleted(let archive, _), .notUploaded(let archive, _):
      archive.path
    case .failed(let error): error.path
    default: ""
    }
  }

  fileprivate var number: UInt64 {
    switch self {
    case .stalled(let duration): UInt64(clamping: duration.nanoseconds / 1_000_000)
    case .dropped(let losses): losses.lostCount
    case .limitExceeded(_, let kept): UInt64(clamping: kept.values.reduce(0, +))
    case .tapResumed(_, let missed): missed
    case .ringFilling(let fraction): UInt64(fraction * 100)
    case .lowSpace(let bytes), .pendingReached(let bytes), .sizeReached(let bytes):
      UInt64(clamping: bytes)
    case .recovered(let session): UInt64(clamping: session.recordCount)
    case .captured(let count, _): UInt64(clamping: count)
    default: 0
    }
  }

  fileprivate var systemError: Int32 {
    switch self {
    case .failed(let error), .notDeleted(_, let error): error.systemErrorNumber
    case .tapFailed(_, let error): (error as? SystemError)?.errno ?? 0
    default: 0
    }
  }
}
