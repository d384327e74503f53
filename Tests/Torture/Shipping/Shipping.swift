import CommandLineTool
import Glibc
import MMLogSystem
import TestSupport

/// Shippers that are killed, and a receiver that counts.
enum Shipping {
  static let kind = Kind(
    "shipping", "Kills shippers; what the receiver has, refused and missed is all that was logged.",
    description: [
      "In each round, processes log numbered records and end in order or by SIGKILL, and shippers send them to a receiver that keeps "
        + "batches in a file. The shippers die at every step and system call of theirs, two of them run at once, their disk is full, limits "
        + "delete archives, and the receiver fails, refuses records, and says that it has failed when it has not.",
      "At the end a shipper is left alone. Then each record is at the receiver, or was refused and put aside, or is counted in a gap. "
        + "Where a batch is there twice, it has the same id and the same records; without those, no record is there twice, and each "
        + "session's are in order, but for what was on its way when an archive of it was deleted. The balance of the directory has no problem.",
      "In 25 rounds and more, each of these things must have happened; in 100 and more, gaps too.",
      "run, log and ship are what is started in processes of their own. orders logs orders, and speed reports how fast a directory is "
        + "shipped to a receiver that takes everything.",
    ],
    options: [
      .shippingRounds, .receiver, .firstNumber, .numberCount, .shippingPoint, .shippingCall,
      .writes, .leave, .atMost,
    ],
    steps: Operands("run|log|ship|orders|speed", count: 0...1, "What to do instead."),
    examples: [
      Example("Some 2,000 killed shippers", "mmlog-torture shipping --rounds 500"),
      Example("What a report names", "mmlog-torture shipping --rounds 1 --seed 4711"),
    ],
    quick: ["--rounds", "120"],
    brief: ["--rounds", "25", "--seconds", "30"]
  ) { arguments, seed, output in
    let rounds = try arguments.integer(of: .shippingRounds, in: 1...1_000_000) ?? 1
    switch arguments.operands.first {
    case nil: return try runAll(arguments, rounds, seed, output)
    case "run": return try run(arguments, rounds, seed, output)
    case "log": return try LoggedNumbers.run(arguments, seed)
    case "ship": return try ShippingChild.run(arguments, seed)
    case "orders": return try ShippingSpeed.log(arguments)
    case "speed": return try ShippingSpeed.run(arguments, output)
    case let step?: throw UsageError("'\(step)' is nothing that can be done")
    }
  }

  /// How many rounds each child process does.
  private static let batchSize = 5

  private static func runAll(
    _ arguments: Arguments, _ rounds: Int, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try arguments.workFolder(for: "rounds of shipping", seed, output)
    let start = Clock.monotonic()
    var counts = ShippingCounts()
    var batches = try Batches(arguments, folder: folder, output, timeout: 3600)
    let seeds = stride(from: 0, to: rounds, by: batchSize).map { seed &+ UInt64($0) }
    try batches.run(seeds) { batch in
      let count = min(batchSize, rounds - Int(batch.seed &- seed))
      return [
        "shipping", "run", "--seed", "\(batch.seed)", "--rounds", "\(count)", "--folder",
        batch.folder,
      ]
    } done: { batch in
      counts.add(ShippingCounts(report: batch.report))
    }
    let seconds = Double(Clock.monotonic() - start) / 1e9
    let played = min(rounds, batches.begun * batchSize)
    try output.append(counts.summary(rounds: played, seconds: seconds))
    // The folder stays if something is kept in it.
    rmdir(folder)
    let idle = counts.idle(in: played)
    if !idle.isEmpty { try output.append("never happened: \(idle.joined(separator: ", "))\n") }
    return batches.failures == 0 && idle.isEmpty ? .success : .failure
  }

  private static func run(
    _ arguments: Arguments, _ rounds: Int, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try Power.required(.folder, arguments)
    var (counts, isGood) = (ShippingCounts(), true)
    for seed in (0..<rounds).map({ seed &+ UInt64($0) }) {
      let path = "\(folder)/round-\(seed)"
      try Folder.make(path)
      var round = try ShippingRound(seed: seed, in: path)
      let problems = try round.run()
      counts.add(round.counts)
      if problems.isEmpty {
        Folder.remove(path)
        continue
      }
      isGood = false
      try output.append("  shipping --rounds 1 --seed \(seed), kept in \(path):\n")
      for problem in problems { try output.append("    \(problem)\n") }
      try output.flush()
    }
    try output.append("\(counts.text)\n")
    return isGood ? .success : .failure
  }
}

/// What happened in rounds.
struct ShippingCounts {
  /// Each with the number of rounds in which it has to happen: it cannot be missing by chance in so
  /// many.
  private static let kinds = [
    ("records logged", 25), ("at the receiver", 25), ("refused", 25), ("in gaps", 100),
    ("batches repeated", 25), ("shippers killed", 25), ("shippers that failed", 25),
    ("shippers that ended", 25), ("services killed", 25), ("archives deleted", 25),
    ("records repeated after a deletion", Int.max),
  ]
  var numbers = [Int](repeating: 0, count: kinds.count)

  init() {}

  /// What never happened, and has to happen in so many rounds.
  func idle(in rounds: Int) -> [String] {
    zip(Self.kinds, numbers).filter { $0.1 <= rounds && $1 == 0 }.map { $0.0.0 }
  }

  /// Reads the last line of a report.
  init(report: String) {
    let line = report.split(separator: "\n").last ?? ""
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    if numbers.count == self.numbers.count { self.numbers = numbers }
  }

  mutating func add(_ other: ShippingCounts) {
    for index in numbers.indices { numbers[index] += other.numbers[index] }
  }

  var text: String { numbers.map { "\($0)" }.joined(separator: " ") }

  func summary(rounds: Int, seconds: Double) -> String {
    let lines = zip(Self.kinds, numbers).map { "  \($0.0): \($1)\n" }.joined()
    return "\(rounds) rounds in \(Int(seconds)) s:\n\(lines)"
  }

  var logged: Int {
    get { numbers[0] }
    set { numbers[0] = newValue }
  }
}

extension Option {
  fileprivate static let shippingRounds = Option(
    "rounds", value: "N", default: "100", "How many rounds to play.")
  static let receiver = Option("receiver", value: "FILE", "For ship: where batches are kept.")
  static let firstNumber = Option("first", value: "N", "For log: the first record's number.")
  static let numberCount = Option(
    "count", value: "N",
    "For log and orders: how many records. For speed: how many a batch has at most.")
  static let shippingPoint = Option("point", value: "POINT:N", "For ship: the step to die at.")
  static let shippingCall = Option("call", value: "N", "For ship: the system call to die at.")
  static let writes = Option("writes", value: "N:M", "For ship: writes that find a full disk.")
  static let leave = Option("leave", "For log: die without closing the store.")
}
