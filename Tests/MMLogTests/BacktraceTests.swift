import Foundation
import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// Not inlined, so that it has a frame with its name.
@inline(never)
private func logFromTheInnermost(_ log: Logger) -> Int {
  log.error("innermost", metadata: ["stack": .backtrace(), "key": 1])
  return 1
}

@inline(never)
private func logFromTheOuter(_ log: Logger) -> Int { logFromTheInnermost(log) + 1 }

/// Stacks on demand.
@Suite struct BacktraceTests {
  @Test("a stack on demand names the functions under way, the caller's first")
  func aStackNamesTheFunctions() throws {
    let test = try TestStore()
    _ = logFromTheOuter(test.log)
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let record = try #require(contents.records.first)
    #expect(record.fields.map(\.name) == ["stack", "key"])
    let stack = try #require(record.backtraces.first)
    #expect(stack.name == "stack" && record.backtraces.count == 1)
    // The message's closures may have frames of their own.
    let text = stack.lines.joined(separator: "\n")
    #expect(stack.lines.first?.contains("logFromTheInnermost") == true, "\(text)")
    let outer = try #require(stack.lines.firstIndex { $0.contains("logFromTheOuter") })
    let inner = try #require(stack.lines.lastIndex { $0.contains("logFromTheInnermost") })
    #expect(inner < outer && outer < stack.lines.count - 1, "\(text)")
    #expect(!text.contains("MMLogCrash"), "\(text)")
    // Each frame is as addr2line(1) takes it.
    #expect(record.fields[0].value.frames.allSatisfy { $0.contains("+0x") })
  }

  @Test("a stack is not walked where the level is off") func levelOff() throws {
    let test = try TestStore()
    test.log.level = .off
    func stack() -> Logger.MetadataValue {
      Issue.record("evaluated")
      return .backtrace()
    }
    test.log.error("off", metadata: ["stack": stack()])
    #expect(try test.closeAndRead().messages.isEmpty)
  }

  @Test("threads take their stacks at the same time, and each has its own")
  func threadsTakeStacksAtTheSameTime() throws {
    let test = try TestStore()
    let log = test.log
    try onThreads(4) { _ in
      for _ in 0..<100 { _ = logFromTheOuter(log) }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 400)
    for record in contents.records { #expect(record.fields[0].value.frames.count > 3) }
    let stacks = Dictionary(grouping: contents.records, by: \.thread.ordinal)
      .mapValues { Set($0.map { $0.fields[0].value.frames }).count }
    #expect(stacks.values.allSatisfy { $0 == 1 }, "of a loop, all are equal")
  }

  @Test("a fork's child takes its stack, whatever its parent's threads did at that moment")
  func aForksChildTakesItsStack() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "fork")
      let log = store.logger(label: "l")
      // Makes Swift's types beforehand: making them for the first time is not tested.
      _ = Logger.MetadataValue.backtrace()
      let isOver = LockedValue(false)
      let thread = try MMLogSystem.Thread(name: "busy") {
        while !isOver.withLock({ $0 }) { _ = Logger.MetadataValue.backtrace() }
      }
      for _ in 0..<20 {
        let child = forkProcess()
        if child == 0 {
          _ = logFromTheOuter(log)
          try store.close()
          _exit(0)
        }
        require(waitFor(child) == 0)
      }
      isOver.withLock { $0 = true }
      thread.join()
      try store.close()
    }
    let records = Contents(folder.path).records
    #expect(records.count == 20)
    for record in records { #expect(record.fields[0].value.frames.count > 2) }
  }
}

extension Value {
  /// The frames of a stack.
  fileprivate var frames: [String] {
    guard case .dictionary(let pairs) = self, case .array(let frames)? = pairs.first?.value else {
      return []
    }
    return frames.compactMap {
      if case .string(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
  }
}
