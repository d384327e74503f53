import MMLogFormat
import TestSupport

/// What is to be found after a cut. It is kept beside an image that failed, so that the image can
/// be checked again.
struct Expectation {
  /// The seed that the plan follows from.
  var seed: UInt64
  /// How many records of each lane were begun at most.
  var begun: [Int]
  /// How many records of each lane have to be there, whatever their level.
  var required: [Int]
  /// How many records of each lane have to be there if they have at least `level`.
  var requiredOfLevel: [Int]
  var level: UInt8
  /// The numbers of the records that have to be there because they were recovered.
  var recovered: [[Int]] = []
  /// How many records the process itself gave up at most; all of them may have been required.
  var losses: Int

  init(seed: UInt64, begun: [Int]) {
    (self.seed, self.begun, losses, level) = (seed, begun, 0, 0)
    required = begun.map { _ in 0 }
    requiredOfLevel = required
  }

  /// The records of a lane that have to be there.
  func required(of lane: Int) -> Set<Int> {
    let all = 0..<required[lane]
    let some = (0..<requiredOfLevel[lane]).lazy.map { $0 + 1 }.filter {
      Plan.level(of: $0).rawValue >= level
    }
    return Set(all.lazy.map { $0 + 1 }).union(some)
  }

  /// Takes in what was required last before a cut.
  mutating func take(_ requirements: [Requirement], until time: Int) {
    for requirement in requirements where requirement.time <= time {
      if requirement.level == 0 {
        required = requirement.counts
      } else {
        (requiredOfLevel, level) = (requirement.counts, requirement.level)
      }
    }
  }

  var text: String {
    let lists = ([begun, required, requiredOfLevel] + recovered).map { list in
      list.map(String.init).joined(separator: " ")
    }
    return (["\(seed)", "\(level)", "\(losses)"] + lists).joined(separator: "\n") + "\n"
  }

  init(text: String) throws {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 6, let seed = UInt64(lines[0]), let level = UInt8(lines[1]),
      let losses = Int(lines[2])
    else { throw Failure("not what a failing image was kept with") }
    let lists = lines[3...].dropLast().map { $0.split(separator: " ").compactMap { Int($0) } }
    self.init(seed: seed, begun: lists[0])
    (self.level, self.losses, required, requiredOfLevel) = (level, losses, lists[1], lists[2])
    recovered = Array(lists[3...])
  }
}
