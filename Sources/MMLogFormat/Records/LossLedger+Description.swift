extension LossLedger: CustomStringConvertible {
  /// What was lost, by cause and level: `lost 12 records: ring full (info 9, error 3)`; behind it,
  /// what was only cut: `cut 1 record (debug 1)`; or `no losses`.
  public var description: String {
    if isEmpty { return "no losses" }
    let causes = LossLedger.Cause.allCases.filter { $0 != .cut && total($0) > 0 }
    var words = causes.map { "\($0) (\(levels(of: $0)))" }
    let known = causes.reduce(total(.cut)) { $0 &+ total($1) }
    // Counts of a newer version's causes, or of a corrupted file.
    let unknown = lostCount &+ total(.cut) &- known
    if unknown > 0 { words.append("causes unknown to this version (\(unknown))") }
    var parts: [String] = []
    if lostCount > 0 {
      parts.append("lost \(Self.records(lostCount)): \(words.joined(separator: ", "))")
    }
    if total(.cut) > 0 {
      parts.append("cut \(Self.records(total(.cut))) (\(levels(of: .cut)))")
    }
    return parts.joined(separator: "; ")
  }

  /// How many records were lost: all but those that were only cut.
  package var lostCount: UInt64 { counts.reduce(0, &+) &- total(.cut) }

  private static func records(_ count: UInt64) -> String {
    "\(count) record\(count == 1 ? "" : "s")"
  }

  private func levels(of cause: LossLedger.Cause) -> String {
    Level.allCases.filter { count(cause, $0) > 0 }.map { "\($0) \(count(cause, $0))" }
      .joined(separator: ", ")
  }
}
