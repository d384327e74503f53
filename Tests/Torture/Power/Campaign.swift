import TestSupport
import CommandLineTool
import MMLogSystem

/// Simulated cuts of many runs, a hundred images each.
struct Campaign {
  private let seed: UInt64
  private let images: Int
  private let output: StandardOutput
  private var batches: Batches
  private static let imagesOfRun = 100
  /// The number of images of which some have to be corrupted.
  private static let imagesForCorruption = 500

  init(_ arguments: Arguments, seed: UInt64, folder: String, _ output: StandardOutput) throws {
    images = try arguments.integer(of: .images, in: 0...Int.max) ?? 0
    (self.seed, self.output) = (seed, output)
    batches = try Batches(arguments, folder: folder, output, timeout: 300)
  }

  private static var canRecord: Bool {
    #if DEBUG
      true
    #else
      false
    #endif
  }

  /// Returns whether nothing was found.
  mutating func run() throws -> Bool {
    if images == 0 { return true }
    guard Self.canRecord else {
      throw Failure("simulated cuts need a build with DEBUG, as Tools/torture makes one")
    }
    let start = Clock.monotonic()
    let runs = (images + Self.imagesOfRun - 1) / Self.imagesOfRun
    let maximum = min(images, Self.imagesOfRun)
    var outcome = SimulatedCuts.Outcome()
    try batches.run((0..<runs).map { seed &+ UInt64($0) }) { run in
      ["power", "run", "--seed", "\(run.seed)", "--images", "\(maximum)", "--folder", run.folder]
    } done: { run in
      let counts = run.report.split(separator: "\n").last?.split(separator: " ")
        .compactMap { Int($0) }
      guard let counts, counts.count == 3 else { return }
      outcome.images += counts[0]
      outcome.corrupted += counts[1]
      outcome.silentHoles += counts[2]
    }
    let seconds = (Clock.monotonic() - start) / 1_000_000_000
    try output.append(
      """
      \(outcome.images) images of \(batches.begun) runs in \(seconds) s: \(batches.failures) runs failed
      \(outcome.corrupted) images with corruption reported, \(outcome.silentHoles) with holes that nothing reports

      """)
    let isCut = outcome.corrupted > 0 || outcome.images < Self.imagesForCorruption
    if !isCut { try output.append("no image lacks anything: nothing was cut\n") }
    return batches.failures == 0 && isCut
  }
}
