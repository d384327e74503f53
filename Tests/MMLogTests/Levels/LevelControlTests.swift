import Foundation
import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Levels that are set from outside the program.
@Suite("Levels from outside")
struct LevelControlTests {
  private static let timeout: Int64 = 300_000_000_000

  /// The ring of the store in a folder, opened as another process would.
  private func ring(_ folder: TemporaryDirectory) throws -> LiveRing {
    let rings = try LiveRing.all(in: folder.path) { Issue.record("\($0)") }
    #expect(rings.count == 1)
    return try #require(rings.first)
  }

  private func set(_ ring: LiveRing, _ list: String, for seconds: Double? = nil) throws {
    let expiry = seconds.map { Clock.sinceBoot() + UInt64($0 * 1e9) } ?? 0
    let ordinal = try ring.askForLevels { _ in
      LevelRule.list(list).rules.map { LevelOverride($0, expiry: expiry) }
    }
    try ring.waitForLevels(ordinal, within: Self.timeout)
  }

  @Test("what has a ring's name and is no file is reported, and asked for nothing")
  func pipeWithARingsName() throws {
    let folder = TemporaryDirectory()
    let name = FileNames.Ring(store: "test", session: SessionID(words: (1, 2))).fileName
    try #require(mkfifo(folder(name), 0o600) == 0)
    var problems: [LogError.Code] = []
    let rings = try LiveRing.all(in: folder.path) { problems.append($0.code) }
    #expect(rings.isEmpty && problems == [.foreignFile])
  }

  @Test("rules hold for labels that are there and those to come, until they are taken back")
  func overriding() throws {
    let test = try TestStore { $0.level = .warning }
    let (pool, web) = (test.store.logger(label: "db.pool"), test.store.logger(label: "web"))
    web.level = .error
    let ring = try ring(test.folder)
    try set(ring, "db.*=debug,web=trace")
    let later = test.store.logger(label: "db.later")
    #expect(pool.level == .debug && web.level == .trace && later.level == .debug)
    #expect(test.log.level == .trace && test.store.levels["db.pool"] == .debug)
    pool.debug("seen")
    // Levels that the program sets meanwhile count afterwards.
    pool.level = .critical
    test.store.setLevel(.notice, for: "db.l*")
    #expect(pool.level == .debug && later.level == .debug)
    try set(ring, "web=off,db.*=debug")
    #expect(web.level == .off && pool.level == .debug)
    let shown = try ring.labels().first { $0.name == "web" }
    #expect(shown?.level == .off)
    web.critical("off")
    try set(ring, "")
    #expect(pool.level == .critical && web.level == .error && later.level == .notice)
    pool.debug("not seen")
    #expect(try test.closeAndRead().messages == ["seen"])
  }

  @Test("levels go back by themselves when their time is over, and an event reports it")
  func expiry() async throws {
    let test = try TestStore { $0.level = .info }
    let log = test.store.logger(label: "db")
    var events = test.store.events.makeAsyncIterator()
    let ring = try ring(test.folder)
    try set(ring, "db=trace", for: 3600)
    // The drainer may see this only when its time is over. That ends the rules that hold, too.
    try set(ring, "db=trace", for: 2)
    var reported: [[LevelRule]] = []
    while reported.last?.isEmpty != true, let event = await events.next() {
      if case .levelsSet(let rules) = event { reported.append(rules) }
    }
    #expect(reported.count > 1)
    #expect(reported.dropLast().allSatisfy { $0 == [LevelRule(.trace, for: "db")] })
    #expect(log.level == .info)
    try test.store.blockingClose()
  }

  @Test("the ring says which labels there are, their levels, and what was set from outside")
  func listing() throws {
    let test = try TestStore { $0.level = .notice }
    _ = test.store.logger(label: "web")
    let ring = try ring(test.folder)
    try set(ring, "we?=debug")
    let labels = try ring.labels()
    #expect(labels.map(\.name) == ["test", "web"])
    #expect(labels.map(\.level) == [.trace, .debug])
    #expect(labels.map(\.isOverridden) == [false, true])
    #expect(try ring.overrides().map(\.rule) == [LevelRule(.debug, for: "we?")])
    try test.store.close()
    #expect(!ring.isRunning)
    #expect(throws: LogError.self) {
      try ring.waitForLevels(.max, within: Self.timeout)
    }
    #expect(try LiveRing.all(in: test.folder.path) { Issue.record("\($0)") }.isEmpty)
  }

  @Test("what was set from outside goes along into the ring that comes in a lost one's place")
  func replacement() async throws {
    let test = try TestStore { $0.level = .info }
    let log = test.store.logger(label: "db")
    let old = try ring(test.folder)
    try set(old, "db=trace")
    var events = test.store.events.makeAsyncIterator()
    let name = try #require(try test.folder.names(ending: ".ring").first)
    try FileManager.default.removeItem(atPath: test.folder(name))
    while let event = await events.next() { if case .resumed = event { break } }
    let new = try ring(test.folder)
    #expect(new.path != old.path && log.level == .trace)
    #expect(try new.overrides().map(\.rule) == [LevelRule(.trace, for: "db")])
    try set(new, "")
    #expect(log.level == .info)
    try test.store.blockingClose()
  }

  @Test("a request with rules without end is refused, and nothing changes")
  func tooMany() throws {
    let test = try TestStore()
    let ring = try ring(test.folder)
    let many = (0..<100).map { "a label with the number \($0)=debug" }.joined(separator: ",")
    let error = logError { try set(ring, many) }
    #expect(error?.code == .invalidConfiguration && error?.message.contains("100 rules") == true)
    #expect(try ring.overrides().isEmpty)
    try test.store.close()
  }

  @Test("requests at the same time are all done")
  func manyAtOnce() throws {
    let test = try TestStore { $0.level = .info }
    let ring = try ring(test.folder)
    let folder = test.folder
    try onThreads(4) { number in
      do {
        let own = try LiveRing.all(in: folder.path) { Issue.record("\($0)") }
        for turn in 0..<5 {
          let rule = LevelRule(.debug, for: "l\(number).\(turn)")
          _ = try own[0].askForLevels { $0 + [LevelOverride(rule, expiry: 0)] }
        }
      } catch {
        Issue.record("\(error)")
      }
    }
    #expect(try ring.overrides().count == 20)
    try ring.waitForLevels(20, within: Self.timeout)
    #expect(test.store.logger(label: "l3.4").level == .debug)
    try test.store.close()
  }

  @Test("the environment sets levels when a store is opened; what is wrong is reported")
  func environment() async {
    await #expect(processExitsWith: .success) {
      setenv("MMLOG_LEVEL", "info,db.*=trace,web=loud,old=Warn", 1)
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "n")
      require(store.logger(label: "db.pool").level == .trace)
      require(store.logger(label: "web").level == .info)
      require(store.logger(label: "old").level == .warning)
      store.setLevel(.error, for: "*")
      require(store.logger(label: "db.pool").level == .error)
      var errors: [LogError] = []
      var events = store.events.makeAsyncIterator()
      if case .failed(let error) = await events.next() { errors.append(error) }
      require(errors.map(\.code) == [.invalidConfiguration])
      require(errors[0].message.contains("'web=loud'"), errors[0].message)
      try store.blockingClose()
    }
  }

  @Test(
    "a child of fork has the levels that were set from outside, and its own ring for more",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func forking() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore { $0.level = .info }
      let log = test.store.logger(label: "db")
      let ring = try LiveRing.all(in: test.folder.path) { require(false, "\($0)") }[0]
      let ordinal = try ring.askForLevels { _ in
        [LevelOverride(LevelRule(.trace, for: "db"), expiry: 0)]
      }
      try ring.waitForLevels(ordinal, within: 300_000_000_000)
      let child = Glibc.fork()
      if child == 0 {
        log.trace("of the child")
        let own = try? LiveRing.all(in: test.folder.path) { require(false, "\($0)") }
          .first { $0.identity.processID == UInt32(getpid()) }
        require((try? own?.overrides().count) == 1, "no rule in the child's ring")
        try? test.store.close()
        _exit(0)
      }
      var status: CInt = 0
      waitpid(child, &status, 0)
      require(status == 0, "\(status)")
      require(try test.closeAndRead().messages == ["of the child"])
    }
  }
}
