import Glibc
import MMLogReader
import Testing
import MMLogTestFiles

/// How often the tests with random numbers do what they do; MMLOG_CRASH_ROUNDS for more or less.
private let rounds: Int = {
  if let text = getenv("MMLOG_CRASH_ROUNDS"), let count = Int(String(cString: text)) {
    return count
  }
  // A sanitizer makes a process many times as slow.
  let isSanitized = dlsym(nil, "__tsan_init") ?? dlsym(nil, "__asan_init") != nil
  return isSanitized ? 20 : 200
}()

/// What all of it follows from, except for the instants, which are of the clock; MMLOG_CRASH_SEED for others.
private let baseSeed: UInt64 = {
  let seed = getenv("MMLOG_CRASH_SEED").flatMap { UInt64(String(cString: $0)) } ?? 20_251_121
  print("crash tests: MMLOG_CRASH_SEED=\(seed) MMLOG_CRASH_ROUNDS=\(rounds)")
  return seed
}()

@Suite("Processes that are killed")
struct KillTests {
  @Test(
    "a process killed at any instant loses nothing, also if two that recover it are killed too",
    arguments: 0..<rounds)
  func anyInstant(_ round: Int) throws {
    let seed = baseSeed &+ UInt64(round)
    var random = SeededGenerator(seed: ~seed)
    let log = try CrashLog(Settings(seed: seed))
    let child = try log.startLogging()
    // Some early, when segments are opened and call sites are new; most when archives are full.
    usleep(UInt32.random(in: 1...random.pick(4000, 50_000, 150_000), using: &random))
    expectKilled(child, orDone: log.settings.records != nil)

    if random.pick(true, false, false) {
      try log.expectEverything(isRecovered: false, "seed \(seed), before recovery")
    }
    for _ in 0..<2 { try recoverAndDie(log, &random) }
    if random.pick(true, false, false, false) {
      try log.expectEverything(isRecovered: false, "seed \(seed), between recoveries")
    }
    try log.recover()
    let findings = try log.expectEverything("seed \(seed): \(log.settings)")
    if findings.count > 0 && log.settings.records == nil {
      #expect(findings.ending?.isRecovered == true, "seed \(seed)")
    }
  }

  /// Kills a process that recovers: from outside, at a test point, or at a system call.
  private func recoverAndDie(_ log: CrashLog, _ random: inout SeededGenerator) throws {
    var arguments: [String] = []
    #if DEBUG
      let point = random.pick("recovery.beforeFrame", "recovery.afterFrame", "recovery.closed")
      let call = Int.random(in: 1...60, using: &random)
      arguments = random.pick(
        [], ["--die-at", "\(point):\(random.pick(1, 1, 2))"], ["--die-at-call", "\(call)"],
        ["--die-at-call", "\(2 * call)", "--short-writes", "\(random.scaled(1...4096))"])
    #endif
    let child = try log.startRecovering(arguments)
    if arguments.isEmpty {
      usleep(UInt32(random.scaled(1...10_000)))
      child.signal(SIGKILL)
    }
    let ending = child.wait()
    #expect(ending == .killed(SIGKILL) || ending == .exited(0), "\(child.complaints)")
  }

  @Test("what waits for a disk that takes nothing is not lost when the process is killed")
  func fullDisk() throws {
    var settings = Settings()
    (settings.sizes, settings.isNested) = (0...500, true)
    for (round, fault) in ["1:100000000", "20:100000000", "5:3", "7:1"].enumerated() {
      settings.seed = baseSeed &+ UInt64(round)
      let log = try CrashLog(settings)
      let child = try log.startLogging(["--fail-writes", fault])
      // Until it stands still, or has got over it.
      var (last, since) = (log.acknowledged, 0)
      try child.wait {
        let now = log.acknowledged
        since = now == last ? since + 1 : 0
        last = now
        return now.reduce(0, +) > 100 && (since > 100 || now[0] > 3000)
      }
      expectKilled(child)
      try log.expectEverything(isRecovered: false, "writes that fail: \(fault)")
      try log.recover()
      try log.expectEverything("writes that fail: \(fault)")
    }
  }

  @Test("of many that recover the same rings at once, one does, and all start")
  func together() throws {
    for round in 0..<5 {
      var settings = Settings()
      settings.seed = baseSeed &+ UInt64(round)
      let log = try CrashLog(settings)
      let child = try log.startLogging()
      try child.wait { log.acknowledged.reduce(0, +) > 1000 }
      expectKilled(child)
      let others = try (0..<8).map { _ in try log.startRecovering() }
      for other in others {
        let ending = other.wait()
        #expect(ending == .exited(0), "\(other.complaints)")
      }
      try log.expectEverything("round \(round)")
    }
  }

  #if DEBUG
    @Test(
      "a process killed at any step of a segment or of its hand-over loses nothing",
      arguments: [
        "segment.opening", "segment.sealing", "segment.freeing", "dictionary.adding",
        "drainer.beforeFrame", "drainer.afterFrame", "drainer.published", "drainer.freed",
      ])
    func testPoints(_ point: String) throws {
      for count in [1, 2, 3, 7, 40] {
        // There are not so many entries in the dictionary.
        if point.hasPrefix("dictionary") && count > 7 { continue }
        var settings = Settings()
        (settings.seed, settings.isNested) = (baseSeed &+ UInt64(count), true)
        settings.labels = 3
        let log = try CrashLog(settings)
        let child = try log.startLogging(["--die-at", "\(point):\(count)"])
        let ending = child.wait()
        #expect(ending == .killed(SIGKILL), "\(point):\(count): \(child.complaints)")
        try log.recover()
        try log.expectEverything("\(point):\(count)")
      }
    }

    @Test(
      "a recovery killed at any of its steps loses nothing and repeats nothing",
      arguments: ["recovery.beforeFrame", "recovery.afterFrame", "recovery.closed"])
    func recoveryPoints(_ point: String) throws {
      let log = try deadLog()
      for count in 1...3 {
        let store = "store \(count)"
        try log.folder.copy("store", to: store)
        for attempt in 1...2 {
          let child = try log.startRecovering(["--die-at", "\(point):\(count)"], in: store)
          let ending = child.wait()
          #expect(ending == .killed(SIGKILL) || ending == .exited(0), "\(child.complaints)")
          if count == 1 && attempt == 1 { #expect(ending == .killed(SIGKILL)) }
        }
        try log.recover(in: store)
        try log.expectEverything(in: store, "\(point):\(count)")
      }
    }

    @Test(
      "a recovery killed at any of its system calls, in the middle of writes too, loses nothing")
    func recoveryCalls() throws {
      let log = try deadLog()
      for call in 1... {
        let store = "store \(call)"
        try log.folder.copy("store", to: store)
        let child = try log.startRecovering(
          ["--die-at-call", "\(call)", "--short-writes", "1500"], in: store)
        let ending = child.wait()
        if ending == .exited(0) {
          #expect(call > 20)
          break
        }
        #expect(ending == .killed(SIGKILL), "call \(call): \(child.complaints)")
        try log.recover(in: store)
        try log.expectEverything(in: store, "call \(call)")
        Folder.remove(log.folder(store))
      }
    }

    @Test("a process killed at any of its system calls, in the middle of writes too, loses nothing")
    func calls() throws {
      for call in 1...100 {
        var settings = Settings()
        (settings.seed, settings.archive) = (baseSeed &+ UInt64(call), 4)
        let log = try CrashLog(settings)
        let child = try log.startLogging(["--die-at-call", "\(call)", "--short-writes", "3000"])
        let ending = child.wait()
        #expect(ending == .killed(SIGKILL), "call \(call): \(child.complaints)")
        try log.recover()
        try log.expectEverything("call \(call)")
      }
    }
  #endif

  /// A log whose process was killed with something in its ring.
  private func deadLog() throws -> CrashLog {
    var settings = Settings()
    (settings.seed, settings.isNested) = (baseSeed, true)
    let log = try CrashLog(settings)
    // Nothing is archived but the beginning.
    let child = try log.startLogging(["--fail-writes", "6:100000000"])
    try child.wait { log.acknowledged.reduce(0, +) > 500 }
    expectKilled(child)
    return log
  }
}

/// Kills a child with SIGKILL, and expects that this was its end.
private func expectKilled(_ child: ChildProcess, orDone mayBeDone: Bool = false) {
  child.signal(SIGKILL)
  let ending = child.wait()
  let isExpected = ending == .killed(SIGKILL) || (mayBeDone && ending == .exited(0))
  #expect(isExpected, "\(ending): \(child.complaints)")
}

extension SessionEnding {
  fileprivate var isRecovered: Bool {
    if case .diedAndWasRecovered = self { true } else { false }
  }
}
