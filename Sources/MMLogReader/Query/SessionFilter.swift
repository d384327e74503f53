import MMLogFormat
import MMLogSystem

/// A filter prepared for the records of one session: what a record's first words determine is
/// looked up in tables.
final class SessionFilter {
  private var filter: LogReader.Filter
  private let sites: SiteTable
  private let minimumLevel: UInt8
  /// Whether more than the level is to be inspected before a record's values.
  private let checksIdentity: Bool
  /// Whether values have to be inspected.
  private let checksContent: Bool
  private let checksThread: Bool
  private var labels: [UInt32: Bool] = [:]
  private var decisions = NumberTable<SiteDecision>()
  /// The texts that decisions refer to.
  private var needs: [RequiredText] = []
  /// What was decided about threads that were seen last. They are kept, so that no others get their
  /// places in memory.
  private var threads: [ObjectIdentifier: (thread: LogReader.Thread, passes: Bool)] = [:]
  private static let maximumThreads = 1 << 12
  /// Texts, one of which has to be in a string of a frame for one of its records to pass; nil if
  /// not all call sites' records need one. With each text is the part of it that no number takes
  /// out of a frame's text. The part is empty if all of the text may be a hexadecimal number.
  private var requiredTexts: [[UInt8]: [UInt8]]?
  /// Call sites all of whose records pass, because the text is in their static text.
  private var passingSites: Set<UInt32> = []
  /// Whether the texts are also required of values of metadata, whatever they are.
  private var isRequiredOfMetadata = true
  /// How many call sites and key sets there were when the texts were found.
  private var requiringSites = -1
  private let search: ContentSearch

  init(_ filter: LogReader.Filter, _ sites: SiteTable, of identity: SessionIdentity) {
    self.filter = filter
    self.sites = sites
    minimumLevel = filter.minimumLevel.rawValue
    checksContent = !filter.text.isEmpty || !filter.conditions.isEmpty
    checksThread = !filter.threads.isEmpty
    checksIdentity =
      !filter.labels.isEmpty || !filter.callSites.isEmpty || checksContent || filter.spansOnly
    search = ContentSearch(filter, of: identity)
  }

  /// Sets the time from which on records are wanted.
  func setSince(_ time: Timestamp?) { filter.since = time }

  /// False for a frame of which no record passes.
  func mayPass(_ frame: RecordSummary, isFlight: Bool) -> Bool {
    filter.passes(isFlight: isFlight) && filter.mayPass(frame)
  }

  /// Whether flight records, or other records, are wanted.
  func passes(isFlight: Bool) -> Bool { filter.passes(isFlight: isFlight) }

  /// Whether records of that time are wanted.
  func passes(time: Timestamp) -> Bool { filter.passes(time: time) }

  /// False for a range of times in which no record is wanted.
  func mayPass(_ times: ClosedRange<Timestamp>) -> Bool {
    filter.mayPass(times.lowerBound, times.upperBound)
  }

  /// False for a record or a fragment that does not pass, whatever its values are.
  @inline(__always)
  func mayPass(_ view: RecordView) -> Bool {
    if view.level.rawValue < minimumLevel { return false }
    return checksIdentity ? identityPasses(view) : true
  }

  /// As ``mayPass(_:)``, for a record of a ring, where flight records stand between others.
  func mayPass(_ view: RecordView, isFlight: Bool) -> Bool {
    filter.passes(isFlight: isFlight) && mayPass(view)
  }

  @inline(never)
  private func identityPasses(_ view: RecordView) -> Bool {
    if !filter.labels.isEmpty, !passes(label: view.label) { return false }
    // A fragment has its index in place of its call site's number, and flags of its own.
    if filter.spansOnly, !view.isFragment, !view.flags.contains(.span) { return false }
    if view.isFragment || view.flags.contains(.inlineCallSite) { return true }
    let decision = decision(of: view.callSite)
    if decision.isNever || decision.needsMetadata && view.flags.isDisjoint(with: .withPairs) {
      return false
    }
    return decision.need?._withUnsafeGuaranteedRef { $0.isMet(by: view) } ?? true
  }

  /// False for a frame of which no record passes, as the text of all its strings shows.
  func mayPass(_ text: ColumnText, mayHaveOtherMetadata: Bool) -> Bool {
    updateTextNeeds()
    let mayShowLetters = mayHaveOtherMetadata || sites.keyNames.mayShowLetters
    guard let requiredTexts, isRequiredOfMetadata || !mayShowLetters else { return true }
    switch text {
    case .withoutNumbers(let text, let numbers):
      return !passingSites.isEmpty
        || requiredTexts.contains { whole, part in
          if !part.isEmpty { return Self.contains(text, part) }
          return Self.contains(text, whole) || numbers.mayShow(whole)
        }
    case .whole(let text, let sites):
      return !passingSites.isEmpty && sites.contain(oneOf: passingSites)
        || requiredTexts.contains { whole, _ in Self.contains(text, whole) }
    }
  }

  private static func contains(_ text: UnsafeRawBufferPointer, _ part: [UInt8]) -> Bool {
    part.withUnsafeBytes { ByteSearch.contains(text, $0) }
  }

  private func updateTextNeeds() {
    let known = sites.count + sites.keyNames.count
    if requiringSites == known { return }
    (requiringSites, requiredTexts, isRequiredOfMetadata) = (known, nil, true)
    if filter.text.count != 1 || filter.isTextInverted { return }
    passingSites = []
    var texts: [[UInt8]: [UInt8]] = [:]
    for number in sites.numbers {
      let decision = decision(of: number)
      if decision.isNever { continue }
      if decision.hasText {
        passingSites.insert(number)
        continue
      }
      guard let need = decision.need?.takeUnretainedValue(), !need.text.isEmpty,
        !need.mayBeInKeyName
      else { return }
      texts[need.text] = need.textOfFrame
      if !need.isOfMetadataToo { isRequiredOfMetadata = false }
    }
    requiredTexts = texts
  }

  private func passes(label: UInt32) -> Bool {
    if let known = labels[label] { return known }
    let name = sites.label(label).takeUnretainedValue().string
    let passes = filter.labels.contains { Glob($0).matches(name) }
    if label == 0 || sites.hasLabel(label) { labels[label] = passes }
    return passes
  }

  private func decision(of number: UInt32) -> SiteDecision {
    if let known = decisions[number] { return known }
    // An unknown call site is corruption, and is reported when the record is inspected.
    guard let site = sites[number] else { return .unknown }
    let decision = SiteDecision(filter, site.takeUnretainedValue(), sites) {
      needs.append($0)
    }
    decisions.insert(decision, number, of: sites.count)
    return decision
  }

  @inline(__always)
  func passes(_ thread: Unmanaged<LogReader.Thread>) -> Bool {
    checksThread ? threadPasses(thread.takeUnretainedValue()) : true
  }

  @inline(never)
  private func threadPasses(_ thread: LogReader.Thread) -> Bool {
    if let known = threads[ObjectIdentifier(thread)] { return known.passes }
    if threads.count >= Self.maximumThreads { threads = [:] }
    let passes = filter.threads.contains { $0.matches(number: thread.id, name: thread.name) }
    threads[ObjectIdentifier(thread)] = (thread, passes)
    return passes
  }

  /// Whether a record passes. Its time and thread pass, and its first words may.
  @inline(__always)
  func passes(_ content: RecordContent, _ clock: TickClock) -> Bool {
    checksIdentity ? contentPasses(content, clock) : true
  }

  @inline(never)
  private func contentPasses(_ content: RecordContent, _ clock: TickClock) -> Bool {
    // A fragment's first words did not say whether it is of a span.
    if filter.spansOnly, !content.flags.contains(.span) { return false }
    let decision =
      content.callSite == 0
      ? SiteDecision(filter, content.site, sites) { _ in } : decision(of: content.callSite)
    if decision.isNever { return false }
    if decision.needsMetadata, !content.hasPairs { return false }
    guard checksContent else { return true }
    return search.passes(content, clock, isTextFound: decision.hasText)
  }
}
