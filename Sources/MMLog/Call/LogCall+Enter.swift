public import CMMLogWriter
public import MMLogFormat
import MMLogSystem
import Synchronization

/// The level and the place of a log statement, to find out whether it is turned on.
@frozen
@usableFromInline
struct StatementPlace {
  @usableFromInline let file: UnsafePointer<UInt8>
  /// The level, the size of the file's name in 24 bits, and the line: one constant of the
  /// statement. In this order, its value is far from that of other constants. The compiler would
  /// compute it from a near one before it is needed.
  @usableFromInline let detail: UInt64

  @inlinable @inline(__always)
  init(_ level: Level, _ file: UnsafePointer<UInt8>, count: Int, line: UInt32) {
    self.file = file
    detail =
      UInt64(level.rawValue) << 56 | UInt64(truncatingIfNeeded: count & 0xFF_FFFF) << 32
      | UInt64(line)
  }

  @inlinable @inline(__always)
  init(_ level: Level, _ file: StaticString, _ line: UInt32) {
    self.init(level, file.utf8Start, count: file.utf8CodeUnitCount, line: line)
  }

  /// The level that was put in, so nothing has to be checked.
  var level: Level { unsafeBitCast(UInt8(detail >> 56), to: Level.self) }
  private var fileSize: Int { Int(detail >> 32 & 0xFF_FFFF) }
  private var line: UInt32 { UInt32(truncatingIfNeeded: detail) }

  /// Whether the statement is to be recorded. For a label that has a rate limit, or of which single
  /// statements are turned on.
  ///
  /// - Parameters:
  ///   - lowest: The level from which on statements are recorded, as often as the label's limit
  ///     allows.
  ///   - key: A key of the statement; nil: the address of its file's name.
  func passes(
    above lowest: Level, of label: UnsafeMutablePointer<mmlog_label>, key: UInt64? = nil
  ) -> Bool {
    if level < lowest { return mmlog_passes_switch(label, file, fileSize, line) }
    if !mmlog_is_limited(label) { return true }
    let key = key ?? UInt64(UInt(bitPattern: file))
    return mmlog_is_within_limit(label, Self.key(key, detail, label), Clock.monotonic())
  }

  /// Whether the statement is turned on, although its level is off. Counts nothing.
  func isTurnedOn(of label: UnsafeMutablePointer<mmlog_label>) -> Bool {
    mmlog_would_pass_switch(label, file, fileSize, line)
  }

  /// The key of a statement of a label.
  private static func key(
    _ file: UInt64, _ detail: UInt64, _ label: UnsafeMutablePointer<mmlog_label>
  ) -> UInt64 {
    var key = (file ^ detail) &* 0x9E37_79B9_7F4A_7C15
    key ^= key >> 32 ^ UInt64(UInt(bitPattern: label))
    return key &* 0xD6E8_FEB8_6659_FD93 | 1
  }
}

extension Logger {
  /// Finds a writer for a log call that does not have the usual one at hand, unless the call's
  /// statement is off.
  ///
  /// - Returns: False if there is to be no record. The record is then counted, unless its statement
  ///   is off.
  @inlinable @inline(__always)
  func enter(at place: StatementPlace) -> Bool { label.enter(context, place) }

  /// As ``enter(at:)``, for a place that is known at run time only.
  @inline(never)
  func enter(_ level: Level, file: String, _ line: UInt32, _ ownLevel: Level?) -> Bool {
    let label = shared
    guard mmlog_is_controlled(label) else { return enter(level) }
    let lowest = ownLevel.map { self.level(unlessOverridden: $0) } ?? self.level
    let key = mmlog_is_limited(label) ? SiteHash.hash(of: file) : nil
    var file = file
    let passes = file.withUTF8 { file in
      // An empty text may have no address.
      guard let start = file.baseAddress else { return level >= lowest }
      return StatementPlace(level, start, count: file.count, line: line)
        .passes(above: lowest, of: label, key: key)
    }
    return passes && enter(level)
  }

  /// Finds a writer for a log call that does not have the usual one at hand, or whose record gets
  /// more than the call itself says.
  ///
  /// - Returns: False if there is to be no record. The record is then counted, unless its level is
  ///   off.
  @usableFromInline @inline(never)
  func enter(_ level: Level) -> Bool { findWriter(level, shared) }

  /// As ``enter(_:)``, for the end of a span, which is recorded whatever the level is by now.
  @usableFromInline @inline(never)
  func enter(ofEnd level: Level) -> Bool { findWriter(level, shared, isEnd: true) }

  @inline(__always)
  fileprivate func findWriter(
    _ level: Level, _ label: UnsafeMutablePointer<mmlog_label>, isEnd: Bool = false
  ) -> Bool {
    if context != nil, !isEnd, !Self.isEnabled(level, label) { return false }
    guard let writer = LogCall.usualWriter(label) ?? LogCall.findWriter(label, level) else {
      return false
    }
    // The task's context is looked for only if this bit is set, because that is a call of the
    // runtime.
    let bound = context?.encoded
    let gate = UInt(bitPattern: mmlog_load_gate(label))
    if gate & UInt(MMLOG_GATE_CONTEXTS) != 0, let ofTask = LogContext.ofTask {
      // The task's value keeps the context alive until the call ends.
      return withExtendedLifetime(ofTask.context) {
        let encoded = ofTask.context.encoded
        return LogCall.bind(
          writer, label, bound ?? encoded, bound == nil ? nil : encoded, at: ofTask.place)
      }
    }
    guard let bound else { return true }
    return LogCall.bind(writer, label, bound, nil)
  }
}

extension UnsafeMutablePointer<mmlog_label> {
  /// Finds a writer for a call of a logger with this label, and with a context if it has one.
  @usableFromInline @inline(never)
  func enter(_ context: LogContext?, _ place: StatementPlace) -> Bool {
    // The usual call of a logger with a context. If the label's gate is that of the writer, nothing
    // else has to be looked for. `label` and `encoded` are read at once: otherwise the context
    // would be retained meanwhile.
    if let label = context?.label, let encoded = context?.encoded,
      Logger.isEnabled(place.level, label), Logger(label).acquireWriter()
    {
      return LogCall.bind(mmlog_current_writer(), label, encoded, nil)
    }
    return findWriter(context, place)
  }

  /// The same for calls that ``enter(_:_:)`` leaves. Takes the same arguments in the same
  /// registers.
  @inline(never)
  private func findWriter(_ context: LogContext?, _ place: StatementPlace) -> Bool {
    let logger = Logger(self, context)
    let label = logger.shared
    if mmlog_is_controlled(label), !place.passes(above: logger.level, of: label) { return false }
    return logger.findWriter(place.level, label)
  }
}

/// The outlined twins of a log call: everything that is not the usual case. All are
/// async-signal-safe, and so leave errno as it was.
@usableFromInline
enum LogCall {
  /// The writer that this thread used last, made busy; nil if it is busy already, or writes for
  /// another store.
  fileprivate static func usualWriter(
    _ label: UnsafeMutablePointer<mmlog_label>
  ) -> UnsafeMutablePointer<mmlog_writer>? {
    let writer = mmlog_current_writer()
    if mmlog_is_busy_here(writer) { return nil }
    mmlog_begin_busy(writer)
    // As in a log call that is not outlined.
    if let gate = writer.pointee.gate, Session.isOpen(gate, to: label),
      mmlog_current_writer() == writer
    {
      return writer
    }
    mmlog_end_busy(writer)
    return nil
  }

  /// Finds a writer for a log call whose thread has none at hand: its first call, a change of
  /// stores, a call inside another, a store that is closed or was left behind by `fork()`.
  ///
  /// - Returns: Nil if there is to be no record. The record is then counted.
  fileprivate static func findWriter(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level
  ) -> UnsafeMutablePointer<mmlog_writer>? {
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    guard let store = StoreCore.of(label) else {
      DefaultStore.countLoss(level, of: label)
      return nil
    }
    guard let session = store.currentSession() else {
      store.countLossWithoutRing(level)
      return nil
    }
    guard let block = ThreadRegistry.find(session.identity) ?? session.attachThread() else {
      store.countLossWithoutRing(level)
      return nil
    }
    guard let writer = freeWriter(of: block) else {
      // All writers are busy, so the session has not ended, and its ring is still there.
      session.ring.countLoss(.tooDeep, level)
      return nil
    }
    guard begin(writer, label, session) else {
      store.countLossWithoutRing(level)
      return nil
    }
    return writer
  }

  /// What ``Logger/Privacy/auto`` means for texts in the call that a writer is busy with.
  @usableFromInline @inline(never)
  static func autoPrivacy(_ writer: UnsafeMutablePointer<mmlog_writer>) -> Logger.Privacy {
    Session.of(writer.pointee.thread)?.autoPrivacy ?? .private
  }

  /// The first of a thread's writers that is not in the middle of a call, made busy.
  private static func freeWriter(of block: ThreadBlock) -> UnsafeMutablePointer<mmlog_writer>? {
    // Not `for in`: without optimization, an iterator allocates, and this may be a signal handler.
    var depth: UInt32 = 0
    while depth < MMLOG_DEPTHS {
      let writer = mmlog_writer_at(block, depth)
      if !mmlog_is_busy_here(writer) {
        mmlog_begin_busy(writer)
        return writer
      }
      depth += 1
    }
    return nil
  }

  /// Makes a busy writer the current one; false if the store was closed just now.
  private static func begin(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ label: UnsafeMutablePointer<mmlog_label>,
    _ session: Session
  ) -> Bool {
    guard session.isOpen(to: label) else {
      mmlog_end_busy(writer)
      return false
    }
    let interrupted = openWriter(otherThan: writer)
    writer.pointee.outer = interrupted
    writer.pointee.record_flags = 0
    writer.pointee.lost = 0
    // A thread may have ended in the middle of a call.
    (writer.pointee.has_waited, writer.pointee.wait_end) = (0, 0)
    writer.pointee.context = nil
    writer.pointee.gate = session.gate
    // A call inside another always comes to the outlined commit, which goes back to the outer
    // writer. It must not change the outer call's cache between two loads of that call.
    if interrupted == nil { writer.useSites() } else { writer.pointee.sites = mmlog_no_sites() }
    if session.ring.streams != nil {
      WriterSpace.buildBeside(writer)
    } else if writer.pointee.has_segment == 0 && !WriterSpace.nextSegment(writer, session) {
      WriterSpace.useScratch(writer, 0)
    }
    mmlog_set_current_writer(writer)
    return true
  }

  /// The writer of the call that is open on this thread, if there is one.
  private static func openWriter(
    otherThan writer: UnsafeMutablePointer<mmlog_writer>
  ) -> UnsafeMutablePointer<mmlog_writer>? {
    let current = mmlog_current_writer()
    let isOpen = mmlog_is_busy_here(current) && current != mmlog_nobody() && current != writer
    return isOpen ? current : nil
  }
}

extension Session {
  /// Identifies the session in a thread's blocks.
  var identity: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

  /// The session that a block belongs to, or nil after its end.
  static func of(_ block: ThreadBlock) -> Session? {
    unmanaged(of: block)?.takeUnretainedValue()
  }

  /// As ``of(_:)``, for callers that count no references: a session is never deallocated.
  @inline(__always)
  static func unmanaged(of block: ThreadBlock) -> Unmanaged<Session>? {
    mmlog_load_session(block).map { Unmanaged.fromOpaque($0) }
  }

  func attachThread() -> ThreadBlock? { threads.attach(to: identity) }
}
