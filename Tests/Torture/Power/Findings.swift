import CrashCampaign
import CrashRecords
import MMLogFormat
import MMLogReader

/// What a reader finds in a folder, compared with what was logged and has to be there.
struct Findings {
  /// What is wrong.
  private(set) var problems: [String] = []
  /// The numbers of the records of each lane, in the order in which they are given.
  private(set) var lanes: [[Int]]
  /// How many places were reported to be corrupted, files that cannot be read included.
  private(set) var corruptionCount = 0
  private let plan: Plan
  private let expected: Expectation

  init(in folder: String, _ plan: Plan, _ expected: Expectation) {
    (self.plan, self.expected) = (plan, expected)
    lanes = expected.begun.map { _ in [] }
    let reader = LogReader(CampaignIdentity.files([folder]))
    corruptionCount = reader.unreadable.count
    for item in reader { take(item) }
    checkRequired()
  }

  /// Whether records are missing between others, and nothing was reported.
  var hasSilentHole: Bool {
    corruptionCount == 0 && !plan.mayLose && lanes.contains { ($0.last ?? 0) != $0.count }
  }

  private mutating func take(_ item: LogReader.Item) {
    switch item {
    case .record(let record): take(record)
    case .corruption(let corruption):
      corruptionCount += 1
      if corruption.size < 0 || corruption.offset < 0 {
        note("corruption at no place: \(corruption)")
      }
    case .losses(_, let ledger):
      // What the cut has corrupted in the ring, recovery counts.
      let causes = LossLedger.Cause.allCases.filter { $0 != .corrupted }
      let total = causes.reduce(0) { $0 + Int(clamping: ledger.total($1)) }
      if total > expected.losses {
        note("\(total) losses are reported, and there were \(expected.losses)")
      }
    case .sessionStarted, .sessionEnded, .unfinished, .gap, .crashed: break
    }
  }

  private mutating func take(_ record: LogReader.Record) {
    if record.label == Workload.labelBefore { return }
    let message = record.messageBytes
    guard let (lane, sequence) = Lane.position(of: message), lane < lanes.count,
      (1...max(1, expected.begun[lane])).contains(sequence)
    else { return note("a record that nobody logged: \(record.message.prefix(80))") }
    if !plan.lane(lane).logged(message, as: sequence) {
      note("record \(sequence) of lane \(lane) is not as it was logged")
    }
    if !plan.lane(lane).context(of: sequence).isThat(of: record) {
      note(
        "record \(sequence) of lane \(lane) has another context: "
          + LaneContext.description(of: record))
    }
    if record.level != Plan.level(of: sequence) {
      note("record \(sequence) of lane \(lane) has another level")
    }
    if let last = lanes[lane].last, sequence <= last {
      note("record \(sequence) of lane \(lane) comes after \(last), or twice")
    }
    lanes[lane].append(sequence)
  }

  private mutating func checkRequired() {
    var missing = 0
    for lane in lanes.indices {
      let there = Set(lanes[lane])
      missing += expected.required(of: lane).subtracting(there).count
      let recovered = lane < expected.recovered.count ? expected.recovered[lane] : []
      if let first = recovered.first(where: { !there.contains($0) }) {
        note("record \(first) of lane \(lane) is missing, and perhaps more: it was recovered")
      }
    }
    if missing > (plan.mayLose ? expected.losses : 0) {
      note("\(missing) records are missing that were synced")
    }
  }

  private mutating func note(_ problem: String) {
    // A few are enough.
    if problems.count < 5 { problems.append(problem) }
  }
}
