import MMLogFormat
import MMLogStorage
import TestSupport
import Testing

@Suite struct RetentionTests {
  private typealias Archive = RetentionPlan.Archive

  /// Ten archives of 100 bytes, the last of which is being written: their last records are 10, 9, …
  /// 1 s old at second 1000.
  private func archives(_ change: (inout [Archive]) -> Void = { _ in }) -> [Archive] {
    var archives = (0..<10).map {
      Archive(allocated: 100, lastTime: Timestamp(seconds: 990 + Int64($0)))
    }
    archives[9].obstacle = .active
    change(&archives)
    return archives
  }

  private func limits(_ change: (inout Retention) -> Void) -> Retention {
    var retention = Retention.unlimited
    change(&retention)
    return retention
  }

  private func plan(
    _ retention: Retention, _ archives: [Archive], space: (free: Int, total: Int)? = nil
  ) -> RetentionPlan {
    RetentionPlan(retention, archives, now: Timestamp(seconds: 1000), space: space)
  }

  @Test("without limits everything is kept") func withoutLimitsEverythingIsKept() {
    let plan = plan(.unlimited, archives(), space: (free: 0, total: 1000))
    #expect(plan.deletions.isEmpty && plan.unmet.isEmpty)
  }

  @Test(
    "each limit deletes the oldest and says which",
    arguments: [
      (Retention.Rule.count, 3), (.totalSize, 4), (.age, 5), (.freeSpace, 2),
    ])
  func eachLimitDeletesTheOldestAndSaysWhich(rule: Retention.Rule, count: Int) {
    let retention = limits {
      switch rule {
      case .count: $0.count = 7
      case .totalSize: $0.totalSize = 699
      case .age: $0.age = .milliseconds(5500)
      default: ($0.freeSpace, $0.minimumSize) = (.fraction(0.05), 0)
      }
    }
    let plan = plan(retention, archives(), space: (free: 300, total: 10_000))
    #expect(plan.deletions.map(\.index) == Array(0..<count))
    #expect(plan.deletions.allSatisfy { $0.rule == rule } && plan.unmet.isEmpty)
  }

  @Test("all limits hold together") func allLimitsHoldTogether() {
    let retention = limits { ($0.age, $0.count, $0.totalSize) = (.milliseconds(8500), 7, 500) }
    let deletions = plan(retention, archives()).deletions
    #expect(deletions.map(\.index) == Array(0..<5))
    #expect(deletions.map(\.rule) == [.age, .age, .count, .totalSize, .totalSize])
  }

  @Test("what is uploaded goes first") func whatIsUploadedGoesFirst() {
    let archives = archives { for index in [4, 2, 7] { $0[index].isUploaded = true } }
    #expect(plan(limits { $0.count = 6 }, archives).deletions.map(\.index) == [2, 4, 7, 0])
  }

  @Test("archives without records do not count and go with those before")
  func archivesWithoutRecordsDoNotCountAndGoWithThoseBefore() {
    let archives = archives { for index in [2, 5, 8] { $0[index].isEmpty = true } }
    #expect(plan(limits { $0.count = 7 }, archives).deletions.isEmpty)
    #expect(plan(limits { $0.count = 5 }, archives).deletions.map(\.index) == [0, 1])
    #expect(plan(limits { $0.count = 4 }, archives).deletions.map(\.index) == [0, 1, 2, 3])
  }

  @Test("what is pinned stays and counts") func whatIsPinnedStaysAndCounts() {
    let archives = archives { for index in 0...3 { $0[index].obstacle = .pinned } }
    #expect(plan(limits { $0.count = 7 }, archives).deletions.map(\.index) == [4, 5, 6])
    let tight = plan(limits { $0.count = 3 }, archives)
    #expect(tight.deletions.map(\.index) == [4, 5, 6, 7, 8] && tight.unmet == [.count])
  }

  @Test("archives around the newest crashes stay") func archivesAroundTheNewestCrashesStay() {
    let archives = archives {
      for index in [1, 4] { $0[index].crashTime = Timestamp(Int64(index)) }
    }
    for (crashes, deleted) in [
      (0, [0, 1, 2, 3, 4, 5, 6]), (1, [0, 1, 2, 3, 6, 7, 8]), (2, [0, 3, 6, 7, 8]),
    ] {
      let plan = plan(limits { ($0.count, $0.crashes) = (3, crashes) }, archives)
      #expect(plan.deletions.map(\.index) == deleted, "\(crashes)")
      #expect(plan.unmet == (crashes == 2 ? [.count] : []))
    }
  }

  @Test("the newest crash is the one that happened last")
  func theNewestCrashIsTheOneThatHappenedLast() {
    let archives = archives { ($0[1].crashTime, $0[4].crashTime) = (9, 8) }
    let plan = plan(limits { ($0.count, $0.crashes) = (3, 1) }, archives)
    #expect(plan.deletions.map(\.index) == [0, 3, 4, 5, 6, 7, 8])
  }

  @Test("a limit smaller than one archive leaves the one being written")
  func aLimitSmallerThanOneArchiveLeavesTheOneBeingWritten() {
    let plan = plan(limits { $0.totalSize = 1 }, archives())
    #expect(plan.deletions.map(\.index) == Array(0..<9) && plan.unmet == [.totalSize])
  }

  @Test("a disk filled by others leaves the newest archives")
  func aDiskFilledByOthersLeavesTheNewestArchives() {
    let retention = limits { ($0.freeSpace, $0.minimumSize) = (.bytes(1 << 40), 350) }
    let plan = plan(retention, archives(), space: (free: 0, total: 1 << 41))
    #expect(plan.deletions.map(\.index) == Array(0..<7) && plan.unmet == [.freeSpace])
  }

  @Test("space that other rules make free counts") func spaceThatOtherRulesMakeFreeCounts() {
    let retention = limits { ($0.count, $0.freeSpace, $0.minimumSize) = (8, .bytes(300), 0) }
    let plan = plan(retention, archives(), space: (free: 0, total: 1000))
    #expect(plan.deletions.map(\.rule) == [.count, .count, .freeSpace])
  }

  @Test("a file system that nothing limits has enough space", arguments: [0, 0.05, 1])
  func aFileSystemThatNothingLimitsHasEnoughSpace(part: Double) {
    let limits = limits {
      ($0.totalSize, $0.freeSpace, $0.minimumSize) = (500, .fraction(part), 0)
    }
    let plan = plan(limits, archives(), space: (free: .max, total: .max))
    #expect(plan.deletions.map(\.rule) == Array(repeating: .totalSize, count: 5))
    #expect(plan.unmet.isEmpty)
  }

  @Test(
    "the time for a plan grows with the number of unsent archives, and not with its square",
    .timeLimit(.minutes(1)))
  func aPlanForManyUnsentArchives() {
    // Comparing each with all others would take minutes.
    let archives = (0..<100_000).map { index in
      var archive = Archive(allocated: 100, lastTime: Timestamp(Int64(index)))
      archive.isUnsent = true
      return archive
    }
    let limits = limits { ($0.unsentSize, $0.freeSpace, $0.minimumSize) = (.max, .bytes(150), 0) }
    let plan = plan(limits, archives, space: (free: 0, total: 1 << 40))
    #expect(plan.deletions.map(\.index) == [0, 1])
    #expect(plan.kept.count == 99_998 && plan.kept[2] == .unsent)
  }

  @Test("archives from the future are not too old") func archivesFromTheFutureAreNotTooOld() {
    let archives = archives { $0[3].lastTime = .distantFuture }
    #expect(
      plan(limits { $0.age = .milliseconds(5500) }, archives).deletions.map(\.index) == [
        0, 1, 2, 4,
      ])
    #expect(plan(limits { $0.age = .seconds(Int64.max / 2) }, archives).deletions.isEmpty)
  }

  @Test("anything that is planned is needed and enough")
  func anythingThatIsPlannedIsNeededAndEnough() {
    for seed in 1...300 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let archives = (0..<Int.random(in: 0...30, using: &random)).map { index in
        var archive = Archive(
          allocated: .random(in: 0...5, using: &random) * 4096, lastTime: Timestamp(Int64(index)))
        archive.isUploaded = .random(using: &random)
        archive.obstacle = Int.random(in: 0..<5, using: &random) == 0 ? .pinned : nil
        return archive
      }
      let retention = limits {
        $0.count = .some(.random(in: 0...20, using: &random)).flatMap { $0 > 0 ? $0 : nil }
        $0.totalSize = .some(.random(in: 0...20, using: &random)).flatMap {
          $0 > 0 ? $0 * 4096 : nil
        }
      }
      let plan = plan(retention, archives)
      let deleted = Set(plan.deletions.map(\.index))
      let kept = archives.indices.filter { !deleted.contains($0) }
      let size = kept.reduce(0) { $0 + archives[$1].allocated }
      let isOver =
        kept.count > retention.count ?? .max || size > retention.totalSize ?? .max
      #expect(deleted.count == plan.deletions.count, "seed \(seed)")
      #expect(deleted.allSatisfy { archives[$0].obstacle == nil }, "seed \(seed)")
      // A limit is exceeded only if nothing is left to delete.
      #expect(isOver == !plan.unmet.isEmpty, "seed \(seed)")
      if isOver { #expect(kept.allSatisfy { archives[$0].obstacle != nil }, "seed \(seed)") }
      // Without the last deletion a limit would not hold.
      if let last = plan.deletions.last {
        let before = size + archives[last.index].allocated
        #expect(
          last.rule == .count
            ? kept.count >= retention.count ?? .max
            : before > retention.totalSize ?? .max,
          "seed \(seed)")
      }
    }
  }
}
