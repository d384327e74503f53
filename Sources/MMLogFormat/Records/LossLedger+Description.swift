extension LossLedger: CustomStringConvertible {
  /// What was lost, by cause and level: `lost 12 records: ring full (info 9, error 3)`; or `no
  /// losses`.
  public var description: String {
    if isEmpty { return "no losses" }
    let count = counts.reduce(0, &+)
    var causes = LossLedger.Cause.allCases.filter { total($0) > 0 }.map {
      "\($0) (\(levels(of: $0)))"
    }
    let known = LossLedger.Cause.allCases.reduce(0) { $0 &+ total($1) }
    // A newer version's, or what a corrupted file has there.
    if count != known { causes.append("causes unknown to this version (\(count &- known))") }
    return "lost \(count) record\(count == 1 ? "" : "s"): \(causes.joined(separator: ", "))"
  }

  private func levels(of cause: LossLedger.Cause) -> String {
    Level.allCases.filter { self[cause, $0] > 0 }.map { "\($0) \(self[cause, $0])" }
      .joined(separator: ", ")
  }
}
