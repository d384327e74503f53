import CMMLogWriter
import Glibc
import MMLog
import MMLogAnalysis
import MMLogReader
import MMLogStorage
import MMLogSystem
import Synchronization
import TestSupport
import Testing

/// What a program keeps in named places of its ring.
@Suite("State slots")
struct StateSlotTests {
  /// What is in the ring of the store in a folder, as another process sees it.
  private static func state(_ path: String) throws -> [String] {
    try RingStatus.all(in: path) { Issue.record("\($0)") }.filter(\.isRunning)
      .flatMap { $0.image.state.fields.texts }
  }

  /// What is known of dead sessions in a folder.
  private static func lastStates(_ path: String) -> [[String]] {
    LogFiles([.path(path)]).overview().map(\.stateInWords.texts).filter { !$0.isEmpty }
  }

  /// The failures that a store reports for slots that it does not have.
  private static func failures(of store: LogStore, _ count: Int) async -> [String] {
    var messages: [String] = []
    for await event in store.events {
      if case .failed(let error) = event { messages.append(error.message) }
      if messages.count == count { break }
    }
    return messages
  }

  @Test("values of each type are overwritten in place") func values() throws {
    let test = try TestStore()
    let path = test.folder.path
    let depth = test.store.slot("queue.depth", of: Int.self)
    let size = test.store.slot("size", of: UInt64.self)
    let load = test.store.slot("load", of: Double.self)
    let ratio = test.store.slot("ratio", of: Float.self)
    let leads = test.store.slot("leads", of: Bool.self)
    let phase = test.store.slot("phase", of: String.self)
    #expect(try Self.state(path) == [])
    for (number, text) in [(-3, "idle"), (70_000, "loading the table of orders"), (0, "done")] {
      depth.store(number)
      size.store(UInt64.max - 1)
      load.store(0.5)
      ratio.store(-1.25)
      leads.store(true)
      phase.store(text)
      let shown = text.contains(" ") ? "\"\(text)\"" : text
      #expect(
        try Self.state(path)
          == [
            "queue.depth=\(number)", "size=18446744073709551614", "load=0.5", "ratio=-1.25",
            "leads=true", "phase=\(shown)",
          ])
    }
    test.store.slot("small", of: Int8.self).store(-1)
    #expect(try Self.state(path).last == "small=-1")
    try test.store.close()
    #expect(Self.lastStates(path).isEmpty)
  }

  @Test("a slot is shown from the first value on, whatever that is")
  func firstValues() throws {
    let test = try TestStore()
    let path = test.folder.path
    let text = test.store.slot("text", of: String.self)
    let number = test.store.slot("number", of: Int.self)
    let flag = test.store.slot("flag", of: Bool.self)
    #expect(try Self.state(path) == [])
    flag.store(false)
    #expect(try Self.state(path) == ["flag=false"])
    text.store("")
    #expect(try Self.state(path) == ["text=\"\"", "flag=false"])
    number.store(0)
    #expect(try Self.state(path) == ["text=\"\"", "number=0", "flag=false"])
    try test.store.close()
  }

  @Test("texts are cut at a character's edge", arguments: [0, 1, 15, 16, 55, 56, 57, 200])
  func longTexts(count: Int) throws {
    let test = try TestStore()
    let slot = test.store.slot("text", of: String.self)
    for (text, size) in [
      (String(repeating: "x", count: count), 56), (String(repeating: "é", count: count), 56),
      (String(repeating: "€", count: count), 54), ("a" + String(repeating: "𝄞", count: count), 53),
    ] {
      slot.store(text)
      let expected = String(decoding: text.utf8.prefix(size), as: UTF8.self)
      let shown = expected.isEmpty ? "\"\"" : expected
      #expect(try Self.state(test.folder.path) == ["text=\(shown)"])
    }
    try test.store.close()
  }

  @Test("a name is one place, of the type that came first") func names() async throws {
    let test = try TestStore()
    let (first, second) = (
      test.store.slot("n", of: Int.self), test.store.slot("n", of: Int32.self)
    )
    first.store(1)
    second.store(2)
    // A slot that is not possible stores nothing, is reported once, and does no harm.
    for _ in 0..<2 {
      test.store.slot("n", of: Double.self).store(0.5)
      test.store.slot("n", of: String.self).store("text")
      test.store.slot("", of: Int.self).store(3)
      test.store.slot(String(repeating: "n", count: 49), of: Int.self).store(4)
    }
    let longest = String(repeating: "n", count: 48)
    test.store.slot(longest, of: Int.self).store(5)
    #expect(try Self.state(test.folder.path) == ["n=2", "\(longest)=5"])
    let endless = String(repeating: "x", count: 1 << 20)
    test.store.slot(endless, of: Int.self).store(6)
    let messages = await Self.failures(of: test.store, 4)
    #expect(messages[3].contains("1 to 48 bytes") && messages[3].utf8.count < 256)
    #expect(messages[0].contains("'n' is there with values of another type: int"))
    #expect(messages[1].contains("1 to 48 bytes") && messages[2].contains("1 to 48 bytes"))
    try test.store.blockingClose()
  }

  @Test("a text for a slot without a place is stored nowhere, and waits for nobody")
  func textWithoutPlace() throws {
    let test = try TestStore()
    let slot = test.store.slot("", of: String.self)
    slot.store("a text")
    slot.store("a text of more than fifteen bytes")
    // A store there would have raised the ordinal.
    #expect(mmlog_state_of_nobody().pointee.ordinal == 0)
    try test.store.close()
  }

  @Test("when all places are taken, others go nowhere") func allTaken() async throws {
    let test = try TestStore()
    let texts = (0..<42).map { test.store.slot("text \($0)", of: String.self) }
    let last = test.store.slot("text 42", of: String.self)
    let numbers = (0..<3).map { test.store.slot("number \($0)", of: Int.self) }
    for (index, slot) in texts.enumerated() { slot.store("\(index)") }
    last.store("nowhere")
    for (index, slot) in numbers.enumerated() { slot.store(index) }
    #expect(
      try Self.state(test.folder.path)
        == (0..<42).map { "\"text \($0)\"=\($0)" } + ["\"number 0\"=0", "\"number 1\"=1"])
    let messages = await Self.failures(of: test.store, 2)
    #expect(messages.allSatisfy { $0.contains("all 128 are taken") })
    try test.store.blockingClose()
  }

  @Test("a slot may be stored to after its store is closed, and until then from any thread")
  func closing() throws {
    let test = try TestStore()
    let number = test.store.slot("number", of: Int.self)
    let text = test.store.slot("text", of: String.self)
    let isClosed = LockedValue(false)
    let rounds = LockedValue(0)
    let threads = try (0..<4).map { index in
      try Thread(name: "storer") {
        while !isClosed.withLock({ $0 }) {
          for round in 0..<100 {
            number.store(round)
            text.store("thread \(index), round \(round)")
          }
          rounds.withLock { $0 += 1 }
        }
      }
    }
    while rounds.withLock({ $0 }) < 20 { sched_yield() }
    try test.store.close()
    isClosed.withLock { $0 = true }
    for thread in threads { thread.join() }
    number.store(1)
    text.store("text")
    #expect(test.store.slot("later", of: Int.self).state != number.state)
  }

  @Test("a text that several threads store is that of one of them") func severalWriters() throws {
    let test = try TestStore()
    let slot = test.store.slot("text", of: String.self)
    let texts = (0..<3).map { index in
      String(repeating: "\(index)", count: [9, 31, 56][index])
    }
    let (rounds, isOver) = (LockedValue([0, 0, 0]), LockedValue(false))
    let threads = try texts.enumerated().map { index, text in
      try Thread(name: "storer") {
        while !isOver.withLock(\.self) {
          for _ in 0..<1000 { slot.store(text) }
          rounds.withLock { $0[index] += 1 }
        }
      }
    }
    defer {
      isOver.withLock { $0 = true }
      for thread in threads { thread.join() }
    }
    let expected = Set(texts.map { "text=\($0)" } + ["text=\"\""])
    while rounds.withLock({ ($0.min() ?? 0) < 20 }) {
      for state in try Self.state(test.folder.path) { #expect(expected.contains(state)) }
    }
    try test.store.close()
  }

  @Test("a signal handler that interrupts a store of a text does not wait for ever")
  func inAHandler() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      HandlerSlot.slot = store.slot("text", of: String.self)
      signal(SIGUSR1) { @Sendable _ in
        HandlerSlot.slot?.store("in the handler")
        HandlerSlot.count.add(1, ordering: .relaxed)
      }
      unblockSignals()
      let storer = pthread_self()
      let caller = try Thread(name: "caller") {
        while HandlerSlot.count.load(ordering: .relaxed) < 50 {
          pthread_kill(storer, SIGUSR1)
          usleep(500)
        }
      }
      while HandlerSlot.count.load(ordering: .relaxed) < 50 {
        for _ in 0..<1000 { HandlerSlot.slot?.store("outside") }
      }
      caller.join()
      try store.close()
    }
  }

  // MARK: - Death

  @Test("what a process had in its slots when it died is known, before and after its recovery")
  func death() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "test")
      store.logger(label: "l").info("record")
      store.slot("queue.depth", of: Int.self).store(17)
      store.slot("phase", of: String.self).store("loading")
      kill(getpid(), SIGKILL)
    }
    #expect(Self.lastStates(folder.path) == [["queue.depth=17", "phase=loading"]])
    let store = try LogStore(directory: folder.path, name: "test")
    #expect(store.recoveredSessions.count == 1)
    try store.blockingClose()
    #expect(Self.lastStates(folder.path) == [["queue.depth=17", "phase=loading"]])
  }

  @Test("the values go along into the ring that comes in a lost one's place")
  func lostRing() async throws {
    let test = try TestStore()
    let number = test.store.slot("number", of: Int.self)
    let text = test.store.slot("text", of: String.self)
    let late = test.store.slot("late", of: Bool.self)
    number.store(5)
    for index in 0..<3 { text.store("text \(index)") }
    let old = try #require(try test.folder.names(ending: ".ring").first)
    var events = test.store.events.makeAsyncIterator()
    try #require(unlink(test.folder(old)) == 0)
    while let event = await events.next() { if case .resumed = event { break } }
    #expect(try Self.state(test.folder.path) == ["number=5", "text=\"text 2\""])
    number.store(6)
    text.store("new")
    late.store(false)
    #expect(try Self.state(test.folder.path) == ["number=6", "text=new", "late=false"])
    try test.store.blockingClose()
  }

  @Test(
    "a child of fork has slots of its own, and stores nothing in its parent's",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func fork() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let number = store.slot("number", of: Int.self)
      let text = store.slot("text", of: String.self)
      store.slot("parent", of: Int.self).store(7)
      number.store(1)
      text.store("parent")
      let ofParent = ["number=1", "text=parent", "parent=7"]
      require(try Self.state(folder.path) == ofParent)
      let child = forkProcess()
      if child == 0 {
        text.store("child")
        store.slot("new", of: Bool.self).store(true)
        require(try Self.state(folder.path) == ofParent)
        store.logger(label: "l").info("record")
        number.store(2)
        let states = Set(
          try RingStatus.all(in: folder.path) { _ in }.map { $0.image.state.fields.texts })
        require(
          states == [ofParent, ["number=2", "text=child", "new=true"]])
        try store.close()
        number.store(3)
        _exit(0)
      }
      require(waitFor(child) == 0)
      require(try Self.state(folder.path) == ofParent)
      try store.close()
    }
  }
}

/// A signal handler cannot capture anything.
private enum HandlerSlot {
  nonisolated(unsafe) static var slot: LogStore.StateSlot<String>?
  static let count = Atomic<Int>(0)
}
