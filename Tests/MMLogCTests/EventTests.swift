import CCalls
import CMMLogC
import Foundation
import MMLog
import MMLogStorage
import MMLogSystem
import Synchronization
import TestSupport
import Testing

@testable import MMLogC

/// What a handler in C was given.
private final class Handled: Sendable {
  struct Event {
    let kind: mmlog_event_kind
    let isTrouble: Bool
    let text: String
    let path: String
    let number: UInt64
    let systemError: Int32
    let thread: Int32
  }

  private let state = LockedValue<[Event]>([])

  var events: [Event] { state.withLock { $0 } }
  var kinds: [mmlog_event_kind] { events.map(\.kind) }

  func first(_ kind: mmlog_event_kind) -> Event? { events.first { $0.kind == kind } }

  /// Has a store report here. To be kept until it is closed.
  func listen(_ options: inout mmlog_options) {
    options.context = Unmanaged.passUnretained(self).toOpaque()
    options.on_event = { event, context in
      guard let event = event?.pointee, let context else { return }
      Unmanaged<Handled>.fromOpaque(context).takeUnretainedValue().take(event)
    }
  }

  private func take(_ event: mmlog_event) {
    #expect(event.size == MemoryLayout<mmlog_event>.size)
    let handled = Event(
      kind: event.kind, isTrouble: event.is_trouble, text: String(cString: event.text),
      path: String(cString: event.path), number: event.number, systemError: event.system_error,
      thread: CurrentProcess.threadID())
    state.withLock { $0.append(handled) }
  }
}

@Suite("Events in C")
struct EventTests {
  @Test("a handler has had all events when the store is closed, on a thread of the store's")
  func events() throws {
    let folder = TemporaryDirectory()
    let handled = Handled()
    let store = try openStore(folder.path) { handled.listen(&$0) }
    ccalls_log_many(mmlog_get_logger(store, "c"), 3)
    #expect(mmlog_close(store, nil) == 0)
    // On a busy machine, the drainer may stand still for seconds.
    let events = handled.events.filter {
      $0.kind != MMLOG_EVENT_STALLED && $0.kind != MMLOG_EVENT_RESUMED
    }
    #expect(events.map(\.kind).suffix(2) == [MMLOG_EVENT_ROTATED, MMLOG_EVENT_SEALED])
    let sealed = try #require(events.last)
    #expect(sealed.path.hasPrefix(folder.path) && sealed.text.contains(sealed.path))
    #expect(handled.events.allSatisfy { !$0.text.isEmpty && !$0.text.contains("\n") })
    #expect(events.allSatisfy { !$0.isTrouble && $0.systemError == 0 })
    let threads = Set(handled.events.map(\.thread))
    #expect(threads.count == 1 && !threads.contains(CurrentProcess.threadID()))
  }

  @Test("a handler may log, and close the store itself")
  func closing() throws {
    final class Closer: Sendable {
      let store = Atomic<UInt>(0)
      let isClosed = Atomic<Bool>(false)
    }
    let folder = TemporaryDirectory()
    let closer = Closer()
    let store = try openStore(folder.path) {
      $0.context = Unmanaged.passUnretained(closer).toOpaque()
      $0.on_event = { event, context in
        guard event?.pointee.kind == MMLOG_EVENT_CAPTURED, let context else { return }
        let closer = Unmanaged<Closer>.fromOpaque(context).takeUnretainedValue()
        guard let store = OpaquePointer(bitPattern: closer.store.load(ordering: .acquiring)) else {
          return
        }
        ccalls_log_many(mmlog_get_logger(store, "handler"), 1)
        #expect(mmlog_close(store, nil) == 0)
        closer.isClosed.store(true, ordering: .releasing)
      }
      ($0.level, $0.archive_level) = (MMLOG_DEBUG, MMLOG_NOTICE)
    }
    closer.store.store(UInt(bitPattern: store), ordering: .releasing)
    ccalls_log_many(mmlog_get_logger(store, "c"), 2)
    // May fail, as the handler closes the store meanwhile.
    _ = mmlog_capture(store, "a test", 0, nil)
    while !closer.isClosed.load(ordering: .acquiring) { sched_yield() }
    let messages = CContents(folder.path).messages
    #expect(messages.contains("captured: a test") && messages.contains("0 of "))
  }

  @Test(
    "a fork's child closes its store also if a handler was running as it was made",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func fork() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      final class Gate: Sendable {
        let isEntered = Atomic<Bool>(false)
        let isOpen = Atomic<Bool>(false)
      }
      let gate = Gate()
      let store = try openStore(path) {
        $0.context = Unmanaged.passUnretained(gate).toOpaque()
        $0.on_event = { event, context in
          guard event?.pointee.kind == MMLOG_EVENT_ROTATED, let context else { return }
          let gate = Unmanaged<Gate>.fromOpaque(context).takeUnretainedValue()
          gate.isEntered.store(true, ordering: .releasing)
          while !gate.isOpen.load(ordering: .acquiring) { sched_yield() }
        }
      }
      ccalls_log_many(mmlog_get_logger(store, "c"), 1)
      mmlog_reopen_all()
      _ = mmlog_flush(store, MMLOG_FLUSH_ARCHIVE, 0, nil)
      while !gate.isEntered.load(ordering: .acquiring) { sched_yield() }
      let child = forkProcess()
      gate.isOpen.store(true, ordering: .releasing)
      ccalls_log_many(mmlog_get_logger(store, "c"), 1)
      require(mmlog_close(store, nil) == 0)
      if child == 0 { _exit(0) }
      require(waitFor(child) == 0)
    }
    let contents = CContents(folder.path)
    #expect(contents.problems.isEmpty && contents.messages.count == 3)
  }

  #if DEBUG
    @Test("the number of lost records that an event has is that of all so far")
    func dropped() throws {
      let handled = Handled()
      let test = try CStore {
        handled.listen(&$0)
        $0.makeTiny()
        ($0.full_ring, $0.drain_interval_ms) = (MMLOG_FULL_DROP, 10)
      }
      var numbers: [UInt64] {
        handled.events.filter { $0.kind == MMLOG_EVENT_DROPPED }.map(\.number)
      }
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      for round in 1...2 {
        while mmlog_lost_records(test.store) < round * 1000 { ccalls_log_many(test.log, 100) }
        let lost = mmlog_lost_records(test.store)
        while numbers.last != lost { sched_yield() }
      }
      #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
      ForcedFault.clear(under: test.folder.path)
      #expect(try test.closeAndRead().lost == numbers.last)
    }

    @Test("a full disk is reported with what failed and why, and that it is over")
    func fullDisk() throws {
      let handled = Handled()
      let test = try CStore {
        handled.listen(&$0)
        $0.drain_interval_ms = 10
      }
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      ccalls_log_many(test.log, 10)
      #expect(mmlog_flush(test.store, MMLOG_FLUSH_ARCHIVE, 100, nil) == -1)
      while handled.first(MMLOG_EVENT_FAILED) == nil { sched_yield() }
      let failed = try #require(handled.first(MMLOG_EVENT_FAILED))
      #expect(failed.isTrouble && failed.systemError == ENOSPC)
      #expect(failed.path.hasPrefix(test.folder.path) && failed.text.contains("space"))
      ForcedFault.clear(under: test.folder.path)
      #expect(mmlog_flush(test.store, MMLOG_FLUSH_ARCHIVE, 0, nil) == 0)
      #expect(try test.closeAndRead().records.count == 10)
      #expect(handled.kinds.contains(MMLOG_EVENT_RESUMED))
    }
  #endif

  @Test("a store that does not open has its handler called no more")
  func failedOpening() async {
    await #expect(processExitsWith: .success) {
      setenv("MMLOG_LEVEL", "web=loud", 1)
      for _ in 0..<50 {
        let handled = Handled()
        do {
          _ = try openStore("/dev/null/logs") { handled.listen(&$0) }
          require(false, "it opened")
        } catch {}
        // Gone here: a later call would meet memory that is another's.
      }
    }
  }

  @Test("trouble is a line on standard error where there is no handler, and none where there is")
  func standardError() async throws {
    let said = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      setenv("MMLOG_LEVEL", "web=loud", 1)
      require(mmlog_close(try openStore(TemporaryDirectory().path), nil) == 0)
    }
    let line = String(decoding: try #require(said).standardErrorContent, as: UTF8.self)
    #expect(line.contains("mmlog: the store test: MMLOG_LEVEL has 'web=loud'"))
    let quiet = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      setenv("MMLOG_LEVEL", "web=loud", 1)
      let handled = Handled()
      let store = try openStore(TemporaryDirectory().path) { handled.listen(&$0) }
      require(mmlog_close(store, nil) == 0)
      require(handled.events.first?.isTrouble == true)
      require(handled.events.first?.text.contains("MMLOG_LEVEL has 'web=loud'") == true)
      withExtendedLifetime(handled) {}
    }
    let nothing = String(decoding: try #require(quiet).standardErrorContent, as: UTF8.self)
    #expect(!nothing.contains("mmlog: "))
  }

  @Test("texts have the names that C has")
  func names() {
    let error = LogError(
      .untrustedDirectory, "Allow it with the setting allowsUntrustedDirectory.", path: "/nil")
    #expect(
      LogStore.Event.failed(error: error).textInC
        == "Allow it with the setting allows_untrusted_directory.")
    let limit = LogStore.Event.limitExceeded(rule: .totalSize, kept: [.newest: 1, .unsent: 2])
    #expect(limit.textInC.contains("(retention_minimum_size)"), "\(limit.textInC)")
    #expect(limit.textInC.contains("(retention_unsent_size)"), "\(limit.textInC)")
    #expect(limit.textInC.contains("limit retention_total_size "), "\(limit.textInC)")
    let count = LogStore.Event.limitExceeded(rule: .count, kept: [:])
    #expect(count.textInC.contains("limit retention_count "), "\(count.textInC)")
  }

  @Test("who works on files is told before and after, in pairs")
  func maintenance() throws {
    final class Counts: Sendable {
      let state = LockedValue<(begun: Int, open: Int)>((0, 0))
    }
    let hooks = Counts()
    let test = try CStore {
      $0.context = Unmanaged.passUnretained(hooks).toOpaque()
      $0.on_maintenance = { begins, context in
        guard let context else { return }
        Unmanaged<Counts>.fromOpaque(context).takeUnretainedValue().state.withLock {
          $0.begun += begins ? 1 : 0
          $0.open += begins ? 1 : -1
        }
      }
    }
    ccalls_log_many(test.log, 3)
    #expect(try test.closeAndRead().records.count == 3)
    let (begun, open) = hooks.state.withLock { $0 }
    #expect(begun >= 2 && open == 0)
  }
}
