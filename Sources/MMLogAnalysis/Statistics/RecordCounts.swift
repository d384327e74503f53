package import MMLogFormat
package import MMLogReader

/// The number of records of a kind, and their size.
package struct RecordCounts {
  package var records: UInt64 = 0
  /// The size of the records in bytes, before an archive compresses them.
  package var bytes: UInt64 = 0

  mutating func add(_ record: LogReader.Record) {
    records += 1
    bytes += UInt64(record.content.encodedSize)
  }
}

/// Call sites with their counts: one entry for each place and text, for all sessions together.
package struct CallSiteCounts {
  struct Key: Hashable {
    let file: Bytewise
    let line: Int
    let template: Bytewise
  }

  package struct Entry {
    package let file: String
    package let function: String
    package let line: Int
    package let template: String
    package var counts = RecordCounts()
    package var level = Level.trace
  }

  package private(set) var entries: [Entry] = []
  private var byKey: [Key: Int] = [:]
  /// The entries of call sites that stay in memory: those of a session's dictionary.
  private var byObject: [ObjectIdentifier: (site: CallSiteInfo, index: Int)] = [:]
  private var last: (site: CallSiteInfo, index: Int)?
  /// The common entry of all call sites for which there is no room.
  private var others: Int?
  /// For the entries, and for the call sites in ``byObject``.
  private var (entryBytes, objectBytes): (TextBudget, TextBudget)

  /// - Parameter maximumBytes: How many bytes the texts of the entries may take in memory.
  package init(maximumBytes: Int = 64 << 20) {
    (entryBytes, objectBytes) = (TextBudget(maximumBytes), TextBudget(256 << 20))
  }

  /// The maximum number of entries. Further call sites share one entry, and so do those whose texts
  /// have no room. Only a forged file has so many.
  static let maximum = 50_000

  /// Adds a record.
  ///
  /// - Returns: The index of its entry.
  @discardableResult
  package mutating func add(_ record: LogReader.Record) -> Int {
    let index = index(of: record)
    entries[index].counts.add(record)
    entries[index].level = max(entries[index].level, record.level)
    return index
  }

  private mutating func index(of record: LogReader.Record) -> Int {
    let site = record.content.site
    if let last, last.site === site { return last.index }
    let isLasting = !record.content.flags.contains(.inlineCallSite)
    let found: Int
    if isLasting, let known = byObject[ObjectIdentifier(site)] {
      found = known.index
    } else {
      found = entry(for: site)
      if isLasting, byObject.count < 8 * Self.maximum, objectBytes.take(site.textSize) {
        byObject[ObjectIdentifier(site)] = (site, found)
      }
    }
    last = (site, found)
    return found
  }

  private mutating func entry(for site: CallSiteInfo) -> Int {
    let template = site.template
    let key = Key(file: Bytewise(site.file), line: site.line, template: Bytewise(template))
    if let index = byKey[key] { return index }
    guard byKey.count < Self.maximum, entryBytes.take(site.textSize) else { return othersEntry() }
    byKey[key] = entries.count
    entries.append(
      Entry(file: site.file, function: site.function, line: site.line, template: template))
    return entries.count - 1
  }

  private mutating func othersEntry() -> Int {
    if let others { return others }
    others = entries.count
    entries.append(Entry(file: "", function: "", line: 0, template: tooMany))
    return entries.count - 1
  }
}

/// The name for all things of a kind for which a summary has no room.
package let tooMany = "(not known: too many)"

extension RecordContent {
  /// The size of the record in bytes, before an archive compresses it.
  var encodedSize: Int { (RecordLayout.identityWord + 1) * wordSize + size }
}
