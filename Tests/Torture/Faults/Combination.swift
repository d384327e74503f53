import Glibc
import MMLogSystem

/// One way for a system call to fail, written as in `fdatasync:EIO:3:once`.
struct Combination: Hashable {
  /// How long it goes on failing.
  enum Duration: String, CaseIterable {
    /// The n-th call fails.
    case once
    /// The n-th call and all that follow fail, until the store has been at work for a while.
    case awhile
    /// The n-th call and all that follow fail, until the store is closed.
    case toTheEnd = "to-the-end"
  }

  let call: SystemCall
  /// Nil: the call does not fail, but moves one byte only.
  let code: CInt?
  let number: Int
  let duration: Duration

  /// Makes it happen from now on.
  func arm() {
    #if DEBUG
      let times = duration == .once ? 1 : Int.max
      if let code {
        ForcedFault.force(call, errno: code, onCall: number, times: times, under: nil)
      } else {
        ForcedFault.forceShort(call, count: 1, onCall: number, times: times, under: nil)
      }
    #endif
  }

  /// Whether a store may get over the failure without reporting it.
  var isNoLoss: Bool {
    // The call may be the one that checks whether a directory is there before it is made.
    if call == .open && duration == .once { return true }
    return code.map(call.isNoLoss) ?? true
  }
}

extension Combination: CustomStringConvertible {
  var description: String {
    "\(call):\(code.map(SystemError.name(of:)) ?? "short"):\(number):\(duration.rawValue)"
  }

  init?(_ text: String) {
    let parts = text.split(separator: ":").map(String.init)
    guard parts.count == 4, let call = SystemCall.allCases.first(where: { "\($0)" == parts[0] }),
      let number = Int(parts[2]), let duration = Duration(rawValue: parts[3])
    else { return nil }
    (self.call, self.number, self.duration) = (call, number, duration)
    if parts[1] == "short" {
      code = nil
    } else {
      guard let code = call.errnos.first(where: { SystemError.name(of: $0) == parts[1] }) else {
        return nil
      }
      self.code = code
    }
  }
}

/// How often a scenario makes each call, counted up to three moments in it.
struct CallCounts {
  enum Moment: Int, CaseIterable {
    case opened, worked, closed
  }

  private(set) var counts: [SystemCall: [Int]] = [:]

  func count(_ call: SystemCall, until moment: Moment) -> Int {
    counts[call]?[moment.rawValue] ?? 0
  }

  /// Counts calls from now on, and makes none fail.
  static func begin() {
    #if DEBUG
      for call in SystemCall.allCases {
        ForcedFault.force(call, errno: 0, onCall: .max, under: nil)
      }
    #endif
  }

  /// Notes how many calls there were. Called at each moment, in their order.
  mutating func note() {
    #if DEBUG
      for call in SystemCall.allCases {
        counts[call, default: []].append(ForcedFault.passed(call, under: nil))
      }
    #endif
  }

  var text: String {
    counts.map { "\($0.key) \($0.value.map(String.init).joined(separator: " "))" }.sorted()
      .joined(separator: "\n")
  }

  init() {}

  init(text: String) {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard let call = SystemCall.allCases.first(where: { "\($0)" == words.first }) else {
        continue
      }
      counts[call] = words.dropFirst().compactMap { Int($0) }
    }
  }

  /// Raises the count of each call to that of the other, if that is larger.
  mutating func raise(to other: CallCounts) {
    counts.merge(other.counts) { zip($0, $1).map { max($0, $1) } }
  }

  /// Every way for every one of these calls to fail.
  var combinations: [Combination] {
    var all: [Combination] = []
    for call in SystemCall.allCases {
      let codes = call.errnos.map(Optional.some) + (call.maybeShort ? [nil] : [])
      let (opened, worked) = (count(call, until: .opened), count(call, until: .worked))
      let closed = count(call, until: .closed)
      for code in codes {
        func add(_ numbers: ClosedRange<Int>, _ duration: Combination.Duration) {
          all += numbers.map { Combination(call: call, code: code, number: $0, duration: duration) }
        }
        if closed > 0 { add(1...closed, .once) }
        // No real machine interrupts a call for ever, or lists a file and says for long that it is
        // not there.
        if code == EINTR || call == .fstatat && code == ENOENT { continue }
        if worked > 0 { add(1...worked, .awhile) }
        if closed > opened { add(opened + 1...closed, .toTheEnd) }
      }
    }
    return all
  }
}
