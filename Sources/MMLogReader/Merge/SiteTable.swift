package import MMLogCrypto
import MMLogFormat

/// The call sites, labels and key sets of a session, by number. The table grows if a session is
/// followed, and forgets nothing: what it has given is valid as long as the table is.
package final class SiteTable {
  /// The call sites that were asked for. There may be a million call sites, of which few are used.
  private var sites = NumberTable<Unmanaged<CallSiteInfo>>()
  private var known: [UInt32: CallSite] = [:]
  private var labels = NumberTable<Unmanaged<PreparedText>>()
  private var keySets = NumberTable<Unmanaged<KeySetInfo>>()
  /// All names of all key sets.
  let keyNames = KeyNames()
  private let noLabel = PreparedText("")
  private let noThread = LogReader.Thread(ordinal: 0, id: 0, name: "")

  /// Opens single sealed values; nil if nobody does.
  let slots: Unmanaged<OpenedSlots>?

  package init(opening slots: OpenedSlots? = nil) {
    self.slots = slots.map { .passRetained($0) }
  }

  deinit {
    slots?.release()
    sites.forEach { $0.release() }
    labels.forEach { $0.release() }
    keySets.forEach { $0.release() }
  }

  /// The number of call sites.
  var count: Int { known.count }

  /// Adds new entries. A number keeps its first meaning.
  package func add(_ dictionary: LogDictionary) {
    if known.isEmpty {
      known = dictionary.callSites
    } else {
      known.merge(dictionary.callSites) { old, _ in old }
    }
    for (id, label) in dictionary.labels where labels[id] == nil {
      labels.insert(.passRetained(PreparedText(label)), id, of: dictionary.labels.count)
    }
    for (id, set) in dictionary.keySets where keySets[id] == nil {
      // Call sites have numbers of the same sequence.
      let count = known.count + dictionary.keySets.count
      keySets.insert(.passRetained(KeySetInfo(set)), id, of: count)
      keyNames.add(set)
    }
  }

  /// The key set of that number; nil if there is none.
  func keySet(_ id: UInt32) -> Unmanaged<KeySetInfo>? { keySets[id] }

  /// The numbers of all call sites.
  var numbers: [UInt32] { Array(known.keys) }

  @inline(__always)
  subscript(id: UInt32) -> Unmanaged<CallSiteInfo>? { sites[id] ?? make(id) }

  @inline(never)
  private func make(_ id: UInt32) -> Unmanaged<CallSiteInfo>? {
    guard let site = known[id] else { return nil }
    let info = Unmanaged.passRetained(CallSiteInfo(site))
    sites.insert(info, id, of: known.count)
    return info
  }

  /// Whether there is a label of that number. There may be one later: its entry may be behind
  /// records that have the number.
  func hasLabel(_ id: UInt32) -> Bool { labels[id] != nil }

  /// The label of that number; an empty one if there is none.
  func label(_ id: UInt32) -> Unmanaged<PreparedText> {
    labels[id] ?? .passUnretained(noLabel)
  }

  /// The content of a record.
  ///
  /// - Parameters:
  ///   - body: A record's words from its identity word on.
  ///   - thread: The thread that logged the record.
  ///   - start: When the record was logged.
  ///   - keep: Takes a call site that only this record has. It has to be kept with the record.
  /// - Throws: for a record of which any part could not be shown.
  @inline(__always)
  func content(
    _ body: UnsafeRawBufferPointer, _ thread: Unmanaged<LogReader.Thread>,
    _ start: FragmentTable.Start, keep: (CallSiteInfo) -> Void
  ) throws(FormatError) -> RecordContent {
    let parts = try RecordParts(body)
    let label = label(parts.label)
    if parts.flags.contains(.inlineCallSite), let site = try parts.inlineCallSite() {
      let info = CallSiteInfo(site)
      keep(info)
      return try RecordContent(parts, .passUnretained(info), label, thread, start, self)
    }
    guard let site = self[parts.callSite] else {
      throw .unknownCallSite(parts.callSite)
    }
    return try RecordContent(parts, site, label, thread, start, self)
  }

  /// Throws for a record of which any part could not be shown. For a record in fragments, it only
  /// searches for the call site, at the first fragment.
  package func check(_ view: RecordView) throws(FormatError) {
    if view.isFragment { return try checkSite(FragmentAssembler.beginning(view)) }
    var kept: CallSiteInfo?
    defer { withExtendedLifetime(kept) {} }
    let start = FragmentTable.Start(ticks: view.ticks, wall: .zero)
    _ = try content(view.body, .passUnretained(noThread), start) { kept = $0 }
  }

  private func checkSite(_ beginning: UnsafeRawBufferPointer?) throws(FormatError) {
    guard let beginning else { return }
    var reader = WordReader(beginning)
    let identity = try reader.word()
    let flags = RecordFlags(
      rawValue: UInt8(truncatingIfNeeded: identity >> RecordLayout.flagsShift))
    let number = UInt32(truncatingIfNeeded: identity)
    if flags.contains(.inlineCallSite) || self[number] != nil { return }
    throw .unknownCallSite(number)
  }
}

extension FormatError {
  fileprivate static func unknownCallSite(_ number: UInt32) -> FormatError {
    .invalid("call site (number \(number) is unknown)")
  }
}
