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
  /// The maximum size of all entries together, in bytes: twice the largest dictionary of a ring. A
  /// compressed file of some kilobytes could hold any number of entries.
  package static let maximumBytes = 128 << 20
  private var size = 0
  /// How many entries were refused because another one had their number.
  package private(set) var contradictions = 0

  package init() {}

  /// Inserts an entry. Session fields and a last state replace those before. A call site, a label
  /// or a key set never changes within a session: the first one with a number counts.
  ///
  /// - Returns: False if there are too many entries, or another one has its number.
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

  /// Whether a call site, a label or a key set equals the one that has its number already; nil:
  /// none has.
  private func isSame(_ entry: DictionaryEntry) -> Bool? {
    switch entry {
    case .callSite(let id, let site): callSites[id].map { $0 == site }
    case .label(let id, let label): labels[id].map { $0 == label }
    case .keySet(let id, let set): keySets[id].map { $0 == set }
    case .sessionFields, .lastState: nil
    }
  }

  /// Whether the dictionary has an entry with the same number or, if its kind has no numbers, an
  /// entry of that kind.
  package func hasEntry(like entry: DictionaryEntry) -> Bool {
    switch entry {
    case .callSite(let id, _): callSites[id] != nil
    case .label(let id, _): labels[id] != nil
    case .keySet(let id, _): keySets[id] != nil
    case .sessionFields: sessionFields != nil
    case .lastState: lastState != nil
    }
  }

  /// Inserts the entries that follow one another in `bytes`, up to a zero word or the end.
  ///
  /// - Returns: Where bytes are no valid entry, or entries are too many; not where
  ///   ``contradictions`` are.
  package mutating func insert(entriesIn bytes: UnsafeRawBufferPointer, seed: UInt32) -> [Range<
    Int
  >] {
    var scanner = EntryScanner(bytes, seed: seed)
    while let entry = scanner.next() {
      if insert(entry.entry) || isSame(entry.entry) == false { continue }
      return scanner.corruption + [scanner.offset - entry.bytes.count..<bytes.count]
    }
    return scanner.corruption
  }
}
