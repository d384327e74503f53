package import MMLogAnalysis
package import MMLogFormat
package import MMLogReader

extension TimeFormatter {
  /// Spans that had begun and not ended when their process died, one line each. Empty if nothing
  /// was in flight.
  package mutating func lines(_ spans: OpenSpans) -> [String] {
    var lines: [String] = []
    for span in spans.list.prefix(20) { lines.append(line(span)) }
    let others = spans.count - lines.count
    return others > 0 ? lines + [count(others, "more span")] : lines
  }

  private mutating func line(_ span: OpenSpans.Open) -> String {
    let parent = span.parent.map { ", part of \(LogReader.Span.text(of: $0))" } ?? ""
    let label = span.label.isEmpty ? "" : "\(span.label), "
    return "\(span.message) (\(label)thread \(span.thread), since \(text(of: span.time)), span "
      + "\(LogReader.Span.text(of: span.number))\(parent))"
  }

  /// `ended by SIGTERM from process 4711 at 2026-11-21T09:00:00.000000000Z`
  package mutating func text(of end: SessionEnd) -> String {
    let isCertain = end.how != .killed && end.how != .powerLost
    return "\(end.summary)\(isCertain ? "" : ", last sign of life") at \(text(of: end.time))"
  }
}

extension TimeFormatter {
  /// A session as JSON, for programs.
  package mutating func json(_ overview: SessionOverview, _ open: OpenSpans) -> JSONObject {
    var object = JSONObject()
    object.add(overview.session)
    object.add("start_time", overview.session.identity.startTime, &self)
    object.add("last_record_time", overview.lastTime, &self)
    object.add("records", overview.recordCount)
    object.add("archives", overview.archiveCount)
    object.add("has_ring", json: "\(overview.hasRing)")
    add(overview.ending, to: &object)
    object.add("crash", overview.crash?.summary)
    if let said = overview.crash?.message, !said.isEmpty { object.add("said", said) }
    if !overview.state.isEmpty { object.add("state", json: overview.stateInWords.json.text) }
    if !overview.losses.isEmpty { object.add("lost", json: overview.losses.json) }
    add(overview.gaps.map { $0.summary(&self) }, "gaps", to: &object)
    let corruption = overview.corruption.map { "\($0.path): \($0.summary)" }
    add(corruption, "corruption", to: &object)
    if overview.ending.isCrash { object.add("in_flight", open.count) }
    return object
  }

  private func add(_ texts: [String], _ name: String, to object: inout JSONObject) {
    if texts.isEmpty { return }
    object.add(name, json: JSONObject.array(texts.map(JSONObject.text)))
  }

  /// Adds how a session ended.
  package mutating func add(_ ending: SessionEnding, to object: inout JSONObject) {
    switch ending {
    case .running: object.add("ending", "running")
    case .unknown: object.add("ending", "unknown")
    case .ended(let end):
      object.add("ending", "\(end.how)")
      object.add("is_crash", json: "\(end.how.isCrash)")
      object.add("ending_text", end.summary)
      object.add("ending_time", end.time, &self)
      if end.signal != 0 { object.add("ending_signal", end.signal) }
      if end.sender != 0 { object.add("ending_sender", end.sender) }
      object.add("recovered_time", end.recovered, &self)
    }
  }

  /// `running`, `closed at …`
  package mutating func ending(_ ending: SessionEnding) -> String {
    switch ending {
    case .ended(let end): text(of: end) + recovery(end)
    case .running: "running"
    case .unknown: "end unknown"
    }
  }

  private mutating func recovery(_ end: SessionEnd) -> String {
    if end.how == .closed { return "" }
    return end.recovered.map { ", recovered at \(text(of: $0))" } ?? ", not recovered"
  }
}

extension TimeFormatter {
  /// An open span as JSON, for programs.
  package mutating func json(_ span: OpenSpans.Open) -> JSONObject {
    var object = JSONObject()
    object.add("span_id", LogReader.Span.text(of: span.number))
    object.add("parent_span_id", span.parent.map(LogReader.Span.text))
    object.add("start_time", span.time, &self)
    object.add("body", span.message)
    object.add("scope_name", span.label)
    object.add("thread_name", span.thread)
    return object
  }
}

extension LossLedger {
  /// Counts by cause and level.
  package var json: String {
    var object = JSONObject()
    for cause in Cause.allCases where total(cause) > 0 {
      var levels = JSONObject()
      for level in Level.allCases where self[cause, level] > 0 {
        levels.add(level.description, self[cause, level])
      }
      object.add("\(cause)", json: levels.text)
    }
    return object.text
  }
}

extension SessionIdentity {
  /// `session 0123… (orders, pid 42)`
  package var title: String { "session \(session) (\(processName), pid \(processID))" }
}

extension LogReader.Session {
  /// As that of its identity.
  package var title: String { identity.title }
}
