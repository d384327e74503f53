import MMLogFormat

/// The call sites and labels of a session, by number. It grows where a session is followed, and forgets nothing: what it
/// has given is valid for as long as it is.
final class SiteTable {
  private var sites: [Unmanaged<CallSiteInfo>?] = []
  /// Numbers that no writer would give.
  private var farSites: [UInt32: Unmanaged<CallSiteInfo>] = [:]
  private var labels: [Unmanaged<PreparedText>?] = []
  private let noLabel = PreparedText("")

  /// How many call sites there are.
  private(set) var count = 0

  deinit {
    for site in sites { site?.release() }
    for site in farSites.values { site.release() }
    for label in labels { label?.release() }
  }

  /// Adds what is new. A number keeps the meaning that it had first.
  func add(_ dictionary: LogDictionary) {
    for (id, site) in dictionary.callSites where self[id] == nil { insert(CallSiteInfo(site), id) }
    for (id, label) in dictionary.labels {
      // A label's number has 16 bits in a record.
      guard id <= UInt32(UInt16.max) else { continue }
      while labels.count <= id { labels.append(nil) }
      if labels[Int(id)] == nil { labels[Int(id)] = .passRetained(PreparedText(label)) }
    }
  }

  private func insert(_ site: CallSiteInfo, _ id: UInt32) {
    count += 1
    guard id < 1 << 20 else { return farSites[id] = .passRetained(site) }
    while sites.count <= id { sites.append(nil) }
    sites[Int(id)] = .passRetained(site)
  }

  /// The numbers of all call sites.
  var numbers: [UInt32] {
    sites.indices.filter { sites[$0] != nil }.map { UInt32($0) } + farSites.keys
  }

  subscript(id: UInt32) -> Unmanaged<CallSiteInfo>? {
    if id < sites.count { return sites[Int(id)] }
    return farSites.isEmpty ? nil : farSites[id]
  }

  /// The label of that number; an empty one if there is none.
  func label(_ id: UInt32) -> Unmanaged<PreparedText> {
    (id < labels.count ? labels[Int(id)] : nil) ?? .passUnretained(noLabel)
  }

  /// The content of a record.
  ///
  /// - Parameters:
  ///   - body: A record's words from its identity word on.
  ///   - keep: Takes the call site that only this record has; it has to be kept with it.
  /// - Throws: for a record of which anything could not be shown.
  @inline(__always)
  func content(
    _ body: UnsafeRawBufferPointer, keep: (CallSiteInfo) -> Void
  ) throws(FormatError) -> RecordContent {
    let parts = try RecordParts(body)
    if parts.flags.contains(.inlineCallSite), let site = try parts.inlineCallSite() {
      let info = CallSiteInfo(site)
      keep(info)
      return try RecordContent(parts, .passUnretained(info))
    }
    guard let site = self[parts.callSite] else {
      throw .invalid("call site (number \(parts.callSite) is unknown)")
    }
    return try RecordContent(parts, site)
  }

  /// Throws for a record of which anything could not be shown.
  func check(_ view: RecordView) throws(FormatError) {
    var kept: CallSiteInfo?
    defer { withExtendedLifetime(kept) {} }
    _ = try content(view.body) { kept = $0 }
  }
}
