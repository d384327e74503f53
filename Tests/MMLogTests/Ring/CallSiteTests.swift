import Glibc
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@testable import MMLog

@Suite("Log statements and labels")
struct CallSiteTests {
  private func generic<T: FixedWidthInteger, U>(_ log: Logger, _ number: T, _ other: U) {
    log.info("n \(number) o \(other)")
  }

  @Test("a log call that never gives the dictionary back keeps nobody from archiving")
  func keptDictionary() async throws {
    let test = try TestStore()
    let ring = try #require(test.store.core.openSession?.ring)
    for number in 0..<2 {
      if number == 1 { ring.dictionaryLock.lock() }
      test.log.info("known \(number)")
    }
    test.log.info("new")
    try test.store.blockingFlush(.archive)
    let contents = try test.closeAndRead()
    let isClean = contents.isClean
    #expect(isClean && contents.messages == ["known 0", "known 1", "new"])
  }

  @Test("one statement with several literals gives each its own text")
  func conditionalLiterals() throws {
    let test = try TestStore()
    var expected: [String] = []
    for index in 0..<9 {
      test.log.info(
        index % 3 == 0 ? "zero \(index)" : index % 3 == 1 ? "one \(index) \("x")" : "two")
      expected.append(["zero \(index)", "one \(index) x", "two"][index % 3])
    }
    #expect(try test.closeAndRead().messages == expected)
  }

  @Test("one generic statement with several types gives each its own")
  func genericTypes() throws {
    let test = try TestStore()
    for _ in 0..<2 {
      generic(test.log, -1 as Int8, 1.5)
      generic(test.log, UInt64.max, "text")
      generic(test.log, Int128.min, true)
    }
    let expected = ["n -1 o 1.5", "n \(UInt64.max) o text", "n \(Int128.min) o true"]
    #expect(try test.closeAndRead().messages == expected + expected)
  }

  @Test("statements that find no place in the dictionary travel in their records")
  func dictionaryPressure() throws {
    let test = try TestStore {
      $0.dictionarySize = 4 << 10
      $0.ringSize = 1 << 20
    }
    for round in 0..<2 {
      for line in 0..<3000 {
        test.log.info("round \(round) line \(line)", line: UInt32(line))
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let expected = (0..<2).flatMap { round in (0..<3000).map { "round \(round) line \($0)" } }
    #expect(contents.messages == expected)
    #expect(contents.records.map(\.line) == (0..<6000).map { $0 % 3000 })
  }

  /// Logs by sixty-four statements, which take three times a dictionary of 4 KiB.
  ///
  /// - Returns: How many bytes the records have.
  private func logOnce(_ test: TestStore) throws -> UInt64 {
    let before = test.store.statistics.archived.bytes
    for line in 0..<64 { test.log.info("line \(line)", line: UInt32(line)) }
    try test.store.flush(.archive)
    return test.store.statistics.archived.bytes - before
  }

  /// How many bytes the records have if each has a header, ticks, an identity and a value.
  private let least = UInt64(64 * 4 * 8)

  @Test("a dictionary that fills up grows") func growth() throws {
    let test = try TestStore { $0.dictionarySize = 4 << 10 }
    var rounds = 1
    while try logOnce(test) > least { rounds += 1 }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.records.map(\.line) == (0..<64 * rounds).map { $0 % 64 })
  }

  #if DEBUG
    @Test("a dictionary that got no space grows when there is some, and takes statements again")
    func laterGrowth() async {
      await #expect(processExitsWith: .success) {
        let tests = CallSiteTests()
        let test = try TestStore { $0.dictionarySize = 4 << 10 }
        ForcedFault.force(.fallocate, errno: ENOSPC, times: .max, under: test.folder.path)
        var rounds = 20
        for _ in 0..<rounds { require(try tests.logOnce(test) > tests.least) }
        ForcedFault.clear(under: test.folder.path)
        let deadline = Deadline(after: 60_000_000_000)
        repeat {
          rounds += 1
          require(!deadline.isOver)
        } while try tests.logOnce(test) > tests.least
        let contents = try test.closeAndRead()
        require(contents.isClean)
        require(contents.records.map(\.line) == (0..<64 * rounds).map { $0 % 64 })
      }
    }

    @Test("a dictionary that gets no space leaves statements in their records")
    func noGrowth() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.dictionarySize = 4 << 10 }
        ForcedFault.force(.fallocate, errno: ENOSPC, times: .max, under: test.folder.path)
        for _ in 0..<20 {
          for line in 0..<64 { test.log.info("line \(line)", line: UInt32(line)) }
          try test.store.flush(.archive)
        }
        ForcedFault.clear(under: test.folder.path)
        let bytes = test.store.statistics.archived.bytes
        require(bytes > 20 * 64 * 4 * 8)
        let contents = try test.closeAndRead()
        require(contents.isClean && contents.records.map(\.line) == (0..<1280).map { $0 % 64 })
      }
    }
  #endif

  @Test("statements that travel in their records also do from four threads and tiny segments")
  func dictionaryPressureFromThreads() throws {
    let test = try TestStore { $0.makeTiny() }
    let log = test.log
    let text = String(repeating: "t", count: 300)
    try onThreads(4) { thread in
      for line in 0..<2000 {
        log.info(
          "thread \(thread) line \(line) \(text)", metadata: ["k": .string(text)],
          line: UInt32(line))
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.records.count == 8000)
    for messages in contents.messagesByThread.values {
      let thread = messages[0].split(separator: " ")[1]
      #expect(messages == (0..<2000).map { "thread \(thread) line \($0) \(text)" })
    }
  }

  @Test("more statements than a thread's cache has places stay apart")
  func cachePressure() throws {
    let test = try TestStore()
    for round in 0..<3 {
      for line in 0..<1500 { test.log.info("\(round) \(line)", line: UInt32(line)) }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.records.map(\.line) == (0..<4500).map { $0 % 1500 })
  }

  @Test("labels that even the largest dictionary has no room for lose only their names")
  func tooManyLabels() throws {
    let test = try TestStore { $0.makeTiny() }
    for index in 0..<2000 { test.store.logger(label: "label \(index)").info("\(index)") }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.messages == (0..<2000).map { "\($0)" })
    let labels = contents.records.map(\.label)
    let areRight = labels.enumerated().allSatisfy { $1 == "label \($0)" || $1 == "" }
    #expect(areRight, "\(labels)")
    // Some 800 have room in 32 KiB.
    #expect((700...900).contains(labels.count { $0 != "" }))
  }

  #if DEBUG
    @Test("labels that are made before the dictionary has grown get their names when it has")
    func labelsBeforeGrowth() throws {
      let test = try TestStore { $0.makeTiny() }
      let gate = ForkSafeMutex()
      gate.lock()
      ForcedFault.block(.fallocate, on: gate, under: test.folder.path)
      for index in 0..<500 { test.store.logger(label: "label \(index)").info("\(index)") }
      gate.unlock()
      ForcedFault.clear(under: test.folder.path)
      let contents = try test.closeAndRead()
      #expect(contents.isClean)
      #expect(contents.records.map(\.label) == (0..<500).map { "label \($0)" })
    }

    @Test("a label gets its name while its process lives, even if it is larger than the dictionary")
    func largeLabel() throws {
      let test = try TestStore { $0.makeTiny() }
      let label = String(repeating: "l", count: 10_000)
      let log = test.store.logger(label: label)
      var found: [String] = []
      let deadline = Deadline(after: 60_000_000_000)
      while found.last != label, !deadline.isOver {
        log.info("text")
        try test.store.flush(.archive)
        found = Contents(test.folder.path).records.map(\.label)
      }
      #expect(found.last == label && found.allSatisfy { $0 == label })
      try test.store.close()
    }
  #endif

  @Test("three thousand labels keep their names where the dictionary has room")
  func thousandsOfLabels() throws {
    let test = try TestStore {
      $0.dictionarySize = 8 << 20
      $0.ringSize = 32 << 20
    }
    var loggers: [Logger] = []
    for index in 0..<3000 { loggers.append(test.store.logger(label: "l\(index)")) }
    for (index, logger) in loggers.enumerated() { logger.info("\(index)") }
    let contents = try test.closeAndRead()
    #expect(contents.records.map(\.label) == (0..<3000).map { "l\($0)" })
  }
}
