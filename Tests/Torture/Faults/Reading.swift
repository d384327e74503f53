import CrashCampaign
import CrashRecords
import MMLogFormat
import MMLogReader
import MMLogStorage

/// What a reader finds in a folder, compared with what was logged there.
struct Reading {
  /// What is wrong, whatever happened: records that nobody logged, that are there twice, or that
  /// are out of order.
  private(set) var problems: [String] = []
  /// What the reader reports of things that it could not read.
  private(set) var complaints: [String] = []
  /// How many records of each lane there are.
  private(set) var counts: [Int]
  /// The numbers of each lane's records.
  private(set) var found: [Set<Int>]
  /// How many sessions say what signal they died of.
  private(set) var crashCount = 0
  /// How many records the sessions themselves say were lost.
  private(set) var losses = 0
  /// How many records say that a part of them is missing.
  private(set) var cutCount = 0
  private let lanes: [Lane]
  private let plain: ClosedRange<Int>?
  private var last: [Int]

  /// - Parameters:
  ///   - others: More files.
  ///   - plain: The lanes whose records have no contexts.
  init(
    _ folder: String, and others: [String] = [], _ lanes: [Lane], plain: ClosedRange<Int>? = nil
  ) {
    (self.lanes, self.plain) = (lanes, plain)
    counts = lanes.map { _ in 0 }
    found = lanes.map { _ in [] }
    last = counts
    let reader = LogReader(CampaignIdentity.files([folder] + others))
    complaints = reader.unreadable.map(\.message)
    for item in reader {
      switch item {
      case .record(let record): take(record)
      case .corruption(let corruption): complaints.append("\(corruption)")
      // A record that found no room for its last fragments is counted as lost, or was kept in a
      // segment that threads share.
      case .unfinished, .gap: break
      case .losses(_, let ledger): losses += ledger.lostCount
      case .crashed: crashCount += 1
      case .sessionStarted, .sessionEnded: break
      }
    }
  }

  private mutating func take(_ record: LogReader.Record) {
    let message = record.messageBytes
    guard let (lane, sequence) = Lane.position(of: message), lane < lanes.count else {
      return note("a record that nobody logged: \(record.message.prefix(80))")
    }
    if record.isCut {
      cutCount += 1
    } else if !lanes[lane].logged(message, as: sequence) {
      note("record \(sequence) of lane \(lane) is not as it was logged")
    } else if !context(lane, sequence).isThat(of: record) {
      note(
        "record \(sequence) of lane \(lane) has another context: "
          + LaneContext.description(of: record))
    }
    if sequence <= last[lane] {
      note("record \(sequence) of lane \(lane) comes after \(last[lane]), or twice")
    }
    last[lane] = sequence
    counts[lane] += 1
    found[lane].insert(sequence)
  }

  private func context(_ lane: Int, _ sequence: Int) -> LaneContext {
    plain?.contains(lane) == true ? LaneContext() : lanes[lane].context(of: sequence)
  }

  private mutating func note(_ problem: String) {
    // A few are enough.
    if problems.count < 5 { problems.append(problem) }
  }
}

extension LossLedger {
  /// How many records were lost whole.
  var lostCount: Int {
    LossLedger.Cause.allCases.filter { $0 != .cut }.reduce(0) { $0 + Int(clamping: total($1)) }
  }
}
