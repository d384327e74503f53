/// Lines on standard error about trouble that nobody listens for: one of each kind a minute.
///
/// A line waits for a second, so that a program that listens as soon as the store is open gets no
/// line.
struct TroubleReports {
  /// The store's name.
  private let name: String
  private var waiting: [(time: UInt64, kind: String, text: String)] = []
  /// When the last line of a kind was made, and how many were left out since.
  private var last: [String: (time: UInt64, leftOut: Int)] = [:]

  private static let delay: UInt64 = 1_000_000_000
  private static let interval: UInt64 = 60_000_000_000

  init(of name: String) { self.name = name }

  mutating func add(_ event: LogStore.Event, at now: UInt64) {
    guard let kind = event.trouble else { return }
    var leftOut = 0
    if let (time, count) = last[kind] {
      if now &- time < Self.interval { return last[kind] = (time, count + 1) }
      leftOut = count
    }
    last[kind] = (now, 0)
    let more = leftOut > 0 ? " (\(leftOut) more like it were not said.)" : ""
    waiting.append((now, kind, event.text + more))
  }

  /// Begins anew, because a listener has everything that was added.
  mutating func forget() { (waiting, last) = ([], [:]) }

  /// Takes the lines whose time has come.
  ///
  /// - Parameter isOver: Whether no line can wait any longer.
  mutating func takeLines(at now: UInt64, isOver: Bool) -> [String] {
    let due = waiting.prefix { isOver || now &- $0.time >= Self.delay }
    waiting.removeFirst(due.count)
    return due.map { "mmlog: the store \(name): \($0.text)\n" }
  }
}
