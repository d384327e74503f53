public import MMLog
public import MMLogReader
import MMLogFormat
import MMLogSystem

/// Shows records on standard error, or another descriptor, as they come.
///
/// ```swift
/// import MMLog
/// import MMLogConsole
///
/// var configuration = LogStore.Configuration()
/// configuration.console = Console(from: .warning)
/// ```
///
/// For people in front of a terminal, and for systems that collect what containers print. No log
/// call does anything for it: records are shown when they have been moved to the archive, so within
/// about a second, or not before the archive can be written;
/// and a thread of its own formats and writes them. Records of a thread come in their order.
///
/// Who does not read what is printed keeps nobody waiting: records wait in memory, up to
/// ``capacity``, and what finds no room there is not shown; how many these were is reported where
/// they are missing. So too if the descriptor is closed, or a pipe's reader is gone (which raises
/// no `SIGPIPE`). All of them are in the log in any case.
public struct Console: Sendable {
  /// How a record is shown.
  public enum Format: Sendable {
    /// A line for people, as ``/MMLogReader/TextFormatter`` writes it: control characters are
    /// escaped.
    case text(colors: Colors = .automatic)
    /// A line with a JSON object, as ``/MMLogReader/JSONFormatter`` writes it.
    case json
  }

  /// Whether text has colors.
  public enum Colors: Sendable {
    /// On a terminal, unless the environment has a `NO_COLOR` that is not empty, or `TERM=dumb`.
    case automatic
    /// Always.
    case always
    /// Never.
    case never
  }

  /// The lowest level that is shown. It adds none to what loggers record; see
  /// ``/MMLog/Logger/level``.
  public var level: Logger.Level
  /// How a record is shown.
  public var format: Format
  /// Where to: 2, standard error, unless said otherwise. What is open there when something is
  /// written counts; it stays open.
  public var descriptor: Int32
  /// The zone that times are shown in.
  public var zone: LogTimeZone
  /// How many bytes of records may wait to be shown. Default 1 MiB; a single larger one may, if no
  /// other waits.
  public var capacity = 1 << 20

  /// What is shown, and how.
  ///
  /// - Parameters:
  ///   - level: The lowest level that is shown.
  ///   - format: How a record is shown.
  ///   - descriptor: Where to; standard error unless said otherwise.
  ///   - zone: The zone that times are shown in.
  public init(
    from level: Logger.Level = .warning, as format: Format = .text(), to descriptor: Int32 = 2,
    zone: LogTimeZone = .local
  ) {
    self.level = level
    self.format = format
    self.descriptor = descriptor
    self.zone = zone
  }
}

extension LogStore.Configuration {
  /// Where records are shown besides being logged. Default: nil, nowhere.
  public var console: Console? {
    get { echo as? Console }
    set { echo = newValue }
  }
}

extension Console: RecordEchoSettings {
  package func begin(_ identity: SessionIdentity) -> any RecordEcho {
    ConsoleEcho(self, identity)
  }

  /// As ``format`` says, now.
  func makeFormatter() -> any LogFormatter {
    switch format {
    case .json: JSONFormatter(zone: zone)
    case .text(.always): TextFormatter(zone: zone, colors: true)
    case .text(.never): TextFormatter(zone: zone, colors: false)
    case .text(.automatic):
      TextFormatter(zone: zone, colors: Terminal.has(descriptor) && Terminal.mayHaveColors)
    }
  }

  /// A line that reports records that were not shown.
  func notice(ofMissing count: UInt64) -> String {
    let sentence =
      "mmlog: \(count) record\(count == 1 ? " was" : "s were") not shown here; the log has them"
    return switch format {
    case .text: sentence + "\n"
    case .json: #"{"severity_text":"warning","severity_number":13,"body":"\#(sentence)"}"# + "\n"
    }
  }
}
