import MMLogFormat

/// A part of a session in the order of its ticks: a frame, a segment, or a note between them.
class Run {
  /// Where the next item belongs. It rises only: a record whose ticks are before those of the one
  /// before it takes those (FORMAT.md, 5).
  fileprivate(set) var ticks: UInt64

  /// What turns the ticks into wall time.
  let clock: TickClock

  /// The file that it is of.
  let path: String

  init(path: String, ticks: UInt64, clock: TickClock) {
    self.path = path
    self.ticks = ticks
    self.clock = clock
  }

  /// Takes the next item; nil at the end.
  func next() -> RunItem? { nil }

  /// Moves on to the ticks of the item that is next now.
  final func move(to ticks: UInt64) { self.ticks = max(self.ticks, ticks) }

  final func damage(_ offset: Int, _ size: Int, _ what: String) -> LogDamage {
    LogDamage(path: path, offset: offset, size: size, what: what)
  }
}

/// What a run gives.
enum RunItem {
  case record(RunRecord)
  case damage(LogDamage)
  /// None this time: the run has got ready, and its first item may come later than it seemed.
  case nothing
}

/// A record or a fragment as a run has it.
struct RunRecord {
  let view: RecordView
  let ticks: UInt64
  /// Where it, or the frame that it is in, begins in the file.
  let offset: Int
  let thread: LogThread
  /// What keeps the view's memory.
  let owner: AnyObject
}

/// Damage that stands between frames or segments.
final class NoteRun: Run {
  private var item: LogDamage?

  init(_ damage: LogDamage, ticks: UInt64, clock: TickClock) {
    item = damage
    super.init(path: damage.path, ticks: ticks, clock: clock)
  }

  override func next() -> RunItem? {
    defer { item = nil }
    return item.map { .damage($0) }
  }
}

/// The threads of a session, each one object.
final class ThreadTable {
  private var threads: [ThreadIdentity: LogThread] = [:]
  private var names: [UInt32: String] = [:]

  /// The thread with that identity. Where the identity has no name, as in segments that threads share,
  /// it gets the one that the thread's ordinal had elsewhere.
  func thread(_ identity: ThreadIdentity) -> LogThread {
    if let thread = threads[identity] { return thread }
    if !identity.name.isEmpty { names[identity.ordinal] = identity.name }
    let name = identity.name.isEmpty ? names[identity.ordinal] ?? "" : identity.name
    let thread = LogThread(ordinal: identity.ordinal, id: identity.id, name: name)
    threads[identity] = thread
    return thread
  }
}
