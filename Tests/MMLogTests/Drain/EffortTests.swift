@testable import MMLog
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogSystem
import Synchronization
import TestSupport
import Testing

@Suite("How much effort text is worth")
struct EffortTests {
  /// Keeps the drainer from its first frame until a test lets it go on.
  private final class Gate: Sendable {
    private let changes = EventCount()
    /// Open at first, so that the store can be opened.
    private let isOpen = Atomic<Bool>(true)

    func close() { isOpen.store(false, ordering: .releasing) }

    func open() {
      isOpen.store(true, ordering: .releasing)
      changes.advance()
    }

    func pass() {
      while true {
        let seen = changes.current
        if isOpen.load(ordering: .acquiring) { return }
        changes.wait(since: seen, atMost: 1_000_000_000)
      }
    }
  }

  /// The statistics of a store that gets random text until its ring is full, and may archive only
  /// then.
  private func fill(
    _ change: (inout LogStore.Configuration) -> Void
  ) throws -> (statistics: LogStore.Statistics, frames: [String], isWhole: Bool) {
    let gate = Gate()
    let test = try TestStore {
      ($0.ringSize, $0.drainInterval, $0.fullRing) = (8 << 20, .milliseconds(10), .dropNewest)
      $0.maintenanceHook = { phase in
        if case .willBegin = phase { gate.pass() }
      }
      change(&$0)
    }
    gate.close()
    defer { gate.open() }
    var random = SeededGenerator(seed: 7)
    var (count, last) = (0, [String]())
    while test.store.losses.isEmpty {
      let text = String(decoding: random.bytes(700).map { $0 & 63 | 64 }, as: UTF8.self)
      test.log.info("\(text, privacy: .public)")
      (count, last) = (count + 1, [text])
    }
    gate.open()
    try test.store.flush(.archive)
    let statistics = test.store.statistics
    try test.store.close()
    let contents = Contents(test.folder.path)
    let isWhole = contents.isWhole && contents.records.count == count - 1
    #expect(!contents.messages.contains(last[0]), "the one that found no room")
    let frames = LogFiles([.path(test.folder.path)]).inspect().flatMap { $0.parts.map(\.what) }
    return (statistics, frames, isWhole)
  }

  @Test("a full ring has text stored as it is, then compressed less, then as ever")
  func aFullRing() throws {
    let (statistics, frames, isWhole) = try fill { _ in }
    #expect(isWhole)
    #expect(statistics.storedFrames > 0 && statistics.reducedFrames > 0)
    #expect(statistics.frames > statistics.storedFrames + statistics.reducedFrames)
    #expect(frames.count { $0.contains("text stored in haste") } == statistics.storedFrames)
    #expect(frames.count { $0.contains("text compressed in haste") } == statistics.reducedFrames)
  }

  @Test("who does not want that gets full effort for all")
  func notWanted() throws {
    let (statistics, frames, isWhole) = try fill { $0.reducesCompression = false }
    #expect(isWhole)
    #expect(statistics.storedFrames == 0 && statistics.reducedFrames == 0)
    #expect(!frames.contains { $0.contains("haste") })
  }

  @Test("what came slowly is compressed at leisure")
  func whatCameSlowly() throws {
    let test = try TestStore { $0.drainInterval = .seconds(3600) }
    test.log.info("first")
    // The time between the records counts.
    Sleep.nanoseconds(600_000_000)
    test.log.info("last")
    try test.store.flush(.archive)
    let statistics = test.store.statistics
    try test.store.close()
    let frames = LogFiles([.path(test.folder.path)]).inspect().flatMap { $0.parts.map(\.what) }
    #expect(statistics.frames == 1 && statistics.thoroughFrames == 1)
    #expect(frames.count { $0.contains("compressed at leisure") } == 1)
  }

  @Test(
    "what little is left when a store is closed is compressed at leisure",
    arguments: [(400, true), (900, false)])
  func whatIsLeft(kibibytes: Int, isLittle: Bool) throws {
    let test = try TestStore { $0.drainInterval = .seconds(3600) }
    // Few records, so that even a busy machine does not log them slowly.
    let text = String(repeating: "x", count: 10_000)
    for number in 0..<kibibytes / 10 { test.log.info("\(number) \(text, privacy: .public)") }
    try test.store.close()
    let frames = LogFiles([.path(test.folder.path)]).inspect().flatMap { $0.parts.map(\.what) }
    #expect(frames.count { $0.contains("a frame of records") } == 1)
    #expect(frames.count { $0.contains("compressed at leisure") } == (isLittle ? 1 : 0))
  }

  @Test(
    "records come slowly if compressing them as well as can be takes a hundredth of their time",
    arguments: [
      (1 << 20, 4.3, true), (1 << 20, 3.9, false), (100, 0.6, true), (100, 0.2, false),
      (100, 0, false), (0, 0, false),
    ])
  func slowness(size: Int, seconds: Double, isSlow: Bool) {
    // Two ticks a nanosecond.
    let clock = TickClock(ticks: 0, wall: .zero, rate: 1 << 31)
    var summary = RecordSummary()
    (summary.firstTicks, summary.lastTicks) = (1000, 1000 + UInt64(seconds * 2e9))
    #expect(Handoff.cameSlowly(summary, size: size, clock) == isSlow)
    summary.lastTicks = 0
    #expect(!Handoff.cameSlowly(summary, size: size, clock), "a clock that is wrong")
  }
}
