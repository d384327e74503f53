import Foundation
import Glibc
import MMLog
import MMLogReader
import MMLogSystem
import Synchronization
import TestSupport
import Testing

/// Contexts where little else works: in a fork's child, without memory, in a signal handler, in a
/// full dictionary.
@Suite("Context under duress") struct ContextSurvivalTests {
  private static let trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

  @Test("threads that are the first to have a context at the same time find it at once")
  func firstAtTheSameTime() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore()
      // So many loggers that updating all of them takes longer than a log call.
      for number in 0..<20_000 { _ = test.store.logger(label: "label \(number)") }
      let last = test.store.logger(label: "last")
      let readyCount = Atomic<Int>(0)
      let isBegun = Atomic<Bool>(false)
      let threads = try (0..<4).map { number in
        try Thread(name: "thread \(number)") {
          last.info("ready")
          readyCount.add(1, ordering: .releasing)
          while !isBegun.load(ordering: .acquiring) {}
          // The threads do not log at the very same moment.
          for _ in 0..<number * 500 { _ = isBegun.load(ordering: .acquiring) }
          withLogFields(["thread": .int(Int64(number))]) { last.info("begun") }
        }
      }
      while readyCount.load(ordering: .acquiring) < 4 {}
      isBegun.store(true, ordering: .releasing)
      for thread in threads { thread.join() }
      let begun = try test.closeAndRead().records.filter { $0.message == "begun" }
      let fields = begun.map { $0.fields.map(\.name) }
      require(fields == [["thread"], ["thread"], ["thread"], ["thread"]], "\(fields)")
    }
  }

  @Test(
    "a fork's child has what was bound before, and its task's fields",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func fork() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "fork")
      let plain = store.logger(label: "l")
      // Logs first, so that key sets have other numbers in the child.
      for line in 0..<10 { plain.with(["k\(line)": 1]).info("parent before", line: UInt32(line)) }
      let span = plain.begin("parent's span")
      let log = plain.with(["bound": 1, "request": "r7"], span: span, trace: Self.trace)
      let unused = plain.with(["unused": true])
      log.info("parent first")
      try withLogFields(["task": 2]) {
        let child = forkProcess()
        let who = child == 0 ? "child" : "parent"
        for index in 0..<100 { log.info("\(who) \(index)") }
        plain.info("\(who) plain")
        unused.info("\(who) unused")
        withLogFields(["task": 3, "inner": true]) { log.info("\(who) inner") }
        if child == 0 {
          try store.close()
          _exit(store.losses.isEmpty ? 0 : 3)
        }
        require(waitFor(child) == 0)
      }
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    let span = contents.records.first { $0.message == "parent's span" }?.spanNumber
    #expect(Set(contents.records.map(\.session.id)).count == 2 && span != nil)
    for who in ["child", "parent"] {
      let own = contents.records.filter { $0.message.hasPrefix("\(who) ") }
      let texts = own.filter { $0.message != "parent before" && $0.message != "parent first" }
        .map(\.fieldText)
      #expect(
        texts == Array(repeating: "bound=1 request=r7 task=2", count: 100)
          + ["task=2", "unused=true task=2", "bound=1 request=r7 task=3 inner=true"])
      let bound = own.filter { $0.fieldText.hasPrefix("bound") }
      #expect(bound.allSatisfy { $0.trace == Self.trace && $0.spanNumber == span })
    }
  }

  /// Where another library's tracer keeps its context.
  private enum Kept {
    @TaskLocal static var context: LogContext?
  }

  @Test("a context of others that is bound in fields has its span and trace count, at any length")
  func keeper() async {
    await #expect(processExitsWith: .success) {
      LogContext.add(LogContext.Keeper { Kept.context })
      guard let trace = Self.trace else { return require(false) }
      let test = try TestStore()
      let span = test.log.begin("span")
      let kept = withLogFields(["elsewhere": 1]) { LogContext.within(span.number, trace) }
      // Some of the texts fit into the memory that a writer begins with, and some do not.
      let texts = (480..<520).map { String(repeating: "t", count: 8 * $0) }
      for text in texts {
        withLogFields(["text": .string(text)]) {
          Kept.$context.withValue(kept) { test.log.info("long") }
        }
      }
      withLogFields(["outer": 1]) {
        Kept.$context.withValue(kept) {
          test.log.with(["bound": 1]).info("bound")
          withLogFields(["inner": 1]) { test.log.info("inner") }
        }
        test.log.info("outside")
      }
      Kept.$context.withValue(kept) {
        test.log.info("alone")
        withLogFields(["inner": 1]) { Kept.$context.withValue(nil) { test.log.info("over") } }
      }
      let contents = try test.closeAndRead()
      require(contents.isClean)
      let records = contents.records.dropFirst()
      let expected =
        texts.map { "text=\($0)" } + [
          "bound=1 outer=1", "outer=1 inner=1", "outer=1", "elsewhere=1", "elsewhere=1 inner=1",
        ]
      require(records.map(\.fieldText) == expected)
      for record in records {
        let isInside = record.message != "outside" && record.message != "over"
        require(record.spanNumber == (isInside ? span.number : nil), record.message)
        require(record.trace == (isInside ? trace : nil), record.message)
      }
    }
  }

  #if DEBUG
    @Test("without memory for two contexts a record is counted as lost, and the next one is whole")
    func noMemory() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        let text = String(repeating: "t", count: 9000)
        let small = test.log.with(["a": 1])
        let large = test.log.with(["a": 1, "large": .string(text)])
        test.log.info("plain")
        func logAll(_ message: String) {
          errno = 77
          small.info("\(message) small")
          large.info("\(message) large")
          withLogFields(["task": 1]) {
            test.log.info("\(message) task")
            small.info("\(message) both")
          }
          // Making a task's context allocates; log calls leave it alone.
          errno = 77
          large.info("\(message) again")
          require(errno == 77)
        }
        for round in 0..<3 {
          ForcedFault.force(.mmap, errno: ENOMEM, times: .max, under: "")
          logAll("refused \(round)")
          ForcedFault.clear(under: "")
          // One context alone needs no memory. Memory for two contexts stays once it is there.
          if round == 0 { small.info("small is whole") } else { logAll("whole \(round)") }
        }
        let losses = test.store.losses
        require(losses.total(.tooLarge) == 1 + 1 && losses.total == 2, "\(losses)")
        let contents = try test.closeAndRead()
        require(contents.isWhole && contents.records.count == 1 + 1 + 4 + 4 + 5 + 5 + 5)
        for record in contents.records {
          let expected =
            switch record.message.split(separator: " ").last {
            case "whole", "small": "a=1"
            case "large", "again": "a=1 large=\(text)"
            case "task": "task=1"
            case "both": "a=1 task=1"
            default: ""
            }
          require(record.fieldText == expected, "\(record.message): \(record.fieldText)")
        }
      }
    }
  #endif

  @Test("in a full dictionary fields are in the records themselves, with few and many call sites")
  func fullDictionary() throws {
    let test = try TestStore { $0.makeTiny() }
    func name(_ index: Int) -> String { String(repeating: "n", count: 1 + index) }
    let logs = (0..<50).map { test.log.with([name($0): .int(Int64($0))]) }
    for round in 0..<3 {
      for line in 0..<200 {
        logs[line % 50].info("\(round) \(line)", line: UInt32(line))
        withLogFields(["task \(line % 10)": true]) {
          logs[line % 50].info("\(round) \(line) task", metadata: ["own": 1], line: UInt32(line))
        }
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 3 * 200 * 2)
    for record in contents.records {
      let line = Int(record.message.split(separator: " ")[1]) ?? 0

      let bound = "\(name(line % 50))=\(line % 50)"
      let isOfTask = record.message.hasSuffix("task")
      #expect(record.fieldText == (isOfTask ? "own=1 \(bound) task \(line % 10)=true" : bound))
    }
  }

  /// Logs a line on a thread that signals interrupt.
  private static func logLine(_ index: Int, to log: Logger, _ plain: Logger) {
    switch index % 3 {
    case 0: log.info("\(index)")
    case 1: withLogFields(["task": .int(Int64(index))], trace: trace) { plain.info("\(index)") }
    default: withLogFields(["task": .int(Int64(index))]) { log.info("\(index)") }
    }
  }

  @Test(
    "a signal handler logs with its own fields and the interrupted task's, which are whole",
    arguments: [true, false])
  func signals(isBound: Bool) async throws {
    await #expect(processExitsWith: .success) { [isBound = isBound as Bool] in
      func make() throws -> TestStore {
        try TestStore { ($0.segmentSize, $0.ringSize) = (4 << 10, 32 << 20) }
      }
      func handlersLog(_ test: TestStore) -> Logger {
        isBound ? test.log.with(["handler": true]) : test.log
      }
      SignalLogger.install()
      unblockSignals()
      // Debug builds look up types under a lock, when a line runs for the first time. That must not
      // happen in a signal handler.
      let rehearsal = try make()
      SignalLogger.log = handlersLog(rehearsal)
      for index in 0..<3 { Self.logLine(index, to: rehearsal.log.with(["a": 1]), rehearsal.log) }
      raise(SIGUSR1)
      withLogFields(["task": 0]) { _ = raise(SIGUSR1) }
      try rehearsal.store.close()
      SignalLogger.count.store(0, ordering: .relaxed)

      let test = try make()
      let log = test.log.with(["a": 1])
      SignalLogger.log = handlersLog(test)
      let target = pthread_self()
      let isDone = Atomic<Bool>(false)
      let sender = try Thread(name: "sender") {
        while !isDone.load(ordering: .acquiring) {
          let sent = SignalLogger.count.load(ordering: .acquiring)
          pthread_kill(target, SIGUSR1)
          while SignalLogger.count.load(ordering: .acquiring) == sent,
            !isDone.load(ordering: .acquiring)
          {
            sched_yield()
          }
        }
      }
      var index = 0
      // Logs until there were enough signals, but no more than the ring has room for.
      while index < 5000 || (SignalLogger.count.load(ordering: .relaxed) < 200 && index < 100_000) {
        Self.logLine(index, to: log, test.log)
        index += 1
        if index % 200 == 0 { sched_yield() }
      }
      isDone.store(true, ordering: .releasing)
      sender.join()
      let count = SignalLogger.count.load(ordering: .acquiring)
      require(count > 10 && test.store.losses.isEmpty, "\(count) signals, \(test.store.losses)")
      let contents = try test.closeAndRead()
      require(contents.isClean && contents.records.count == index + count)
      Self.check(contents.records, isBound: isBound)
    }
  }

  /// Checks that records of signal handlers have the fields of a task that was under way.
  private static func check(_ records: [LogReader.Record], isBound: Bool) {
    var next = 0
    for record in records {
      let own = isBound ? "handler=true" : ""
      if let index = Int(record.message) {
        let expected = ["a=1", "task=\(index)", "a=1 task=\(index)"][index % 3]
        require(index == next && record.fieldText == expected, "\(index): \(record.fieldText)")
        require(record.trace == (index % 3 == 1 ? trace : nil))
        next += 1
      } else {
        // The signal may come before the task's record, in its call, or after it.
        let fields = (next - 1...next).map { (own.isEmpty ? "" : own + " ") + "task=\($0)" }
        require(([own] + fields).contains(record.fieldText), "\(next): \(record.fieldText)")
        require(record.trace == nil || record.fieldText.contains("task="))
      }
    }
  }
}

extension LogReader.Record {
  /// The record's fields, as `name=value`.
  fileprivate var fieldText: String {
    fields.map { field in
      switch field.value {
      case .int(let value): "\(field.name)=\(value)"
      case .bool(let value): "\(field.name)=\(value)"
      case .string(let bytes): "\(field.name)=\(String(decoding: bytes, as: UTF8.self))"
      default: "\(field.name)=\(field.value)"
      }
    }.joined(separator: " ")
  }
}
