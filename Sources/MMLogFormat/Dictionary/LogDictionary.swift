/// The call sites, labels and key sets of a session, by number.
package struct LogDictionary: Sendable {
  package private(set) var callSites: [UInt32: CallSite] = [:]
  package private(set) var labels: [UInt32: String] = [:]
  package private(set) var keySets: [UInt32: KeySet] = [:]
  package private(set) var sessionFields: SessionFields?
  package private(set) var lastState: SessionFields?

  /// The maximum number of call sites and key sets that a dictionary takes: more than any program
  /// has.
  package static let maximumCallSites = 1 << 20
  /// What all entries together may have in bytes, twice the largest dictionary of a ring: a
  /// compressed file of some kilobytes could hold any number of them.
  package static let maximumBytes = 128 << 20
  private var size = 0
  /// How many entries were refused because another one had their number.
  package private(set) var contradictions = 0

  package init() {}

  /// Inserts an entry: fields of the session and its last state in place of those before. A call
  /// site, a label or a key set never changes within a session, so the first of a number counts.
  ///
  /// - Returns: False if there are too many, or another one has its number.
  @discardableResult
  package mutating func insert(_ entry: DictionaryEntry) -> Bool {
    if let isSame = isSame(entry) {
      if !isSame { contradictions += 1 }
      return isSame
    }
    let old =
      switch entry {
      case .callSite, .label, .keySet: Int?.none
      case .sessionFields: sessionFields.map { $0.words.count * wordSize }
      case .lastState: lastState.map { $0.words.count * wordSize }
      }
    let new = size - (old ?? 0) + entry.size
    guard new <= Self.maximumBytes,
      old != nil || callSites.count + keySets.count < Self.maximumCallSites
    else { return false }
    size = new
    switch entry {
    case .callSite(let id, let site): callSites[id] = site
    case .label(let id, let label): labels[id] = label
    case .keySet(let id, let set): keySets[id] = set
    case .sessionFields(let fields): sessionFields = fields
    case .lastState(let fields): lastState = fields
    }
    return true
  }

  /// Whether a call site, a label or a key set is what has its number already; nil: nothing has.
  private func isSame(_ entry: DictionaryEntry) -> Bool? {
    switch entry {
    case .callSite(let id, let site): callSites[id].map { $0 == site }
    case .label(let id, let label): labels[id].map { $0 == label }
    case .keySet(let id, let set): keySets[id].map { $0 == set }
    case .sessionFields, .lastState: nil
    }
  }

  /// Whether it has an entry of the same number, or of a kind of which there is one.
  package func hasEntry(like entry: DictionaryEntry) -> Bool {
    switch entry {
    case .callSite(let id, _): callSites[id] != nil
    case .label(let id, _): labels[id] != nil
    case .keySet(let id, _): keySets[id] != nil
    case .sessionFields: sessionFields != nil
    case .lastState: lastState != nil
    }
  }

  /// Inserts every entry that follows one another in `bytes`, up to a zero word or their end.
  ///
  /// - Returns: The offsets and lengths of what is no valid entry, or was one too many; not of
  ///   ``contradictions``.
  package mutating func insert(entriesIn bytes: UnsafeRawBufferPointer, seed: UInt32) -> [Range<
    Int
  >] {
    var scanner = EntryScanner(bytes, seed: seed)
    while let entry = scanner.next() {
      if insert(entry.entry) || isSame(entry.entry) == false { continue }
      return scanner.corruption + [scanner.offset..<bytes.count]
    }
    return scanner.corruption
  }
}
