import CrashRecords
import MMLogFormat
import MMLogReader

/// Compares what dead processes had in their state slots with what they had acknowledged: it has to
/// be what they acknowledged last, or were just about to acknowledge.
struct StateCheck {
  private let pages: [Int: CountPage]
  private(set) var problems: [String] = []
  /// The lanes of which something is known.
  private(set) var lanes: Set<Int> = []

  init(in files: LogFiles, _ pages: [Int: CountPage]) {
    self.pages = pages
    for session in files.sessions {
      for (name, value) in SessionSummary(session).dictionary.lastState?.pairs ?? [] {
        check(name, value, session.identity.processID)
      }
    }
  }

  private mutating func check(_ name: String, _ value: Value, _ processID: UInt32) {
    let words = name.split(separator: " ")
    guard words.count == 2, let lane = Int(words[1]),
      let page = pages[lane / CountPage.laneCount]
    else { return problems.append("a state slot of nobody: \(name)") }
    // A child of fork shows none of its parent's slots.
    if page.processID != processID {
      return problems.append("\(name) is in another process's session")
    }
    let acknowledged = page[lane % CountPage.laneCount]
    let expected = [acknowledged, acknowledged + 1].map { sequence -> Value in
      if name == LaneState.name(ofNumberOf: lane) { return .int(Int64(sequence)) }
      return .string(sequence == 0 ? [] : Array(LaneState.text(of: sequence).utf8))
    }
    lanes.insert(lane)
    if !expected.contains(value) {
      problems.append("\(name) is \(value), and \(acknowledged) are acknowledged")
    }
  }
}
