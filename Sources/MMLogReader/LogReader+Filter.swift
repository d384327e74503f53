public import MMLogFormat

extension LogReader {
  /// Which records a ``LogReader`` gives: those that pass everything that is set here. Other items
  /// are given in any case, except those of sessions that are not wanted.
  public struct Filter: Sendable {
    /// The lowest level; default: all.
    public var minimumLevel = Level.trace
    /// The earliest time; default: no limit.
    public var since: Timestamp?
    /// The time from which on no record is wanted; default: no limit.
    public var until: Timestamp?
    /// Patterns of labels, one of which has to match; `*` stands for any bytes and `?` for one
    /// byte. Default: any label.
    public var labels: [String] = []
    /// Log statements, one of which the record has to come from; default: any.
    public var callSites: [CallSitePattern] = []
    /// Threads by id or name; default: any.
    public var threads: [NamePattern] = []
    /// Processes by id or name; default: any.
    public var processes: [NamePattern] = []
    /// Beginnings of the ids of sessions; default: any session.
    public var sessions: [String] = []
    /// Whether flight records are wanted. They stayed in the ring until they were captured.
    /// Default: all records are wanted.
    public var flight = FlightChoice.any
    /// Patterns, one of which has to be found in the message, or in a pair of metadata as
    /// `key=value`. Default: anything.
    public var text: [TextPattern] = []
    /// Whether, instead, none of ``text`` may be found; default: false.
    public var isTextInverted = false
    /// Conditions of fields, all of which have to hold; default: none.
    public var conditions: [FieldCondition] = []

    /// Whether only records that begin or end a span are wanted; default: false.
    public var spansOnly = false

    /// Which records, by whether they are flight records.
    public enum FlightChoice: Sendable {
      /// All.
      case any
      /// Only flight records.
      case only
      /// All others.
      case none
    }

    /// Makes a filter that passes everything.
    public init() {}

    /// Whether a record that passes otherwise has what ``text`` and ``conditions`` ask for.
    ///
    /// - Complexity: O(bytes of the record).
    public func matchesContent(of record: LogReader.Record) -> Bool {
      ContentSearch(self, of: record.session.identity).passes(record)
    }

    /// The same filter without ``text`` and ``conditions``.
    public var withoutContent: LogReader.Filter {
      var filter = self
      (filter.text, filter.isTextInverted, filter.conditions) = ([], false, [])
      return filter
    }

    /// Whether every record passes.
    package var passesAll: Bool {
      minimumLevel == .trace && flight == .any && since == nil && until == nil && labels.isEmpty
        && callSites.isEmpty
        && threads.isEmpty && processes.isEmpty && sessions.isEmpty && text.isEmpty
        && conditions.isEmpty && !spansOnly
    }

    func passes(time: Timestamp) -> Bool { mayPass(time, time) }

    /// False for a range of times in which no record is wanted. In a corrupted file, the first time
    /// may be after the last one.
    func mayPass(_ first: Timestamp, _ last: Timestamp) -> Bool {
      if let since, last < since { return false }
      if let until, first >= until { return false }
      return true
    }

    /// False for a session of which no record is wanted.
    package func passes(_ identity: SessionIdentity) -> Bool {
      let isOfProcess =
        processes.isEmpty
        || processes.contains {
          $0.matches(number: identity.processID, name: identity.processName)
        }
      guard isOfProcess else { return false }
      if sessions.isEmpty { return true }
      let id = identity.session.description
      return sessions.contains { id.hasPrefix($0) }
    }

    func passes(isFlight: Bool) -> Bool {
      switch flight {
      case .any: true
      case .only: isFlight
      case .none: !isFlight
      }
    }

    /// False for a frame without a record that passes: it need not be decompressed.
    func mayPass(_ frame: RecordSummary) -> Bool {
      // An unknown level counts as the highest.
      mayPass(frame.firstWall - Self.clockStep, frame.lastWall + Self.clockStep)
        && frame.levels >> minimumLevel.rawValue != 0
    }

    /// How far the clocks of frames with fragments of one record may be from each other, unless
    /// somebody sets the clock between the frames. The record has its time by the clock of the
    /// first of these frames.
    private static let clockStep = Duration.seconds(1)
  }
}

extension SessionEnding {
  /// When the session ended, as far as is known; for a running session, now.
  ///
  /// - Parameter time: When its last record was logged.
  package func time(lastRecord time: Timestamp) -> Timestamp {
    switch self {
    case .ended(let end): max(time, end.time)
    case .running: .now
    case .unknown: time
    }
  }
}

extension LogReader.Session {
  /// Whether a session was running at a time that is wanted.
  ///
  /// - Parameter end: When the session ended; see ``SessionEnding/time(lastRecord:)``.
  package func isWithin(_ filter: LogReader.Filter, until end: Timestamp) -> Bool {
    filter.mayPass(identity.startTime, end)
  }
}
