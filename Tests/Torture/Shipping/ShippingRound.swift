import Glibc
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport

/// Services and shippers of one directory, one after the other, and what comes of them.
struct ShippingRound {
  private let seed: UInt64
  private let folder: String
  private var random: SeededGenerator
  private var next = 1
  private var deletedCount = 0
  private(set) var counts = ShippingCounts()

  private var log: String { "\(folder)/log" }
  private var receiver: String { "\(folder)/received" }

  init(seed: UInt64, in folder: String) throws {
    (self.seed, self.folder, random) = (seed, folder, SeededGenerator(seed: seed))
    try Folder.make("\(folder)/log")
  }

  /// - Returns: What is wrong.
  mutating func run() throws -> [String] {
    // Archives that are deleted before a consumer begins are not among its gaps.
    guard try child(["ship", "--receiver", receiver]) == .success else {
      return ["the first shipper did not end"]
    }
    for _ in 0..<Int.random(in: 2...5, using: &random) {
      if random.oneIn(4) == false { try logSome() }
      if random.oneIn(3) { try deleteSome() }
      for _ in 0..<Int.random(in: 1...3, using: &random) { try shipSome() }
    }
    // Ships once undisturbed, and once more: nothing may be left.
    for _ in 0..<2 {
      let ending = try child(["ship", "--receiver", receiver])
      guard ending == .success else { return ["the last shipper \(ending)"] }
    }
    return try problems()
  }

  // MARK: - What happens

  private func child(_ arguments: [String], seed: UInt64 = 0) throws -> Ending {
    try start(arguments, seed: seed).wait(seconds: 120)
  }

  private func start(_ arguments: [String], seed: UInt64) throws -> ChildProcess {
    try ChildProcess(
      ChildProcess.ownPath,
      ["shipping"] + arguments + ["--folder", log, "--seed", "\(seed)"],
      output: "\(folder)/output-\(seed)")
  }

  private mutating func logSome() throws {
    let count = random.scaled(1...4000)
    let isLeft = random.oneIn(2)
    let options = ["--first", "\(next)", "--count", "\(count)"] + (isLeft ? ["--leave"] : [])
    let ending = try child(["log"] + options, seed: random.next() >> 1)
    guard ending == (isLeft ? .killed(SIGKILL) : .success) else {
      throw Failure("a service \(ending)")
    }
    next += count
    counts.logged += count
    counts.numbers[8] += isLeft ? 1 : 0
  }

  /// Deletes the oldest archives, as a limit would.
  private mutating func deleteSome() throws {
    let catalog = Catalog(of: log, store: nil)
    let sealed = try catalog.scan().filter { $0.isSealed }
    let count = random.scaled(0...3)
    for archive in sealed.prefix(count) {
      try catalog.delete([archive.fileName], if: { _ in true }) { _, outcome in
        if case .deleted = outcome { deletedCount += 1 }
      }
    }
    counts.numbers[9] += min(count, sealed.count)
  }

  private mutating func shipSome() throws {
    var shippers: [ChildProcess] = []
    for _ in 0..<(random.oneIn(5) ? 2 : 1) {
      shippers.append(
        try start(["ship", "--receiver", receiver] + death(), seed: random.next() >> 1))
    }
    for shipper in shippers {
      switch shipper.wait(seconds: 120) {
      case .killed(SIGKILL): counts.numbers[5] += 1
      case .exited(0): counts.numbers[7] += 1
      // The shipper found a full disk, or another shipper at work.
      case .exited(1): counts.numbers[6] += 1
      case let ending: throw Failure("a shipper \(ending): \(shipper.complaints)")
      }
    }
  }

  private mutating func death() -> [String] {
    let points = TestPoint.allCases.filter {
      (TestPoint.consumerFileMade.rawValue...TestPoint.recordPutAside.rawValue)
        .contains($0.rawValue)
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return []
    case 1:
      return ["--writes", "\(random.scaled(1...20)):\(random.scaled(1...5))"]
    case 2...4: return ["--call", "\(random.scaled(1...500))"]
    default:
      let point = points[Int.random(in: points.indices, using: &random)]
      return ["--point", "\(point):\(random.scaled(1...12))"]
    }
  }

  // MARK: - What comes of it

  private struct Line {
    let session: String
    let gaps: String
    let numbers: [Int]
  }

  private mutating func problems() throws -> [String] {
    var problems: [String] = []
    let lines = try received(&problems)
    var seen: Set<Int> = []
    var lastOfSession: [String: Int] = [:]
    // If an archive is deleted while its records are on their way, those that are still there are
    // shipped anew.
    var repeatedUpTo: [String: Int] = [:]
    var (missed, mayBeSent) = (0, false)
    for line in lines {
      if line.gaps.contains("?") { repeatedUpTo[line.session] = lastOfSession[line.session] }
      for number in line.numbers {
        let mayRepeat = number <= repeatedUpTo[line.session] ?? 0
        if !seen.insert(number).inserted {
          counts.numbers[10] += mayRepeat ? 1 : 0
          if !mayRepeat { problems.append("\(number) is there twice") }
        }
        if mayRepeat { continue }
        if number <= lastOfSession[line.session] ?? 0 {
          problems.append("\(number) comes after \(lastOfSession[line.session] ?? 0)")
        }
        lastOfSession[line.session] = number
      }
      for gap in line.gaps.split(separator: ",") {
        mayBeSent = mayBeSent || gap.hasSuffix("?")
        missed += Int(gap.prefix { $0 != "?" }) ?? 0
      }
    }
    let refused = try refusedNumbers(&problems)
    problems += refused.intersection(seen).map { "\($0) is refused and there" }
    let missing = Set(1..<next).subtracting(seen).subtracting(refused)
    // Each piece of a large record counts in a gap.
    if missing.count > missed || deletedCount == 0 && missing.count < missed {
      problems.append(
        "\(next - 1) were logged; \(seen.count) are there, \(refused.count) refused, and gaps have "
          + "\(missed) (\(mayBeSent ? "some may be there" : "none is there")); missing are "
          + "\(missing.count): \(missing.sorted().prefix(10))")
    }
    let balance = try Reconciliation(of: log, consumer: "numbers")
    problems += balance.problems.map { "balance: \($0)" }
    counts.numbers[1] += seen.count
    counts.numbers[2] += refused.count
    counts.numbers[3] += missed
    return Array(problems.prefix(20))
  }

  /// The batches at the receiver, each once.
  private mutating func received(_ problems: inout [String]) throws -> [Line] {
    var (lines, known) = ([Line](), [String: String]())
    for text in Folder.text(receiver).split(separator: "\n") {
      let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { continue }
      if let other = known[parts[0]] {
        counts.numbers[4] += 1
        if other != parts[1] { problems.append("batch \(parts[0]) is there twice, and differs") }
        continue
      }
      known[parts[0]] = parts[1]
      let fields = parts[1].split(separator: " ", omittingEmptySubsequences: false)
      guard fields.count == 3 else {
        problems.append("'\(text)' is no line")
        continue
      }
      let numbers = fields[2].split(separator: ",").compactMap { Int($0) }
      lines.append(Line(session: String(fields[0]), gaps: String(fields[1]), numbers: numbers))
    }
    return lines
  }

  private func refusedNumbers(_ problems: inout [String]) throws -> Set<Int> {
    let all = try RefusedRecords.read(of: "numbers", in: Directory.open(log))
    var numbers: Set<Int> = []
    for entry in all.entries {
      let body = entry.content.split(separator: "\"body\":\"", maxSplits: 1).last ?? ""
      guard let number = Int(body.prefix { $0.isNumber }) else {
        problems.append("'\(entry.content.prefix(100))' is no record")
        continue
      }
      if !number.isMultiple(of: FileReceiver.refusedEvery) {
        problems.append("\(number) was put aside, and not refused")
      }
      numbers.insert(number)
    }
    return numbers
  }
}
