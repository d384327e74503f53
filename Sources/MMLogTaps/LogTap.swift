public import MMLog
public import MMLogReader
import MMLogFormat

/// Sees a store's records after they were archived, on a thread of its own.
///
/// ```swift
/// import MMLog
/// import MMLogTaps
///
/// var configuration = LogStore.Configuration()
/// configuration.taps = [
///   LogTap(Console(), from: .warning),
///   LogTap(Journal()),
/// ]
/// ```
///
/// No log call does anything for a tap: it is given what was moved to the archive, so within about
/// a second, or not before the archive can be written. Records of a thread come in their order,
/// but for flight records: these come when they are captured, all at once.
/// ``/MMLogReader/LogReader/Filter/flight`` leaves them out.
///
/// A tap keeps nobody waiting, neither a log call nor the archive: records wait for it in memory,
/// up to ``capacity``. What finds no room there the tap does not get, and what its output cannot
/// write, it tries again ten times in some seconds. How many records were missed is said where they
/// are missing, by ``/MMLog/LogStore/Event/tapFailed(tap:error:)`` and
/// ``/MMLog/LogStore/Event/tapResumed(tap:missed:)``, and by
/// ``/MMLog/LogStore/Statistics/missedByTaps``. The log has them in any case. A store's closing
/// waits for a second for what is still to be written.
public struct LogTap: Sendable {
  /// Where a tap's records go to.
  ///
  /// One is made for each session, by the first record that it gets, and used by one thread alone:
  /// it may keep files and connections, and wait.
  public protocol Output {
    /// Writes the first of some records, as many as it can, in their order.
    ///
    /// - Parameter records: At least one.
    /// - Returns: How many were written: from 1 on. The others come again.
    /// - Throws: if the first one cannot be written. It comes again, up to ten times.
    mutating func write(_ records: ArraySlice<LogReader.Record>) throws -> Int

    /// Says that records are missing at this place; see ``LogTap/notice(ofMissing:)``.
    ///
    /// - Throws: if that cannot be written. It is tried again.
    mutating func write(missing count: UInt64) throws
  }

  /// What the tap is called in events; the output's type, unless said otherwise.
  public var name: String
  /// Which records the tap gets. It adds none to what loggers record; see
  /// ``/MMLog/Logger/level``.
  public var filter: LogReader.Filter
  /// Changes the tap's copy of a record before it is written; false: the record is not written.
  /// What is archived stays as it is. A copy that cannot be written, since a value is nested too
  /// deep, counts as missed. Called on the tap's thread. Default: nil, nothing is changed.
  public var edit: (@Sendable (inout EditableRecord) -> Bool)?
  /// How many bytes of records may wait, as the ring has them. Default 1 MiB; a single larger one
  /// may, if no other waits.
  public var capacity = 1 << 20

  let makeOutput: @Sendable () -> any Output

  /// A tap.
  ///
  /// - Parameters:
  ///   - output: Where to. Evaluated for each session of the store, as in a fork's child.
  ///   - level: The lowest level that is written. Default: all.
  ///   - filter: Which records besides; its minimum level does not count. Default: all.
  public init<Target: Output>(
    _ output: @autoclosure @escaping @Sendable () -> Target, from level: Logger.Level = .trace,
    filter: LogReader.Filter = LogReader.Filter()
  ) {
    name = "\(Target.self)"
    self.filter = filter
    self.filter.minimumLevel = level
    makeOutput = output
  }

  /// A sentence that says how many records were not written at a place.
  public static func notice(ofMissing count: UInt64) -> String {
    "mmlog: \(count) record\(count == 1 ? " was" : "s were") not shown here; the log has them"
  }
}

extension LogStore.Configuration {
  /// Where records go besides being archived. Default: nowhere.
  public var taps: [LogTap] {
    get { recordTaps.compactMap { $0 as? LogTap } }
    set { recordTaps = newValue }
  }
}

extension LogTap: RecordTapSettings {
  package func begin(_ identity: SessionIdentity, _ reports: TapReports) -> any RecordTap {
    TapThread(self, identity, reports)
  }
}
