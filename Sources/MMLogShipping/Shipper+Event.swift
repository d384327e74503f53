public import MMLogReader
import MMLogSystem

extension Shipper {
  /// What happens while a shipper works.
  @nonexhaustive
  public enum Event: Sendable {
    /// The shipper has begun, or works again after a failure.
    case started
    /// A batch is acknowledged.
    case acknowledged(batch: String, count: Int)
    /// A try has failed; the next one follows after `delay`.
    case retrying(batch: String, attempt: Int, error: DeliveryError, delay: Duration)
    /// The receiver takes nothing until somebody acts. Reported once, until the receiver works
    /// again.
    case blocked(error: DeliveryError)
    /// The receiver takes batches again.
    case resumed
    /// Records were refused and put aside. A count of zero means that a gap was refused; then only
    /// ``gap(_:)`` says what was in it.
    case refused(batch: String, count: Int, reason: String)
    /// The receiver has said something of a batch that cannot be true, such as that it has refused
    /// more records than there were.
    case contradiction(batch: String, String)
    /// Records were gone before they were shipped. Reported once, when the batch that says so is
    /// settled.
    case gap(LogBatch.Gap)
    /// A batch that was on its way when its process died cannot be made again: the receiver may
    /// have its records twice, or not at all.
    case changedBatch(String)
    /// Dead processes' rings were recovered.
    case recovered(sessions: [SessionID])
    /// The shipper cannot work at the moment, cannot read an archive, or cannot recover a ring. It
    /// tries again, and reports each reason once. Or the file of the consumer's state is empty, as
    /// a power cut may leave it: then all present records are shipped, also those that were shipped
    /// before.
    case failed(error: LogError)
    /// Another shipper of the same name is at work: this one waits until it ends.
    case waitingForAnother
  }

  /// A shipper's counts since it was made, and its present state.
  public struct Statistics: Sendable {
    /// Batches that were acknowledged.
    public internal(set) var batches = 0
    /// Records that were acknowledged.
    public internal(set) var records = 0
    /// The bytes of these, counted as ``LogBatch/bytes``.
    public internal(set) var bytes = 0
    /// Records that were refused, and put aside.
    public internal(set) var refused = 0
    /// Tries that failed and were repeated.
    public internal(set) var retried = 0
    /// Records that edits have left out.
    public internal(set) var dropped = 0
    /// Gaps that were reported: what was gone or corrupted before it was shipped. For some gaps,
    /// nobody knows how many records are missing.
    public internal(set) var gaps = 0
    /// Records that are known to have been gone before they were shipped. ``missedByLevel`` counts
    /// them by level, except those of unknown level.
    public internal(set) var missed = 0
    /// See ``missed``.
    public internal(set) var missedByLevel: [Level: Int] = [:]
    /// Rows of archives that are still to be shipped.
    public internal(set) var waiting = 0
    /// How long the oldest of these has waited since it was logged; zero if none waits. The value
    /// is right if the machine's clock is.
    public internal(set) var lag = Duration.zero
    /// The last error; nil if nothing has failed.
    public internal(set) var lastError: String?
    /// Whether the receiver takes nothing until somebody acts.
    public internal(set) var isBlocked = false
    /// Whether ``Shipper/suspend()`` holds the shipper.
    public internal(set) var isSuspended = false

    /// The numbers as Prometheus reads them: text format 0.0.4.
    ///
    /// - Parameter consumer: The value of the label `consumer`.
    public func prometheusText(consumer: String) -> String {
      Self.prometheusText(of: [(consumer, self)])
    }

    /// Returns a text without the characters that the value of a label cannot contain as they are.
    package static func prometheusLabel(_ text: String) -> String {
      // This filters scalars: `\r\n` is one character, and each of these scalars may be one
      // character together with what follows it.
      let scalars = text.unicodeScalars.filter { $0 != "\"" && $0 != "\\" && $0 != "\n" }
      return String(String.UnicodeScalarView(scalars))
    }

    /// The numbers of several shippers, each with its value of the label `consumer`. A reader wants
    /// all samples of a name together.
    package static func prometheusText(
      of all: [(consumer: String, statistics: Shipper.Statistics)]
    ) -> String {
      if all.isEmpty { return "" }
      var text = ""
      func add(
        _ name: String, _ type: String, _ help: String, _ value: (Shipper.Statistics) -> String
      ) {
        text += "# HELP mmlog_ship_\(name) \(help)\n# TYPE mmlog_ship_\(name) \(type)\n"
        for (consumer, statistics) in all {
          let label = prometheusLabel(consumer)
          text += "mmlog_ship_\(name){consumer=\"\(label)\"} \(value(statistics))\n"
        }
      }
      add("batches_total", "counter", "Batches that were acknowledged.") { "\($0.batches)" }
      add("records_total", "counter", "Records that were acknowledged.") { "\($0.records)" }
      add("bytes_total", "counter", "Bytes of the records that were acknowledged.") {
        "\($0.bytes)"
      }
      add("refused_total", "counter", "Records that were refused and put aside.") {
        "\($0.refused)"
      }
      add("retries_total", "counter", "Tries that failed and were repeated.") { "\($0.retried)" }
      add("dropped_total", "counter", "Records that edits have left out.") {
        "\($0.dropped)"
      }
      add("gaps_total", "counter", "Gaps: what was gone or corrupted before.") { "\($0.gaps)" }
      add("missed_total", "counter", "Records that were gone before.") { "\($0.missed)" }
      add("waiting_rows", "gauge", "Archived rows that are to be shipped.") { "\($0.waiting)" }
      add("lag_seconds", "gauge", "How long the oldest of these has waited.") {
        "\(Double($0.lag.nanoseconds) / 1e9)"
      }
      add("blocked", "gauge", "Whether somebody has to act.") { $0.isBlocked ? "1" : "0" }
      return text
    }
  }
}
