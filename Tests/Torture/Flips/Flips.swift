import TestSupport
import CommandLineTool
import Glibc
import MMLogSystem

/// Flips bits in files: nothing wrong may be read, and only what the bits were in may be missing.
enum Flips {
  static let kind = Kind(
    "flips", "Flips bits of files: nothing wrong is read, and only what the bit was in is missing.",
    description: [
      "Each bit of an archive, of an encrypted one, and of the smallest ring, one at a time, and random ones of larger files, some at a time. "
        + "A bit costs one record of a ring or one frame of an archive at most, and that is reported; one in a file header, a "
        + "segment's header or a dictionary costs nothing.",
      "flip is what is started in processes of their own. What ends one is left in its folder.",
    ],
    options: [.every, .random, .part],
    steps: Operands("flip", count: 0...1, "What to do instead."),
    examples: [Example("Some bits of each file", "mmlog-torture flips --every 100 --random 10000")],
    quick: ["--every", "101", "--random", "20000"],
    brief: ["--every", "1009", "--random", "5000"]
  ) { arguments, seed, output in
    switch arguments.operands.first {
    case nil: return try run(arguments, seed, output)
    case "flip": return try read(arguments, output)
    case let step?: throw UsageError("'\(step)' is nothing that can be done")
    }
  }

  private static func run(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try arguments.value(of: .folder) ?? Folder.temporary()
    let jobs = try arguments.integer(of: .jobs, in: 1...256) ?? 1
    let step = try arguments.integer(of: .every, in: 1...Int.max) ?? 1
    let random = try arguments.integer(of: .random, in: 0...Int.max) ?? 0
    var isGood = true
    for kind in Specimen.Kind.available {
      let place = "\(folder)/\(kind)"
      try Specimen.make(kind, in: place)
      let specimen = try Specimen(in: place)
      let plan: FlipPlan =
        kind == .pair
        ? .random(count: random, seed: seed) : .each(step: step, of: specimen.bitCount)
      let bytes = specimen.bitCount / 8
      try output.append(
        "\(kind): \(bytes) bytes, \(specimen.records.count) records; \(plan.words)\n")
      try output.flush()
      if try !FlipJobs(plan, kind, in: place, jobs: jobs).run(output) { isGood = false }
      if isGood { Folder.remove(place) }
    }
    rmdir(folder)
    return isGood ? .success : .failure
  }

  /// Does one job's share of the cases of a plan. ``FlipJobs`` starts it.
  private static func read(_ arguments: Arguments, _ output: StandardOutput) throws
    -> Program.Status
  {
    guard let place = arguments.value(of: .folder), let part = arguments.value(of: .part),
      let plan = FlipPlan(part), let job = FlipPlan.job(part)
    else { throw UsageError("--folder and --part have to be given") }
    var check = try FlipCheck(Specimen(in: place), in: "\(place)-\(job.number)")
    let bitCount = try Specimen(in: place).bitCount
    var problems = 0
    for number in stride(from: job.number, to: plan.cases, by: job.count) {
      let bits = plan.bits(of: number, below: bitCount)
      guard let problem = try check.problem(with: bits) else { continue }
      problems += 1
      if problems <= 5 {
        try output.append("  case \(number), bits \(bits.prefix(8)): \(problem)\n")
      }
    }
    let counts = check.counts
    try output.append("\(counts.cases) \(counts.withLoss) \(counts.maximumLost) \(problems)\n")
    return problems == 0 ? .success : .failure
  }
}

/// Which bits are flipped together, case by case.
enum FlipPlan: Equatable {
  case each(step: Int, of: Int)
  case random(count: Int, seed: UInt64)

  /// How many random bits are wrong at a time.
  private static let together = 20

  var cases: Int {
    switch self {
    case .each(let step, let count): (count + step - 1) / step
    case .random(let count, _): (count + Self.together - 1) / Self.together
    }
  }

  func bits(of number: Int, below limit: Int) -> [Int] {
    switch self {
    case .each(let step, _): return [number * step]
    case .random(_, let seed):
      var random = SeededGenerator(seed: seed &+ UInt64(number))
      return Array(Set((0..<Self.together).map { _ in Int.random(in: 0..<limit, using: &random) }))
    }
  }

  var words: String {
    switch self {
    case .each(1, _): "each bit"
    case .each(let step, _): "one bit of \(step)"
    case .random(let count, let seed):
      "\(count) random bits, \(Self.together) at a time, with --seed \(seed)"
    }
  }

  /// The plan as one word of a command line, with the job's number and the number of jobs.
  func part(_ number: Int, of count: Int) -> String {
    switch self {
    case .each(let step, let bits): "each,\(step),\(bits),\(number),\(count)"
    case .random(let bits, let seed): "random,\(bits),\(seed),\(number),\(count)"
    }
  }

  init?(_ part: String) {
    let words = part.split(separator: ",")
    guard words.count == 5 else { return nil }
    switch (words[0], Int(words[1]), UInt64(words[2])) {
    case ("each", let step?, let count?): self = .each(step: step, of: Int(count))
    case ("random", let count?, let seed?): self = .random(count: count, seed: seed)
    default: return nil
    }
  }

  static func job(_ part: String) -> (number: Int, count: Int)? {
    let numbers = part.split(separator: ",").suffix(2).compactMap { Int($0) }
    return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
  }
}

/// The cases of a plan in processes of their own: reading must not end or hang them.
struct FlipJobs {
  private let plan: FlipPlan
  private let kind: Specimen.Kind
  private let place: String
  private let jobs: Int

  init(_ plan: FlipPlan, _ kind: Specimen.Kind, in place: String, jobs: Int) {
    (self.plan, self.kind, self.place, self.jobs) = (plan, kind, place, jobs)
  }

  /// Returns whether nothing was found.
  func run(_ output: StandardOutput) throws -> Bool {
    let start = Clock.monotonic()
    let children = try (0..<jobs).map { job in
      try ChildProcess(
        ChildProcess.ownPath,
        ["flips", "flip", "--folder", place, "--part", plan.part(job, of: jobs)],
        output: report(job))
    }
    var totals = [0, 0, 0, 0]
    var isGood = true
    for (job, child) in children.enumerated() {
      // Hours, although it takes minutes.
      let ending = child.wait(seconds: 8 * 3600)
      let lines = String(decoding: try Folder.read(report(job)), as: UTF8.self)
        .split(separator: "\n")
      let counts = lines.last.map { $0.split(separator: " ").compactMap { Int($0) } } ?? []
      if counts.count == 4 {
        totals = [
          totals[0] + counts[0], totals[1] + counts[1], max(totals[2], counts[2]),
          totals[3] + counts[3],
        ]
      }
      for line in lines.dropLast(counts.count == 4 ? 1 : 0) { try output.append("\(line)\n") }
      unlink(report(job))
      if ending != .success {
        isGood = false
        try output.append("  a reading process \(ending); its files: \(place)-\(job)\n")
      } else {
        Folder.remove("\(place)-\(job)")
      }
    }
    let seconds = (Clock.monotonic() - start) / 1_000_000_000
    try output.append(
      "\(kind): \(totals[0]) readings in \(seconds) s, \(totals[1]) with records missing, "
        + "\(totals[2]) at most; \(totals[3]) not as they may be\n")
    try output.flush()
    return isGood
  }

  private func report(_ job: Int) -> String { "\(place)-\(job).report" }
}

extension Option {
  static let every = Option(
    "every", value: "N", default: "1", "Flip only one bit of so many in the archive and the ring.")
  static let random = Option(
    "random", value: "N", default: "1000000", "How many random bits to flip in larger files.")
  static let part = Option("part", value: "WORDS", "For flip: which cases.")
}
