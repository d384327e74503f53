import TestSupport
import CrashRecords
import Glibc
import MMLog
import MMLogFormat
import MMLogSystem

/// A recorded run of a store, and images of what power cuts at any of its moments may leave.
struct SimulatedCuts {
  /// What came of the images.
  struct Outcome {
    var images = 0
    var corrupted = 0
    var silentHoles = 0
    var failures: [String] = []
  }

  private let plan: Plan
  private let folder: String
  private var random: SeededGenerator
  private var outcome = Outcome()

  /// - Parameter folder: Where files are made; images that fail stay there.
  init(seed: UInt64, in folder: String) {
    plan = Plan(seed: seed)
    random = plan.generator
    self.folder = folder
  }

  /// Runs the store and checks `images` images.
  static func run(seed: UInt64, images: Int, in folder: String) throws -> Outcome {
    var cuts = SimulatedCuts(seed: seed, in: folder)
    let (history, expected, dead) = try cuts.record()
    for _ in 0..<2 { try cuts.cutRecovery(dead, expected, isSafe: false) }
    while cuts.outcome.images < images && cuts.outcome.failures.count < 3 {
      try cuts.cut(history, expected)
    }
    return cuts.outcome
  }

  // MARK: - Recording

  /// - Returns: What happened, what is to be found, and what there would be if the process had died
  ///   at the end.
  private mutating func record() throws -> (History, Expectation, dead: Image) {
    let store = "\(folder)/store"
    try Folder.make(store)
    defer { Folder.remove(store) }
    let page = try CountPage("\(folder)/page")
    defer { unlink("\(folder)/page") }
    let recorder = Recorder(store)
    let workload = try Workload(plan, in: store, page)
    if random.oneIn(2) { recorder.writeBack() }
    let threads = try workload.start(records: plan.records)
    while workload.counts.reduce(0, +) < plan.records * plan.threads {
      try disturb(workload, recorder)
    }
    for thread in threads { thread.join() }
    let dead = try Image(reading: store, isRebooted: false)
    if random.oneIn(2) { try flush(workload, recorder, .disk) }
    if plan.isClosed {
      try workload.store.close()
      recorder.require(page.counts, level: 0)
    }
    let history = recorder.stop()
    var expected = Expectation(seed: plan.seed, begun: page.counts)
    let losses = workload.store.losses
    expected.losses = LossLedger.Cause.allCases.reduce(0) { $0 + Int(clamping: losses.total($1)) }
    try workload.store.close()
    return (history, expected, dead)
  }

  /// What happens while threads log.
  private mutating func disturb(_ workload: Workload, _ recorder: Recorder) throws {
    usleep(UInt32.random(in: 0...4000, using: &random))
    switch random.pick(0, 0, 1, 1, 2, 2, 2, 3) {
    case 0: try flush(workload, recorder, .disk)
    case 1: try flush(workload, recorder, .archive)
    case 3: recorder.writeBack()
    default: recorder.scan()
    }
  }

  private func flush(
    _ workload: Workload, _ recorder: Recorder, _ durability: LogStore.Durability
  ) throws {
    // Counts before the flush: what is logged meanwhile may or may not be flushed.
    let counts = workload.counts
    try workload.store.flush(durability)
    if durability == .disk {
      recorder.require(counts, level: 0)
    } else if let level = plan.configuration.syncLevel {
      recorder.require(counts, level: level.rawValue)
    }
  }

  // MARK: - Cutting

  private mutating func cut(_ history: History, _ expected: Expectation) throws {
    let time = random.oneIn(4) ? history.now : Int.random(in: 1...history.now, using: &random)
    var expected = expected
    expected.take(history.requirements, until: time)
    let image = Image(of: history, at: time, &random)
    try check(image, expected)
    if random.oneIn(10) { try cutRecovery(image, expected) }
  }

  /// Cuts the power again while the image is being recovered, or after that.
  ///
  /// - Parameter isSafe: Whether all of the image is on the disk. If not, only the process has died
  ///   so far.
  private mutating func cutRecovery(
    _ image: Image, _ expected: Expectation, isSafe: Bool = true
  ) throws {
    let folder = "\(self.folder)/recovered"
    try image.write(to: folder)
    defer { Folder.remove(folder) }
    let recorder = Recorder(folder, isSafe: isSafe)
    var recovered = Int.max
    do {
      try Check.recover(folder, plan) { recovered = recorder.scan() }
    } catch {
      outcome.failures.append("recovery: \(error)")
    }
    let history = recorder.stop()
    let found = Findings(in: folder, plan, expected).lanes
    for _ in 0..<8 {
      let time = Int.random(in: 1...history.now, using: &random)
      var expected = expected
      // The ring may be gone by then.
      if time >= recovered { expected.recovered = found }
      if !isSafe && time < recovered { continue }
      try check(Image(of: history, at: time, &random), expected)
    }
  }

  private mutating func check(_ image: Image, _ expected: Expectation) throws {
    let store = "\(folder)/image"
    try image.write(to: store)
    // Written before reading, so that it is there if reading ends the process.
    try Folder.write(Array(expected.text.utf8), to: "\(folder)/expected")
    let check = Check(store, expected)
    outcome.images += 1
    if check.hasCorruption { outcome.corrupted += 1 }
    if check.hasSilentHole { outcome.silentHoles += 1 }
    Folder.remove(store)
    if check.problems.isEmpty { return }
    let kept = "\(folder)/failed-\(outcome.images)"
    try image.write(to: "\(kept)/image")
    try Folder.write(Array(expected.text.utf8), to: "\(kept)/expected")
    let problems = check.problems.joined(separator: "\n    ")
    outcome.failures.append("image \(outcome.images), kept in \(kept):\n    \(problems)")
  }
}
