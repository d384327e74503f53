import CrashRecords
import MMLogTestFiles

/// What a child is asked to do.
struct Settings {
  var seed: UInt64 = 1
  var threads = 4
  var sizes = 0...200
  var burst: Int?
  var records: Int?
  var isNested = false
  var hasSignals = false
  var labels = 1
  var ring = 256
  var segment = 4
  var dictionary = 64
  var archive = 32
  var compression = 1
  var policy = "wait"

  init() {}

  /// Settings that follow from a seed.
  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    self.seed = seed
    threads = random.pick(1, 2, 4, 4, 4, 4, 8)
    segment = random.pick(4, 4, 8, 16)
    sizes = 0...random.pick(50, 500, 1000, 3000, 20_000)
    burst = random.pick(nil, nil, 20, 200)
    records = random.pick(nil, nil, nil, nil, 40)
    isNested = random.pick(true, false)
    hasSignals = records == nil && random.pick(true, false, false, false)
    // So many that there is no room for call sites any more.
    labels = random.pick(1, 1, 1, 100)
    dictionary = labels > 1 ? 4 : 64
    ring = random.pick(256, 256, 512)
    archive = random.pick(4, 4, 16, 64, 256)
    compression = random.pick(0, 1, 1, 6)
    policy = random.pick("wait", "wait", "wait", "wait", "drop", "overwrite")
  }

  var storeArguments: [String] {
    [
      "--ring", "\(ring)", "--segment", "\(segment)", "--dictionary", "\(dictionary)",
      "--archive", "\(archive)", "--compression", "\(compression)",
    ]
  }

  var arguments: [String] {
    var arguments =
      storeArguments + [
        "--seed", "\(seed)", "--threads", "\(threads)", "--least", "\(sizes.lowerBound)",
        "--most", "\(sizes.upperBound)", "--labels", "\(labels)", "--policy", policy,
      ]
    if let burst { arguments += ["--burst", "\(burst)"] }
    if let records { arguments += ["--records", "\(records)"] }
    if isNested { arguments.append("--nested") }
    if hasSignals { arguments.append("--signals") }
    return arguments
  }

  /// What the lane with that number logs.
  func lane(_ number: Int) -> Lane {
    let isHandler = number == CountPage.laneCount - 1
    return Lane(number, sizes: isHandler ? 0...0 : sizes, seed: seed)
  }

  /// Whether a record of that lane may be dropped, though counted: its call does not wait for long.
  func mayDrop(_ lane: Int) -> Bool {
    policy != "wait" || lane % 2 == 1
  }
}
