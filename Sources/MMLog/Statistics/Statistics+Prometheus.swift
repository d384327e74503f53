import MMLogFormat

extension LogStore.Statistics {
  /// The numbers in Prometheus's text format (version 0.0.4), for an endpoint of the service:
  /// `Content-Type: text/plain; version=0.0.4`.
  ///
  /// Sizes are in bytes, times in seconds; counters end in `_total`, and begin anew with each
  /// process. docs/OPERATIONS.md lists all names.
  ///
  /// - Parameter labels: Labels that all samples get, such as `["store": "orders"]`. Values may be
  ///   any text.
  /// - Precondition: Labels' names are letters, digits and `_`, begin with neither a digit nor
  ///   `__`, differ from each other, and are not `level` or `cause`.
  public func prometheusText(labels: KeyValuePairs<String, String> = [:]) -> String {
    Self.prometheusText(of: [(self, labels)])
  }

  /// The numbers of several stores in one text: the format wants all samples of a name in one
  /// place.
  ///
  /// - Parameter stores: Each store's numbers, and labels that distinguish it from the others; see
  ///   ``prometheusText(labels:)``.
  public static func prometheusText(
    of stores: [(statistics: LogStore.Statistics, labels: KeyValuePairs<String, String>)]
  ) -> String {
    let stores = stores.map { ($0.statistics, $0.labels.map(label)) }
    for (_, labels) in stores {
      let names = labels.map(\.name)
      precondition(Set(names).count == names.count, "A label is there twice: \(names)")
    }
    var text = ""
    for metric in metrics { metric.append(stores, to: &text) }
    return text
  }

  private static func label(_ name: String, _ value: String) -> Label {
    let isName = name.utf8.enumerated().allSatisfy { index, byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "_"):
        true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): index > 0
      default: false
      }
    }
    precondition(
      isName && !name.isEmpty && !name.hasPrefix("__") && !["level", "cause"].contains(name),
      "\"\(name)\" cannot be a label's name here")
    return Label(name, value)
  }
}

/// A label of a sample.
private struct Label {
  let name: String
  let value: String

  init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

  /// The label with the three characters escaped that the format requires.
  var text: String {
    var escaped = ""
    for character in value.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return "\(name)=\"\(escaped)\""
  }
}

/// A number that has a name, and how to get it.
private struct Metric: Sendable {
  enum Kind: String {
    case counter
    case gauge
  }

  typealias Sample = (labels: [Label], value: String)

  let name: String
  let kind: Kind
  let help: String
  let samples: @Sendable (LogStore.Statistics) -> [Sample]

  /// A metric of a kind with one sample.
  init(
    _ kind: Kind, _ name: String, _ help: String,
    _ value: @escaping @Sendable (LogStore.Statistics) -> any CustomStringConvertible
  ) {
    (self.kind, self.name, self.help) = (kind, name, help)
    samples = { [([], value($0).description)] }
  }

  /// A metric with a sample for each level.
  init(
    _ kind: Kind, byLevel name: String, _ help: String,
    _ value: @escaping @Sendable (LogStore.Statistics, Level) -> UInt64
  ) {
    (self.kind, self.name, self.help) = (kind, name, help)
    samples = { statistics in
      Level.allCases.map { ([Label("level", $0.description)], "\(value(statistics, $0))") }
    }
  }

  /// The losses, with a sample for each cause and level.
  init(losses name: String, _ help: String) {
    (kind, self.name, self.help) = (.counter, name, help)
    samples = { statistics in
      LossLedger.Cause.allCases.flatMap { cause in
        Level.allCases.map { level in
          let labels = [Label("cause", cause.description), Label("level", level.description)]
          return (labels, "\(statistics.losses[cause, level])")
        }
      }
    }
  }

  func append(_ stores: [(LogStore.Statistics, [Label])], to text: inout String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    for (statistics, labels) in stores {
      for sample in samples(statistics) {
        let all = (labels + sample.labels).map(\.text).joined(separator: ",")
        text += all.isEmpty ? "\(name) \(sample.value)\n" : "\(name){\(all)} \(sample.value)\n"
      }
    }
  }
}

private let metrics: [Metric] = [
  Metric(.counter, byLevel: "mmlog_archived_records_total", "Records moved to archives.") {
    $0.archived.count($1)
  },
  Metric(
    .counter, byLevel: "mmlog_archived_record_bytes_total",
    "Bytes that records moved to archives took in the ring."
  ) { $0.archived.bytes($1) },
  Metric(losses: "mmlog_lost_records_total", "Records that could not be kept, or not whole."),
  Metric(.gauge, byLevel: "mmlog_waiting_records", "Records in the ring, not archived yet.") {
    $0.waiting.count($1)
  },
  Metric(.gauge, "mmlog_waiting_bytes", "Bytes of records in the ring, not archived yet.") {
    $0.waiting.bytes
  },
  Metric(
    .gauge, "mmlog_oldest_waiting_seconds",
    "Age of the oldest record that is not archived yet; 0 if there is none."
  ) { ($0.oldestWaiting ?? .zero) / .seconds(1) },
  Metric(.gauge, "mmlog_ring_bytes", "Size of the ring's segments; 0 without a ring.") {
    $0.ringBytes
  },
  Metric(.gauge, "mmlog_ring_segments", "Segments of the ring.") { $0.segments },
  Metric(.gauge, "mmlog_ring_used_segments", "Segments of the ring that are in use.") {
    $0.usedSegments
  },
  Metric(
    .gauge, "mmlog_ring_waiting_ratio",
    "How much of what no thread has of the ring waits to be archived, from 0 to 1."
  ) { $0.waitingShare },
  Metric(.counter, "mmlog_raw_bytes_total", "Bytes archived, before compression.") { $0.rawBytes },
  Metric(.counter, "mmlog_written_bytes_total", "Bytes archived, as written to archives.") {
    $0.writtenBytes
  },
  Metric(.counter, "mmlog_frames_total", "Frames of records written to archives.") { $0.frames },
  Metric(
    .counter, "mmlog_reduced_frames_total",
    "Frames whose text was compressed with less effort, since the ring was filling."
  ) { $0.reducedFrames },
  Metric(
    .counter, "mmlog_stored_frames_total",
    "Frames whose text was not compressed at all, since the ring was filling."
  ) { $0.storedFrames },
  Metric(
    .counter, "mmlog_thorough_frames_total",
    "Frames compressed with more effort, since there was time."
  ) { $0.thoroughFrames },
  Metric(.counter, "mmlog_drain_passes_total", "Passes of the thread that moves records.") {
    $0.passes
  },
  Metric(.counter, "mmlog_drain_failures_total", "Passes that could not move all records.") {
    $0.failedPasses
  },
  Metric(
    .gauge, "mmlog_drain_last_success_timestamp_seconds",
    "When the last pass ended that did not fail, in seconds since 1970; 0 if there was none."
  ) { Double($0.lastPass?.nanosecondsSince1970 ?? 0) / 1e9 },
  Metric(
    .gauge, "mmlog_drain_silence_seconds",
    "Since the last sign of life of the thread that moves records; 0 if there is none."
  ) { ($0.drainerSilence ?? .zero) / .seconds(1) },
  Metric(.counter, "mmlog_syncs_total", "Archives made safe from a power cut.") { $0.syncs },
  Metric(.counter, "mmlog_sync_failures_total", "Failed tries to make an archive safe.") {
    $0.failedSyncs
  },
  Metric(.gauge, "mmlog_archives", "Archives of the store's name on the disk.") { $0.archives },
  Metric(.gauge, "mmlog_archive_bytes", "Space that they take.") { $0.archiveBytes },
  Metric(.gauge, "mmlog_pending_bytes", "Space of those sealed and not uploaded.") {
    $0.pendingBytes
  },
  Metric(.gauge, "mmlog_uploaded_bytes", "Space of those uploaded.") { $0.uploadedBytes },
  Metric(.counter, "mmlog_missed_events_total", "Events that listeners did not keep up with.") {
    $0.missedEvents
  },
  Metric(.counter, "mmlog_tap_missed_records_total", "Records that taps have not written.") {
    $0.missedByTaps
  },
  Metric(.counter, "mmlog_suppressed_records_total", "Records that rate limits have suppressed.") {
    $0.suppressed.values.reduce(0, &+)
  },
]
