import MMLogShipping

/// What became of the whole archives of a route since the program began.
struct ArchiveNumbers: Sendable {
  /// How many were sent.
  private(set) var sent = 0
  /// How many were refused.
  private(set) var refused = 0
  /// Whether the destination takes nothing until somebody acts.
  private(set) var isBlocked = false
  /// How many wait now; nil if that cannot be read.
  var waiting: Int?

  /// Counts an event.
  mutating func take(_ event: ArchiveShipper.Event) {
    switch event {
    case .shipped: (sent, isBlocked) = (sent + 1, false)
    case .refused: (refused, isBlocked) = (refused + 1, false)
    case .retrying: isBlocked = event.isBlocked
    case .failed: return
    @unknown default: return
    }
  }

  /// The numbers of several routes as Prometheus reads them.
  static func prometheusText(of all: [(route: String, numbers: ArchiveNumbers)]) -> String {
    if all.isEmpty { return "" }
    let metrics: [(name: String, type: String, help: String, value: (Self) -> String)] = [
      ("sent_total", "counter", "Whole archives that were sent.", { "\($0.sent)" }),
      ("refused_total", "counter", "Whole archives that were refused.", { "\($0.refused)" }),
      (
        "waiting", "gauge", "Whole archives that are to be sent.",
        { $0.waiting.map { "\($0)" } ?? "NaN" }
      ),
      ("blocked", "gauge", "Whether somebody has to act.", { $0.isBlocked ? "1" : "0" }),
    ]
    var text = ""
    for metric in metrics {
      let name = "mmlog_ship_archives_\(metric.name)"
      text += "# HELP \(name) \(metric.help)\n# TYPE \(name) \(metric.type)\n"
      for (route, numbers) in all {
        let label = Shipper.Statistics.prometheusLabel(route)
        text += "\(name){consumer=\"\(label)\"} \(metric.value(numbers))\n"
      }
    }
    return text
  }
}
