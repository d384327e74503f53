import MMLogReader

/// What is said on standard error about something that is not a record.
struct Report {
  let sentence: String
  /// What more there is to say, a line each.
  var details: [String] = []
  /// Whether something that was logged is missing.
  let isCorruptionOrLoss: Bool

  /// Nil for what is as it should be, and for the end of a session that ended before the time asked
  /// for, or began after it.
  init?(_ item: LogReader.Item, _ filter: LogReader.Filter, _ zone: LogTimeZone) {
    switch item {
    case .record, .sessionStarted: return nil
    case .corruption(let corruption):
      sentence = "\(corruption.path): corrupted: \(corruption.summary)"
      isCorruptionOrLoss = true
    case .gap(let gap):
      sentence = "\(gap.session.title): \(gap.summary)"
      isCorruptionOrLoss = gap.isLoss
    case .unfinished(let record):
      sentence = "\(record.session.title): \(record.summary)"
      isCorruptionOrLoss = false
    case .crashed(let session, let crash):
      guard session.isWithin(filter, crash.time) else { return nil }
      sentence = "\(session.title): \(crash.summary)"
      details = crash.details
      isCorruptionOrLoss = false
    case .losses(let session, let ledger):
      sentence = "\(session.title): \(ledger)"
      isCorruptionOrLoss = true
    case .sessionEnded(let session, let ending, let lastTime):
      guard let summary = ending.summary(zone), session.isWithin(filter, lastTime) else {
        return nil
      }
      sentence = "\(session.title): \(summary)"
      isCorruptionOrLoss = false
    }
  }
}

extension LogReader.Session {
  /// `session 0123… (orders, pid 42)`
  var title: String {
    "session \(id) (\(identity.processName), pid \(identity.processID))"
  }

  fileprivate func isWithin(_ filter: LogReader.Filter, _ lastTime: Timestamp) -> Bool {
    if let since = filter.since, lastTime < since { return false }
    if let until = filter.until, identity.startTime >= until { return false }
    return true
  }
}

extension SessionEnding {
  fileprivate func summary(_ zone: LogTimeZone) -> String? {
    switch self {
    case .ended(let end): end.how == .closed ? nil : end.text(zone)
    case .running: nil
    case .unknown: "neither its ring nor a mark of its end is here: its last records may be missing"
    }
  }
}

extension SessionEnd {
  fileprivate func text(_ zone: LogTimeZone) -> String {
    var time = TimeFormatter(zone)
    let isRecovered = recovered != nil
    return "\(time.text(of: self)); what its ring held "
      + (isRecovered ? "was recovered by a later start" : "is shown, and not recovered yet")
  }
}

extension TimeFormatter {
  /// `ended by SIGTERM from process 4711 at 2026-11-21T09:00:00.000000000Z`
  mutating func text(of end: SessionEnd) -> String {
    let isCertain = end.how != .killed && end.how != .powerLost
    return "\(end.summary)\(isCertain ? "" : ", last sign of life") at \(text(of: end.time))"
  }
}
