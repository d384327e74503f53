import TestSupport
import CrashCampaign
import Glibc
import MMLogStorage
import Testing

/// How often the tests with random numbers do what they do; MMLOG_CRASH_ROUNDS for more or less.
/// Few, since a debug build reads slowly: Tools/torture plays the same rounds, optimized, by the
/// hundred with each change, and by the thousand otherwise.
private let rounds: Int = {
  if let text = getenv("MMLOG_CRASH_ROUNDS"), let count = Int(String(cString: text)) {
    return count
  }
  return 10
}()

/// What all of it follows from, except for the instants, which are of the clock; MMLOG_CRASH_SEED
/// for others.
private let baseSeed: UInt64 = {
  let seed = getenv("MMLOG_CRASH_SEED").flatMap { UInt64(String(cString: $0)) } ?? 20_251_121
  print("crash tests: MMLOG_CRASH_SEED=\(seed) MMLOG_CRASH_ROUNDS=\(rounds)")
  return seed
}()

@Suite("Processes that are killed")
struct KillTests {
  @Test(
    "processes killed at any instant or step lose nothing, also if those that recover them are killed too",
    arguments: 0..<rounds)
  func anyInstant(_ number: Int) throws {
    let seed = baseSeed &+ UInt64(number)
    var round = try CrashRound(seed: seed)
    let outcome = try round.run()
    #expect(outcome.problems.isEmpty, "seed \(seed): \(round.settings)")
  }

  @Test("what waits for a disk that takes nothing is not lost when the process is killed")
  func fullDisk() throws {
    var settings = Settings()
    (settings.sizes, settings.isNested) = (0...500, true)
    for (round, fault) in ["1:100000000", "20:100000000", "5:3", "7:1"].enumerated() {
      settings.seed = baseSeed &+ UInt64(round)
      let log = try CrashLog(settings)
      let process = try log.startLogging(["--fail-writes", fault])
      // Until it stands still, or has got over it.
      var (last, since) = (log.acknowledged, 0)
      try process.child.wait {
        let now = log.acknowledged
        since = now == last ? since + 1 : 0
        last = now
        return now.reduce(0, +) > 100 && (since > 100 || now[0] > 3000)
      }
      expectKilled(process)
      try log.expectEverything(isRecovered: false, "writes that fail: \(fault)")
      try log.expectRecovery()
      try log.expectEverything("writes that fail: \(fault)")
    }
  }

  @Test("of many that recover the same rings at once, one does, and all start")
  func together() throws {
    for round in 0..<5 {
      var settings = Settings()
      settings.seed = baseSeed &+ UInt64(round)
      let log = try CrashLog(settings)
      let process = try log.startLogging()
      try process.child.wait { log.acknowledged.reduce(0, +) > 1000 }
      expectKilled(process)
      let others = try (0..<8).map { _ in try log.startRecovering() }
      for other in others {
        let ending = other.wait()
        #expect(ending == .success, "\(other.child.complaints)")
      }
      try log.expectEverything("round \(round)")
    }
  }

  #if DEBUG
    @Test(
      "a process that logs dies at any step of what it does, and loses nothing",
      arguments: TestPoint.allCases.filter {
        !$0.isOfRecovery && !$0.isOfSuccessor && $0.isReachable
      })
    func testPoints(_ point: TestPoint) throws {
      for count in [1, 7] where count <= point.maximumTimes {
        var settings = Settings()
        (settings.seed, settings.isNested) = (baseSeed &+ UInt64(count), true)
        settings.labels = 3
        settings.suit(point)
        let log = try CrashLog(settings)
        let process = try log.startLogging(["--die-at", "\(point):\(count)"])
        // Where a child by fork is to die, its parent lives.
        if point == .forkDetached || point == .forkReopened {
          try process.child.wait { log.died(at: point) }
          process.child.killFamily()
        }
        let ending = process.wait()
        #expect(ending == .killed(SIGKILL), "\(point):\(count): \(process.child.complaints)")
        process.child.killFamily()
        #expect(process.child.waitForFamily(seconds: 120))
        #expect(log.died(at: point))
        try log.expectRecovery()
        try log.expectEverything("\(point):\(count)")
      }
    }

    @Test(
      "what a process leaves that dies as it opens a segment anew does not look like corruption",
      arguments: [60, 100, 200])
    func openingAnew(_ count: Int) throws {
      var settings = Settings()
      settings.seed = baseSeed &+ UInt64(count)
      let log = try CrashLog(settings)
      let process = try log.startLogging(["--die-at", "\(TestPoint.segmentOpening):\(count)"])
      let ending = process.wait()
      #expect(ending == .killed(SIGKILL), "\(process.child.complaints)")
      for isRecovered in [false, true] {
        if isRecovered { try log.expectRecovery() }
        try log.expectEverything(isRecovered: isRecovered, "\(count)")
      }
    }

    @Test(
      "of a killed process's flight records, the last ones of each thread are there, without a gap")
    func flightRecords() throws {
      for round in 0..<4 {
        var settings = Settings()
        (settings.seed, settings.flight) = (baseSeed &+ UInt64(round), Settings.Flight.none)
        let log = try CrashLog(settings)
        let process = try log.startLogging()
        // More than there is room for.
        try process.child.wait { (0..<4).allSatisfy { log.acknowledged[2 * $0] > 3000 } }
        expectKilled(process)
        for isRecovered in [false, true] {
          if isRecovered { try log.expectRecovery() }
          try log.expectEverything(isRecovered: isRecovered, "flight records")
          let findings = try log.findings(isRecovered: isRecovered)
          let lanes = (0..<4).map { findings.flight(ofLane: 2 * $0) }
          // Of a thread that the system has not let run for a while, all may be evicted.
          let isAnyThere = lanes.contains { $0.isThere }
          #expect(isAnyThere && lanes.allSatisfy { $0.gaps == 0 }, "\(lanes)")
        }
      }
    }

    @Test(
      "of a killed process's spans, the flight records of those that failed are there, once, and none of others",
      arguments: [
        TestPoint.spanRecordMarked, .spanRecordErased, .spanFrameWritten, .flightBeforeFrame,
        .drainerPublished, .drainerFreed,
      ])
    func spans(_ point: TestPoint) throws {
      for count in [1, 5, 40] {
        var settings = Settings()
        settings.seed = baseSeed &+ UInt64(count)
        settings.decideBySpans(records: 400)
        let log = try CrashLog(settings)
        let process = try log.startLogging(["--die-at", "\(point):\(count)"])
        // It may have all its records before.
        let ending = process.wait()
        #expect(
          ending == .killed(SIGKILL) || ending == .success && count > 1,
          "\(process.child.complaints)")
        try log.expectEverything(isRecovered: false, "\(point):\(count)")
        try log.expectRecovery()
        try log.expectEverything("\(point):\(count)")
      }
    }

    @Test("a process that dies as it goes on with another's archive leaves that as it was")
    func resuming() throws {
      var settings = Settings()
      (settings.seed, settings.records, settings.resumes) = (baseSeed, 20, true)
      settings.archive = 1024
      let log = try CrashLog(settings)
      let first = try log.startLogging()
      #expect(first.wait() == .success, "\(first.child.complaints)")
      for process in 1...2 {
        let next = try log.startLogging(process: process, ["--die-at", "archiveResumed:1"])
        #expect(next.wait() == .killed(SIGKILL), "\(next.child.complaints)")
        #expect(log.died(at: .archiveResumed))
        try log.expectEverything(isRecovered: false, "process \(process)")
      }
      let last = try log.startLogging(process: 3)
      #expect(last.wait() == .success, "\(last.child.complaints)")
      try log.expectEverything()
      #expect(try Folder.names(log("store")).filter { $0.hasSuffix(".mmlog") }.count == 1)
    }

    @Test(
      "a recovery that dies at any of its steps loses nothing and repeats nothing",
      arguments: TestPoint.allCases.filter(\.isOfRecovery))
    func recoveryPoints(_ point: TestPoint) throws {
      let log = try deadLog()
      for count in 1...point.maximumTimes {
        let store = "store \(count)"
        try Folder.copy(log("store"), to: log(store))
        for attempt in 1...2 {
          let process = try log.startRecovering(["--die-at", "\(point):\(count)"], in: store)
          let ending = process.wait()
          #expect(
            ending == .killed(SIGKILL) || ending == .success, "\(process.child.complaints)")
          if count == 1 && attempt == 1 { #expect(ending == .killed(SIGKILL)) }
        }
        try log.expectRecovery(in: store)
        try log.expectEverything(in: store, "\(point):\(count)")
      }
    }

    @Test(
      "a recovery killed at any of its system calls, in the middle of writes too, loses nothing")
    func recoveryCalls() throws {
      // Few large records: all of them are read for each call.
      let log = try deadLog(sizes: 500...2000, records: 500)
      // There are hundreds: another quarter of them each time.
      let first = Int.random(in: 1...4)
      print("crash tests: a recovery is killed at each fourth call from \(first)")
      for call in sequence(first: first, next: { $0 + 4 }) {
        let store = "store \(call)"
        try Folder.copy(log("store"), to: log(store))
        let process = try log.startRecovering(
          ["--die-at-call", "\(call)", "--short-writes", "10000"], in: store)
        let ending = process.wait()
        if ending == .success {
          #expect(call > 20)
          break
        }
        #expect(ending == .killed(SIGKILL), "call \(call): \(process.child.complaints)")
        try log.expectRecovery(in: store)
        try log.expectEverything(in: store, "call \(call)")
        Folder.remove(log(store))
      }
    }

    @Test("a process killed at any of its system calls, in the middle of writes too, loses nothing")
    func calls() throws {
      for call in 1...100 {
        var settings = Settings()
        (settings.seed, settings.archive) = (baseSeed &+ UInt64(call), 4)
        let log = try CrashLog(settings)
        let process = try log.startLogging([
          "--die-at-call", "\(call)", "--short-writes", "3000",
        ])
        let ending = process.wait()
        #expect(ending == .killed(SIGKILL), "call \(call): \(process.child.complaints)")
        try log.expectRecovery()
        try log.expectEverything("call \(call)")
      }
    }
  #endif

  /// A log whose process was killed with something in its ring, and with losses.
  private func deadLog(sizes: ClosedRange<Int> = 0...200, records: Int = 5000) throws -> CrashLog {
    var settings = Settings()
    (settings.seed, settings.isNested, settings.policy) = (baseSeed, true, .drop)
    settings.sizes = sizes
    let log = try CrashLog(settings)
    // Nothing is archived but the beginning.
    let process = try log.startLogging(["--fail-writes", "6:100000000"])
    try process.child.wait { log.acknowledged.reduce(0, +) > records }
    expectKilled(process)
    return log
  }
}

/// Kills a child with SIGKILL, and expects that this was its end.
private func expectKilled(_ process: LoggingProcess) {
  process.child.kill()
  let ending = process.wait()
  #expect(ending == .killed(SIGKILL), "\(ending): \(process.child.complaints)")
}

extension CrashLog {
  /// Has a child recover the store that nobody kills.
  fileprivate func expectRecovery(in store: String = "store") throws {
    let problems = try recover(in: store)
    #expect(problems.isEmpty)
  }

  /// Expects that exactly what was logged is there, and that no ring is left.
  ///
  /// - Parameter isRecovered: False as long as it is in a ring.
  fileprivate func expectEverything(
    in store: String = "store", isRecovered: Bool = true, _ comment: Comment? = nil,
    _ location: Testing.SourceLocation = #_sourceLocation
  ) throws {
    let findings = try findings(in: store, isRecovered: isRecovered)
    #expect(findings.problems.isEmpty, comment, sourceLocation: location)
  }
}
