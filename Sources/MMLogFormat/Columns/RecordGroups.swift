/// Sorts the records of a frame into groups whose records have the same fields.
///
/// A call site with many records has a group of its own, because its values are alike. Call sites
/// with few records share a group: a group takes some microseconds, whatever it holds.
final class RecordGroups {
  /// The fewest records that make a group of their own, in a frame with more groups than ``few``.
  private static let (fewest, few) = (24, 16)

  private(set) var groups: [RowGroup] = []
  /// The fields of all groups.
  private(set) var fields: [ColumnField] = []
  /// The group of each record.
  let ofRecord = WordBuffer()
  /// Call sites by number.
  private var sites: [KnownSite] = []
  private var byHash: [UInt64: Int] = [:]
  private var found: [ColumnField] = []
  /// For each group before the merge, the group that it is now part of.
  private var merged: [UInt64] = []

  /// Finds the group of each record.
  func sort(_ rows: RowList, _ callSites: CallSiteFields) {
    groups.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    byHash.removeAll(keepingCapacity: true)
    sites.removeAll(keepingCapacity: true)
    sites.append(contentsOf: repeatElement(KnownSite(), count: callSites.shapes.count))
    ofRecord.grow(for: rows.count)
    let ofRecord = ofRecord.base
    callSites.withFixed { shapes, gaps in
      for index in 0..<rows.count {
        let record = rows[index]
        let group =
          knownGroup(of: record) ?? fixedGroup(of: record, shapes, gaps, callSites)
          ?? group(of: record, callSites)
        ofRecord[index] = UInt64(truncatingIfNeeded: group)
      }
    }
    count(rows.count)
    if groups.count > Self.few { mergeSmall(rows.count) }
  }

  private func count(_ count: Int) {
    if groups.count == 1 {
      groups[0].count = count
      return
    }
    let ofRecord = ofRecord.base
    groups.withUnsafeMutableBufferPointer { groups in
      for index in 0..<count { groups[Int(truncatingIfNeeded: ofRecord[index])].count &+= 1 }
    }
  }

  /// Joins the groups with few records whose fields are the same.
  private func mergeSmall(_ count: Int) {
    var joined: [RowGroup] = []
    merged.removeAll(keepingCapacity: true)
    byHash.removeAll(keepingCapacity: true)
    for group in groups {
      var place = joined.count
      if group.count < Self.fewest {
        let hash = hash(group.kind, 0, fields[group.fields])
        if let known = byHash[hash], isOf(group.kind, fields[group.fields], joined[known]) {
          place = known
        }
        byHash[hash] = place
      }
      if place < joined.count { joined[place].count += group.count } else { joined.append(group) }
      merged.append(UInt64(place))
    }
    guard joined.count < groups.count else { return }
    groups = joined
    let ofRecord = ofRecord.base
    merged.withUnsafeBufferPointer { merged in
      for index in 0..<count { ofRecord[index] = merged[Int(truncatingIfNeeded: ofRecord[index])] }
    }
  }

  // MARK: - The common case

  @inline(__always)
  private func fixedGroup(
    of record: RowWords, _ shapes: UnsafeBufferPointer<CallSiteFields.Shape>,
    _ gaps: UnsafeBufferPointer<Int>, _ callSites: CallSiteFields
  ) -> Int? {
    let site = Int(record.callSite)
    guard record.isPlain, site < shapes.count, shapes[site].isFixed,
      holdsJust(shapes[site], gaps, record)
    else { return nil }
    let group = Int(sites[site].group)
    return group >= 0 ? group : addFixedGroup(site, shapes[site], gaps, callSites)
  }

  /// Whether a record's words are arguments of this shape, and nothing more.
  @inline(__always)
  private func holdsJust(
    _ shape: CallSiteFields.Shape, _ gaps: UnsafeBufferPointer<Int>, _ record: RowWords
  ) -> Bool {
    var walker = FieldWalker(record)
    for index in shape.gaps {
      guard walker.pass(words: gaps[index]), walker.passString() else { return false }
    }
    return walker.pass(words: shape.tail) && walker.isAtEnd
  }

  @inline(never)
  private func addFixedGroup(
    _ site: Int, _ shape: CallSiteFields.Shape, _ gaps: UnsafeBufferPointer<Int>,
    _ callSites: CallSiteFields
  ) -> Int {
    found.removeAll(keepingCapacity: true)
    for index in shape.arguments {
      found += ValueType(rawValue: callSites.types[index])?.fixedFields ?? []
    }
    let group = add(kind: RowWords.recordKind)
    sites[site] = KnownSite(group, shape, gaps)
    return group
  }

  /// What is known of a call site once a record of it had nothing but arguments of fixed fields. If
  /// these have at most one string, a few comparisons show whether another record is alike.
  private struct KnownSite {
    /// The group of such records; −1: there was none yet.
    private(set) var group: Int32 = -1
    /// The word with the string's length; 0: there is no string, −1: there are several.
    private var string: Int32 = -1
    /// How many words there are beside those of the string.
    private var others: Int32 = 0

    init() {}

    init(_ group: Int, _ shape: CallSiteFields.Shape, _ gaps: UnsafeBufferPointer<Int>) {
      self.group = Int32(group)
      guard shape.gaps.count <= 1 else { return }
      let before = shape.gaps.first.map { gaps[$0] }
      string = Int32(clamping: before.map { $0 + RecordLayout.bodyWord } ?? 0)
      others = Int32(clamping: RecordLayout.bodyWord + shape.tail + (before.map { $0 + 1 } ?? 0))
    }

    /// Whether a plain record of the call site is seen to belong to the group.
    @inline(__always)
    func has(_ record: RowWords) -> Bool {
      let (count, others, string) = (record.count, Int(others), Int(string))
      if string <= 0 { return string == 0 && count == others }
      guard count >= others else { return false }
      let length = record[string]
      guard length <= UInt64((count &- others) &* wordSize) else { return false }
      let words = paddedSize(Int(truncatingIfNeeded: length)) / wordSize
      // The string has to be padded with zeros; see `FieldWalker.passString`.
      let used = length % UInt64(wordSize)
      return others &+ words == count
        && (used == 0 || record[string &+ words] >> (8 &* used) == 0)
    }
  }

  @inline(__always)
  private func knownGroup(of record: RowWords) -> Int? {
    let site = Int(record.callSite)
    guard record.isPlain, site < sites.count, sites[site].has(record) else { return nil }
    return Int(sites[site].group)
  }

  // MARK: - All others

  @inline(never)
  private func group(of record: RowWords, _ callSites: CallSiteFields) -> Int {
    found.removeAll(keepingCapacity: true)
    var walker = FieldWalker(record)
    if !walker.find(callSites, &found) { found = [.rest] }
    let hash = hash(record.kind, record.isFragment ? 0 : record.callSite, found[...])
    if let known = byHash[hash], isOf(record.kind, found[...], groups[known]) { return known }
    let group = add(kind: record.kind)
    byHash[hash] = group
    return group
  }

  /// Compares a group whose hash is equal.
  private func isOf(_ kind: UInt8, _ fields: ArraySlice<ColumnField>, _ group: RowGroup) -> Bool {
    group.kind == kind && self.fields[group.fields] == fields
  }

  private func hash(_ kind: UInt8, _ callSite: UInt32, _ fields: ArraySlice<ColumnField>) -> UInt64
  {
    fields.reduce(UInt64(kind) << 32 | UInt64(callSite)) {
      ($0 ^ UInt64($1.rawValue)) &* 0x9E37_79B9_7F4A_7C15
    }
  }

  private func add(kind: UInt8) -> Int {
    fields += found
    groups.append(RowGroup(kind: kind, fields.suffix(found.count)))
    return groups.count - 1
  }
}

/// Rows in memory.
struct RowList {
  let base: UnsafeRawPointer
  /// Where each begins, in bytes from `base`.
  let offsets: UnsafePointer<UInt64>
  let count: Int

  @inline(__always)
  subscript(index: Int) -> RowWords {
    RowWords(base + Int(truncatingIfNeeded: offsets[index]))
  }
}

/// The words of a row. The caller has checked that it is one.
struct RowWords {
  static let recordKind = UInt8(truncatingIfNeeded: RecordLayout.recordKind >> 24)
  /// Flags that put something beside the arguments into a record.
  private static let notPlain: UInt64 =
    UInt64(
      RecordFlags([.metadata, .thread, .inlineCallSite, .span, .context]).rawValue)
    << RecordLayout.flagsShift

  let base: UnsafeRawPointer

  init(_ base: UnsafeRawPointer) { self.base = base }

  @inline(__always)
  subscript(index: Int) -> UInt64 {
    UInt64(littleEndian: base.load(fromByteOffset: index &* wordSize, as: UInt64.self))
  }

  /// Its length in words.
  @inline(__always)
  var count: Int { Int(truncatingIfNeeded: self[0] & RecordLayout.lengthMask) }
  var kind: UInt8 { UInt8(truncatingIfNeeded: self[0] >> 24) }
  var isFragment: Bool { kind != Self.recordKind }
  var threadOrdinal: UInt64 { self[0] >> 32 }
  var identity: UInt64 { self[RecordLayout.identityWord] }
  var callSite: UInt32 { UInt32(truncatingIfNeeded: identity) }
  var flags: RecordFlags {
    RecordFlags(rawValue: UInt8(truncatingIfNeeded: identity >> RecordLayout.flagsShift))
  }
  /// Whether it is a whole record with nothing but arguments.
  @inline(__always)
  var isPlain: Bool { !isFragment && identity & Self.notPlain == 0 }
}
