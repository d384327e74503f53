import MMLogReader

/// What is found in the log, compared with what was acknowledged.
struct LogCheck {
  private(set) var recovered = 0
  private(set) var lost = 0
  private(set) var duplicated = 0
  /// Records that stand after a later one of their thread.
  private(set) var misplaced = 0
  /// What the reader complained about.
  private(set) var complaints: [String] = []
  private(set) var sessionID = ""
  /// When the last record was logged.
  private(set) var lastTime = Timestamp.distantPast
  private var threads: [BitSet] = []

  init(in directory: String, acknowledged: [Int]) {
    threads = acknowledged.map { _ in BitSet() }
    let reader = LogReader(paths: [directory])
    complaints = reader.unreadable.map(\.message)
    for item in reader { take(item) }
    for (thread, count) in acknowledged.enumerated() {
      lost += threads[thread].missing(upTo: count)
      // A call that had not returned yet may have left its record; no more than one for a thread.
      if threads[thread].largest > count + 1 {
        complaints.append("thread \(thread) logged more than it counted")
      }
    }
  }

  private mutating func take(_ item: LogReader.Item) {
    switch item {
    case .record(let record):
      recovered += 1
      (sessionID, lastTime) = ("\(record.session.id)", record.time)
      guard let (order, thread) = Self.position(record.messageBytes), thread < threads.count else {
        return complaints.append("nobody logged this: \(record.message)")
      }
      if order < threads[thread].largest { misplaced += 1 }
      if !threads[thread].insert(order) { duplicated += 1 }
    case .corruption(let corruption): complaints.append("\(corruption.path): \(corruption.what)")
    case .losses(_, let ledger): complaints.append("counted as lost: \(ledger)")
    case .gap, .unfinished, .crashed, .sessionStarted, .sessionEnded: break
    }
  }

  /// The two numbers that a message begins with: `order 17 on line 3: …`
  private static func position(_ message: [UInt8]) -> (order: Int, thread: Int)? {
    var numbers: [Int] = []
    var isInNumber = false
    for byte in message {
      let isDigit = (48...57).contains(byte)
      if isDigit && !isInNumber { numbers.append(0) }
      if isDigit { numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte - 48) }
      if isInNumber && !isDigit && numbers.count == 2 { return (numbers[0], numbers[1]) }
      isInNumber = isDigit
    }
    return nil
  }
}

/// A set of numbers from 1, one bit each.
private struct BitSet {
  private var words: [UInt64] = []
  private(set) var largest = 0

  /// False if the number is in it already.
  mutating func insert(_ number: Int) -> Bool {
    while number / 64 >= words.count { words.append(0) }
    let bit = UInt64(1) << UInt64(number % 64)
    defer { words[number / 64] |= bit }
    largest = max(largest, number)
    return words[number / 64] & bit == 0
  }

  /// How many of the numbers from 1 to `limit` are not in it.
  func missing(upTo limit: Int) -> Int {
    guard limit > 0 else { return 0 }
    return (1...limit).count {
      $0 / 64 >= words.count || words[$0 / 64] & (1 << UInt64($0 % 64)) == 0
    }
  }
}
