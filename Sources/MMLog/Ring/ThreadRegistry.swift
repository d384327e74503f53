import CMMLogCore
import CMMLogWriter
import MMLogCrash
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// What one thread has for one session: its writers and its cache of call sites.
typealias ThreadBlock = UnsafeMutablePointer<mmlog_thread>

/// The blocks of a session's threads: made at a thread's first log call, left behind at its exit
/// for a later thread.
///
/// Proof of `@unchecked Sendable`: the list only grows while the session lasts, by
/// compare-and-exchange; a block belongs to the thread that set its `in_use`, or to the pool.
final class ThreadRegistry: @unchecked Sendable {
  private let head: UnsafeMutablePointer<UInt64>
  /// The newest ordinal of a thread.
  let ordinals = Atomic<UInt32>(0)
  /// The newest ordinal that ``ordinal(in:)`` has given, in the low half, and the id of its thread
  /// in the high half.
  private let newestOther = Atomic<UInt64>(0)
  private let blocks = Atomic<UInt64>(0)
  private let session: SessionID
  private let archiveLevel: Level
  /// Whether the session has ended. Under the lock of ``BlockPool``.
  fileprivate private(set) var isDissolved = false

  /// - Parameter archiveLevel: Records below it are flight records, which have no numbers.
  init(of session: SessionID, archiveLevel: Level) {
    (self.session, self.archiveLevel) = (session, archiveLevel)
    head = .allocate(capacity: 1)
    head.initialize(to: 0)
  }

  deinit { head.deallocate() }

  /// What the calling thread has for `session`, or nil if it has not logged for it yet.
  static func find(_ session: UnsafeRawPointer) -> ThreadBlock? {
    var block = mmlog_threads()
    while let found = block {
      if mmlog_load_session(found) == session { return found }
      block = found.pointee.next_of_thread
    }
    return nil
  }

  /// Makes what the calling thread needs for `session`. Async-signal-safe; nil if there is no
  /// memory.
  ///
  /// The session may have ended meanwhile: then its gate is closed, no record comes into the block,
  /// and the block becomes free when the thread ends.
  func attach(to session: UnsafeRawPointer) -> ThreadBlock? {
    guard let block = reuse(for: session) ?? link(BlockPool.take()) else { return nil }
    TestPoint.reach(.blockTaken)
    block.pointee.ordinal = nextOrdinal()
    block.pointee.thread_id = UInt32(bitPattern: CurrentProcess.threadID())
    var name: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &name) { _ = CurrentProcess.threadName(into: $0) }
    block.pointee.name = name
    Self.prepareWriters(of: block)
    CrashArea.guardThread()
    mmlog_store_session(block, session)
    BlockPool.linkToThread(block)
    // Until here, no signal handler of this thread was to take the block.
    mmlog_store_release_u32(&block.pointee.in_use, BlockPool.inUse)
    return block
  }

  /// Makes a block that no thread owns: several threads use its writers.
  ///
  /// - Parameter old: Such a block of an ended session; nil to make a new one.
  /// - Returns: nil if there is no memory.
  func makeShared(from old: ThreadBlock? = nil) -> ThreadBlock? {
    guard let block = old ?? BlockPool.allocate() else { return nil }
    Self.prepareWriters(of: block)
    numberWriters(of: block)
    return block
  }

  private static func prepareWriters(of block: ThreadBlock) {
    // Not `for in`: see LogCall.freeWriter.
    var depth: UInt32 = 0
    while depth < MMLOG_DEPTHS {
      WriterSpace.prepare(mmlog_writer_at(block, depth), of: block)
      depth += 1
    }
  }

  /// The calling thread's ordinal in a session. A thread that has not logged for the session yet
  /// gets an ordinal of its own, and keeps it until another such thread asks. Async-signal-safe.
  func ordinal(in session: UnsafeRawPointer) -> UInt32 {
    if let block = Self.find(session) { return block.pointee.ordinal }
    let id = UInt64(UInt32(bitPattern: CurrentProcess.threadID())) << 32
    let newest = newestOther.load(ordering: .relaxed)
    if newest != 0, newest & ~0xFFFF_FFFF == id { return UInt32(truncatingIfNeeded: newest) }
    let ordinal = nextOrdinal()
    newestOther.store(id | UInt64(ordinal), ordering: .relaxed)
    return ordinal
  }

  /// Returns the next ordinal. After the last one, ordinals begin anew, without 0, which is no
  /// thread's.
  func nextOrdinal() -> UInt32 {
    let next = ordinals.wrappingAdd(1, ordering: .relaxed).newValue
    return next == 0 ? ordinals.wrappingAdd(1, ordering: .relaxed).newValue : next
  }

  /// Calls `body` with every block that the session's threads have or had.
  func forEach(_ body: (ThreadBlock) -> Void) {
    var block = first
    while let current = block {
      block = current.pointee.next_of_session
      body(current)
    }
  }

  /// Takes all blocks away from the session, which ends.
  func dissolve() {
    BlockPool.lock.withLock {
      isDissolved = true
      var block = first
      while let current = block {
        block = current.pointee.next_of_session
        mmlog_store_session(current, nil)
        // A block that a living thread has stays with that thread, for its next session. A thread
        // may be in the middle of taking one of the other blocks.
        if Self.acquire(current) { BlockPool.release(current) }
      }
      mmlog_store_release_u64(head, 0)
    }
  }

  private var first: ThreadBlock? { ThreadBlock(bitPattern: UInt(mmlog_load_acquire_u64(head))) }

  private func reuse(for session: UnsafeRawPointer) -> ThreadBlock? {
    var block = first
    while let current = block {
      TestPoint.reach(.blockReusing)
      if Self.acquire(current) {
        let owner = mmlog_load_session(current)
        if owner == nil || owner == session { return current }
        // This session has ended, and the block is another's by now. So are the blocks behind it.
        mmlog_store_release_u32(&current.pointee.in_use, 0)
        return nil
      }
      block = current.pointee.next_of_session
    }
    return nil
  }

  /// Takes a block that a thread has left; false if it has another owner by now.
  private static func acquire(_ block: ThreadBlock) -> Bool {
    // Most blocks have a living thread. The load leaves that thread its cache line.
    if mmlog_load_relaxed_u32(&block.pointee.in_use) != 0 { return false }
    var free: UInt32 = 0
    return mmlog_compare_exchange_u32(&block.pointee.in_use, &free, BlockPool.inUse)
  }

  /// Numbers a block's writers once in a session, not again for a later thread: its spans and
  /// entries come after those of the thread before.
  private func numberWriters(of block: ThreadBlock) {
    let number = blocks.add(1, ordering: .relaxed).newValue
    // Not `for in`: see LogCall.freeWriter.
    var depth: UInt32 = 0
    while depth < MMLOG_DEPTHS {
      let writer = mmlog_writer_at(block, depth)
      writer.pointee.last_span = SpanNumber.origin(block: number, depth: depth, of: session)
      writer.pointee.id = UInt32(truncatingIfNeeded: number) &* MMLOG_DEPTHS &+ depth
      writer.pointee.number = 0
      writer.pointee.archive_level = UInt32(archiveLevel.rawValue)
      depth += 1
    }
  }

  private func link(_ block: ThreadBlock?) -> ThreadBlock? {
    guard let block else { return nil }
    numberWriters(of: block)
    var old = mmlog_load_acquire_u64(head)
    repeat {
      block.pointee.next_of_session = ThreadBlock(bitPattern: UInt(old))
    } while !mmlog_compare_exchange_u64(head, &old, UInt64(UInt(bitPattern: block)))
    return block
  }
}

/// The blocks of the process that no session has, and what happens to a thread's blocks at its
/// exit.
enum BlockPool {
  /// Keeps a session from ending while a thread that exits seals its segments. No log call takes
  /// it: the call's thread may end in a signal handler.
  static let lock = ForkSafeMutex()
  /// The free blocks. A log call takes all of them for a moment. Another one that asks meanwhile
  /// makes a new block. If the thread ends then, they stay unused.
  private static let free = Atomic<UInt>(0)
  /// The blocks of ended ``SignalLanes``, with all writers busy. They only ever become lanes again:
  /// a handler that found the session just before its end may still try to acquire a writer.
  nonisolated(unsafe) private static var freeLanes: ThreadBlock?

  /// What a block's `in_use` is while it has an owner, and while its thread takes it for another
  /// session.
  fileprivate static var inUse: UInt32 { 1 }
  private static var isTaken: UInt32 { 2 }

  /// Set before the first log call, and never again.
  nonisolated(unsafe) private static var exitHook: ThreadExit?

  /// Makes what the first log call would otherwise make. The caller has a lock.
  static func prepare() throws(SystemError) {
    _ = (lock, free.load(ordering: .relaxed))
    if exitHook == nil { exitHook = try ThreadExit { _ in BlockPool.threadExits() } }
  }

  /// Returns a block without a session or call sites: one that this thread has left over, a free
  /// one, or a new one. Async-signal-safe.
  fileprivate static func take() -> ThreadBlock? {
    guard let block = leftOver() ?? takeFree() else { return make() }
    PrivateMemory.clear(mmlog_sites_of(block), count: mmlog_sites_size())
    return block
  }

  private static func leftOver() -> ThreadBlock? {
    var own = mmlog_threads()
    while let block = own {
      if mmlog_load_session(block) == nil, claim(block) { return block }
      own = block.pointee.next_of_thread
    }
    return nil
  }

  /// Keeps a left-over block of this thread from the thread's signal handlers until the block is
  /// attached. A handler may have attached the block just before, so it is inspected once it is
  /// claimed.
  private static func claim(_ block: ThreadBlock) -> Bool {
    var state = inUse
    guard mmlog_compare_exchange_u32(&block.pointee.in_use, &state, isTaken) else { return false }
    if mmlog_load_session(block) == nil, !isBusy(block) { return true }
    mmlog_store_release_u32(&block.pointee.in_use, inUse)
    return false
  }

  /// Whether a log call that began before the end of the block's session is still open in the
  /// block.
  private static func isBusy(_ block: ThreadBlock) -> Bool {
    (0..<MMLOG_DEPTHS).contains { mmlog_is_busy_here(mmlog_writer_at(block, $0)) }
  }

  /// Returns a block for lanes, with all writers busy; nil if there is none.
  static func takeLanes() -> ThreadBlock? {
    lock.withLock {
      guard let block = freeLanes else { return nil }
      freeLanes = block.pointee.next_of_thread
      return block
    }
  }

  /// Takes back a block whose writers are all busy, acquired by the caller.
  static func releaseLanes(_ block: ThreadBlock) {
    freeMemory(of: block)
    PrivateMemory.clear(mmlog_sites_of(block), count: mmlog_sites_size())
    lock.withLock {
      block.pointee.next_of_thread = freeLanes
      freeLanes = block
    }
  }

  private static func freeMemory(of block: ThreadBlock) {
    for depth in 0..<MMLOG_DEPTHS {
      let writer = mmlog_writer_at(block, depth)
      WriterSpace.freeScratch(writer)
      WriterSpace.freeContext(writer)
    }
  }

  /// Adds a block to the free ones. The block stays in use: a thread that has found it in the list
  /// of an ending session must not take it.
  fileprivate static func release(_ block: ThreadBlock) {
    freeMemory(of: block)
    mmlog_store_session(block, nil)
    addFree(block, to: block)
  }

  /// Adds a list of blocks to the free ones.
  private static func addFree(_ first: ThreadBlock, to last: ThreadBlock) {
    var old = free.load(ordering: .relaxed)
    while true {
      last.pointee.next_of_thread = ThreadBlock(bitPattern: old)
      let (isDone, seen) = free.compareExchange(
        expected: old, desired: UInt(bitPattern: first), ordering: .acquiringAndReleasing)
      if isDone { return }
      old = seen
    }
  }

  /// Enters a block into its thread's list, unless it is there already.
  fileprivate static func linkToThread(_ block: ThreadBlock) {
    var own = mmlog_threads()
    while let other = own {
      if other == block { return }
      own = other.pointee.next_of_thread
    }
    mmlog_add_thread(block)
    exitHook?.set(UnsafeMutableRawPointer(block))
  }

  private static func takeFree() -> ThreadBlock? {
    // All at once: a single one could have been taken and added again meanwhile.
    let all = free.exchange(0, ordering: .acquiringAndReleasing)
    guard let block = ThreadBlock(bitPattern: all) else { return nil }
    guard let rest = block.pointee.next_of_thread else { return block }
    let (isDone, _) = free.compareExchange(
      expected: 0, desired: UInt(bitPattern: rest), ordering: .acquiringAndReleasing)
    if isDone { return block }
    // Blocks were added meanwhile.
    var last = rest
    while let next = last.pointee.next_of_thread { last = next }
    addFree(rest, to: last)
    return block
  }

  private static func make() -> ThreadBlock? {
    guard let block = allocate() else { return nil }
    block.pointee.in_use = inUse
    return block
  }

  /// Zeros from the kernel: no gate, no segment, no call site.
  fileprivate static func allocate() -> ThreadBlock? {
    let memory = PrivateMemory.allocate(mmlog_thread_size())
    return memory?.bindMemory(to: mmlog_thread.self, capacity: 1)
  }

  /// Seals what the exiting thread has open, and leaves its blocks to others.
  private static func threadExits() {
    mmlog_forget_current_writer()
    CrashArea.leaveThread()
    var own = mmlog_threads()
    mmlog_set_threads(nil)
    lock.withLock {
      while let block = own {
        own = block.pointee.next_of_thread
        // A call that the thread was in has ended, too: by pthread_exit(3) in a signal handler, or
        // a cancellation.
        for depth in 0..<MMLOG_DEPTHS { mmlog_end_busy(mmlog_writer_at(block, depth)) }
        // The thread was just taking it for another session, whose list may have it already.
        if mmlog_load_session(block) == nil,
          mmlog_load_acquire_u32(&block.pointee.in_use) == isTaken
        {
          continue
        }
        // A block that was attached after the end of its session is in no session's list.
        if let session = Session.of(block), !session.threads.isDissolved {
          for depth in 0..<MMLOG_DEPTHS {
            WriterSpace.close(mmlog_writer_at(block, depth), session.ring)
          }
          session.overflow.threadEnds(block, session.ring)
          mmlog_store_release_u32(&block.pointee.in_use, 0)
        } else {
          release(block)
        }
      }
    }
  }
}
