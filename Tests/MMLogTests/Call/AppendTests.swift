import Foundation
import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import Synchronization
import TestSupport
import Testing

/// Log calls that say whether their record was kept.
@Suite struct AppendTests {
  /// `#expect` evaluates its argument beforehand, which a message must not be.
  private func isKept(_ append: () -> Bool) -> Bool { append() }

  @Test("an append says whether the record was kept: not below the level, nor after the closing")
  func anAppendSaysWhetherTheRecordWasKept() throws {
    let test = try TestStore()
    test.log.level = .info
    let line = #line + 1
    #expect(isKept { test.log.append(level: .info, "one \(1)", metadata: ["key": 2]) })
    var isEvaluated = false
    func value() -> Int {
      isEvaluated = true
      return 0
    }
    #expect(!isKept { test.log.append(level: .debug, "two \(value())") })
    #expect(!isEvaluated)
    for number in 0..<3 {
      #expect(isKept { test.log.append(level: .error, "again \(number)") })
    }
    let message: LogMessage = "elsewhere \(4)"
    #expect(isKept { test.log.append(level: .info, message) })
    let contents = try test.closeAndRead()
    #expect(!isKept { test.log.append(level: .info, "late") })
    #expect(test.store.losses.total(.noRing) == 1)
    #expect(contents.isClean)
    #expect(contents.messages == ["one 1", "again 0", "again 1", "again 2", "elsewhere 4"])
    let first = try #require(contents.records.first)
    #expect(first.line == line && first.file == #fileID && first.fields.map(\.name) == ["key"])
  }

  @Test("appends and log calls stand in one order, also inside each other's messages")
  func appendsAndLogCallsStandInOneOrder() throws {
    let test = try TestStore { $0.makeTiny() }
    let log = test.log
    func inner(_ number: Int) -> Int {
      #expect(isKept { log.append(level: .info, "inner \(number)") })
      return number
    }
    for number in 0..<200 {
      log.info("log \(number)")
      #expect(isKept { log.append(level: .info, "outer \(inner(number))") })
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(
      contents.messages == (0..<200).flatMap { ["log \($0)", "inner \($0)", "outer \($0)"] })
  }

  #if DEBUG
    @Test(
      "of a full ring, an append says exactly which records were kept",
      arguments: [LogStore.FullRingPolicy.dropNewest, .wait(upTo: .milliseconds(1))])
    func ofAFullRing(policy: LogStore.FullRingPolicy) throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = policy
      }
      let path = test.folder.path
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      let filler = [UInt8](repeating: 102, count: 1000)
      // Every tenth record takes several segments.
      let kept = (0..<500).filter { number in
        let bytes = number % 10 == 0 ? Array(repeating: filler, count: 10).flatMap(\.self) : filler
        return test.log.append(level: .info, "\(number) \(bytes)")
      }
      ForcedFault.clear(under: path)
      let losses = test.store.losses
      let contents = try test.closeAndRead()
      #expect(contents.messages.compactMap { Int($0.prefix { $0 != " " }) } == kept)
      #expect(losses.total(.ringFull) == UInt64(500 - kept.count) && kept.count > 50)
      #expect(kept.count < 500)
    }
  #endif

  #if DEBUG
    @Test("an append of a record that overwrites its own beginning keeps nothing")
    func overwritesItself() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .overwriteOldest
      }
      let path = test.folder.path
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      #expect(!isKept { test.log.append(level: .info, "\([UInt8](repeating: 1, count: 1 << 20))") })
      #expect(isKept { test.log.append(level: .info, "small") })
      ForcedFault.clear(under: path)
      let losses = test.store.losses
      #expect(try test.closeAndRead().messages == ["small"])
      #expect(losses.total(.ringFull) == 0 && losses.total(.overwritten) == 1)
    }
  #endif

  @Test("an append keeps arbitrary bytes as they are, in segments of any size")
  func anAppendKeepsBytesAsTheyAre() throws {
    let test = try TestStore { $0.makeTiny() }
    var payloads: [[UInt8]] = [[], [0], Array(0...255), Array("\n\u{7F}é".utf8)]
    payloads.append((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for payload in payloads {
      #expect(isKept { test.log.append(level: .info, "\(payload, name: "payload")") })
      // Not all records fit into the ring at once.
      try test.store.flush(.archive)
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.records.map(\.messageBytes) == payloads)
    #expect(contents.records.map { $0.fields[0].value } == payloads.map { Value.bytes($0) })
  }

  @Test("an append of what would be cut keeps nothing of it, and counts it")
  func nothingIsCut() throws {
    let test = try TestStore { $0.ringSize = 64 << 20 }
    let longest = [UInt8](repeating: 7, count: 16 << 20)
    #expect(isKept { test.log.append(level: .info, "\(longest)") })
    #expect(!isKept { test.log.append(level: .error, "\(longest + [8])") })
    let half = Logger.MetadataValue.bytes(Array(longest.prefix(9 << 20)))
    #expect(
      !isKept {
        test.log.append(level: .error, "batch", metadata: ["values": .array([half, half])])
      })
    #expect(isKept { test.log.append(level: .info, "after") })
    let losses = test.store.losses
    let contents = try test.closeAndRead()
    #expect(losses[.tooLarge, .error] == 2 && losses.total(.cut) == 0)
    #expect(contents.corruption.isEmpty && contents.unfinished.isEmpty)
    #expect(contents.records.map(\.messageBytes.count) == [16 << 20, 5])
    #expect(contents.records.allSatisfy { !$0.isCut })
  }

  /// Each batch takes several segments of 4 KiB.
  @Test("a batch is there whole or not at all when its process is killed", arguments: 0..<4)
  func aBatchIsThereWholeOrNotAtAll(round: Int) async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.path as String, round = round as Int] in
      var configuration = LogStore.Configuration()
      configuration.makeTiny()
      configuration.fullRing = .wait(upTo: .seconds(60))
      let store = try LogStore(directory: path, name: "test", configuration: configuration)
      let log = store.logger(label: "l")
      let kept = Atomic<Int>(0)
      let thread = try Thread(name: "appender") {
        for number in 0... {
          let values = (0..<5).map { part in
            Logger.MetadataValue.bytes(Array(repeating: UInt8(part), count: 2000 + number % 999))
          }
          if !log.append(level: .info, "\(number)", metadata: ["values": .array(values)]) { break }
          kept.store(number + 1, ordering: .releasing)
        }
      }
      while kept.load(ordering: .acquiring) < 40 + 10 * round {}
      let acknowledged = kept.load(ordering: .acquiring)
      try Data("\(acknowledged)".utf8).write(to: URL(fileURLWithPath: path + "/acknowledged"))
      kill(getpid(), SIGKILL)
      thread.join()
    }
    let text = try String(contentsOfFile: folder.path + "/acknowledged", encoding: .utf8)
    let acknowledged = try #require(Int(text))
    let contents = Contents(folder.path)
    #expect(contents.corruption.isEmpty)
    #expect(contents.messages == (0..<contents.records.count).map { "\($0)" })
    #expect(contents.records.count >= acknowledged)
    for (number, record) in contents.records.enumerated() {
      let values = (0..<5).map { part in
        Value.bytes(Array(repeating: UInt8(part), count: 2000 + number % 999))
      }
      #expect(record.fields.map(\.value) == [.array(values)], "batch \(number)")
    }
  }
}
