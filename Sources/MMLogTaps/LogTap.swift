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
/// No log call does any work for a tap. The tap gets records that were moved to the archive: within
/// about a second, or as soon as the archive can be written. Records of a thread come in their
/// order, except flight records: they come when they are captured, all at once.
/// ``/MMLogReader/LogReader/Filter/flight`` leaves them out.
///
/// Neither a log call nor the archive waits for a tap: records wait for the tap in memory, up to
/// ``capacity``. The tap does not get records that find no room there. If its output cannot write a
/// record, the tap tries again, ten times in some seconds. The number of missed records is reported
/// where they are missing, by ``/MMLog/LogStore/Event/tapFailed(tap:error:)`` and
/// ``/MMLog/LogStore/Event/tapResumed(tap:missed:)``, and by
/// ``/MMLog/LogStore/Statistics/missedByTaps``. The log has the missed records in any case. A store
/// that closes waits up to a second for all its taps; what they have not written by then counts as
/// missed.
///
/// Whoever logs into the store within an output, or within ``edit``, gets these records in the tap,
/// too, and so on without an end. Give such records a label of their own, and leave it out by
/// ``filter``.
public struct LogTap: Sendable {
  /// Where a tap's records go.
  ///
  /// The tap makes one output for each session, at the session's first record, and uses it from one
  /// thread only: an output may keep files and connections, and wait.
  public protocol Output {
    /// Writes the first of some records, as many as it can, in their order.
    ///
    /// - Parameter records: At least one.
    /// - Returns: How many were written: at least 1. The others come again.
    /// - Throws: if the first one cannot be written. It comes again, up to ten times.
    mutating func write(_ records: ArraySlice<LogReader.Record>) throws -> Int

    /// Says that records are missing at this place; see ``LogTap/notice(ofMissing:)``.
    ///
    /// - Throws: if that cannot be written. It is tried again.
    mutating func write(missing count: UInt64) throws
  }

  /// What the tap is called in events; the output's type, unless said otherwise.
  public var name: String
  /// Which records the tap gets. It adds no records to those that loggers record; see
  /// ``/MMLog/Logger/level``.
  public var filter: LogReader.Filter
  /// Changes the tap's copy of a record before it is written. If it returns false, the record is
  /// not written. The archived record stays as it is. A copy that cannot be written because a value
  /// is nested too deep counts as missed. Called on the tap's thread. Default: nil, nothing is
  /// changed.
  public var edit: (@Sendable (inout EditableRecord) -> Bool)?
  /// How many bytes of records may wait, counted as in the ring. Default 1 MiB; a single larger
  /// record may wait if no other does.
  public var capacity = 1 << 20

  let makeOutput: @Sendable () -> any Output

  /// Makes a tap.
  ///
  /// - Parameters:
  ///   - output: Where the records go. Evaluated for each session of the store, such as that of a
  ///     fork's child, on the tap's thread, at the session's first record. So name files by
  ///     absolute paths: the working directory may be another one by then.
  ///   - level: The lowest level that is written. Default: all.
  ///   - filter: Which of these records are written; its minimum level does not count. Default:
  ///     all.
  public init<Target: Output>(
    _ output: @autoclosure @escaping @Sendable () -> Target, from level: Logger.Level = .trace,
    filter: LogReader.Filter = LogReader.Filter()
  ) {
    name = "\(Target.self)"
    self.filter = filter
    self.filter.minimumLevel = level
    makeOutput = output
  }

  /// Returns a sentence that says how many records were not written at a place.
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
