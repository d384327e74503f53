/// Writes the rows of a frame by column. FORMAT.md, 10, says how, and why it is smaller.
///
/// Allocates nothing once its buffers are large enough, except for zlib's output, and for sorting
/// the strings of a dictionary.
package final class ColumnEncoder {
  private let groups = RecordGroups()
  private let numberEncoder = NumberEncoder()
  private let stringEncoder: StringEncoder
  private var sections = ColumnSections()
  private let column = WordBuffer()
  private let strings = StringList()
  /// The records by group, and where in each the next field begins.
  private let sorted = WordBuffer()
  private let starts = WordBuffer()
  /// Whether it paid to search the text of the last frames for repetitions, and for how many more
  /// frames this choice holds.
  private var findsRepetitions = true
  private var choiceHolds = 0
  /// The last text that was deflated, and the result: names of users, for instance, make the same
  /// text in frame after frame.
  private var lastText: (bytes: [UInt8], deflated: [UInt8]?) = ([], nil)
  /// How many frames to skip before the numbers are deflated again, since the last try did not pay;
  /// and how many were to be skipped after the last failed try.
  private var (skips, lastSkips) = (0, 0)
  /// How much effort was spent on the last frame's text.
  package private(set) var effort = TextEffort.full

  package init() { stringEncoder = StringEncoder(numberEncoder) }

  /// The payload in columns of what `rows` has collected.
  ///
  /// - Parameters:
  ///   - callSites: Those that the records name. The arguments of records whose call site is
  ///     missing take more room.
  ///   - compressor: nil for no further compression.
  ///   - effort: How much effort may be spent on text. Short text gets full effort at least, since
  ///     it takes no time.
  package func encode(
    _ rows: borrowing RowBuilder, _ callSites: CallSiteFields, _ compressor: Compressor?,
    effort: TextEffort = .full
  ) -> [UInt8] {
    sections.removeAll()
    numberEncoder.usesPlanes = effort == .thorough && compressor != nil
    sections.numbers.append(varint: rows.threads.count)
    for thread in rows.threads {
      sections.numbers.append(maximum: FrameLayout.threadSize) {
        let output = UnsafeMutableRawBufferPointer(start: $0, count: FrameLayout.threadSize)
        thread.encode(into: output, at: 0)
        return FrameLayout.threadSize
      }
    }
    rows.withRows { encode($0, callSites) }
    self.effort = isShort && effort != .thorough ? .full : effort
    return payload(compressor)
  }

  private func encode(
    _ rows: RowList, _ callSites: CallSiteFields
  ) {
    groups.sort(rows, callSites)
    sections.numbers.append(varint: groups.groups.count)
    for group in groups.groups {
      sections.numbers.append(group.kind)
      sections.numbers.append(varint: group.fields.count)
      for field in groups.fields[group.fields] { sections.numbers.append(field.onDisk) }
    }
    numberEncoder.encode(groups.ofRecord.base, count: rows.count, into: &sections)
    encodeColumn(rows.count) { rows[$0].threadOrdinal }
    encodeColumn(rows.count) { rows[$0][RecordLayout.ticksWord] }
    sortByGroup(rows)
    var start = 0
    for group in groups.groups {
      encode(group, UnsafeMutableBufferPointer(start: sorted.base + start, count: group.count))
      start += group.count
    }
  }

  @inline(__always)
  private func encodeColumn(
    _ count: Int, areDoubles: Bool = false, _ value: (Int) -> UInt64
  ) {
    column.grow(for: count)
    let base = column.base
    for index in 0..<count { base[index] = value(index) }
    numberEncoder.encode(base, count: count, areDoubles: areDoubles, into: &sections)
  }

  private func sortByGroup(_ rows: RowList) {
    sorted.grow(for: rows.count)
    starts.grow(for: groups.groups.count)
    var start: UInt64 = 0
    for (index, group) in groups.groups.enumerated() {
      starts.base[index] = start
      start += UInt64(group.count)
    }
    let (sorted, starts, ofRecord) = (sorted.base, starts.base, groups.ofRecord.base)
    for index in 0..<rows.count {
      let group = Int(truncatingIfNeeded: ofRecord[index])
      sorted[Int(truncatingIfNeeded: starts[group])] = UInt64(UInt(bitPattern: rows[index].base))
      starts[group] &+= 1
    }
  }

  /// - Parameter cursors: The addresses of the group's records; moved on from field to field.
  private func encode(_ group: RowGroup, _ cursors: UnsafeMutableBufferPointer<UInt64>) {
    encodeColumn(group.count) { Self.row(cursors[$0]).identity }
    let bodyOffset = UInt64(RecordLayout.bodyWord * wordSize)
    let rest = groups.fields[group.fields].last == .rest
    if rest { return encodeRest(cursors) }
    for index in cursors.indices { cursors[index] &+= bodyOffset }
    for field in groups.fields[group.fields] {
      switch field {
      case .word: encodeWords(cursors, areDoubles: false)
      case .double: encodeWords(cursors, areDoubles: true)
      case .string: encodeStrings(cursors)
      // The only field of its group.
      case .rest: break
      }
    }
  }

  @inline(__always)
  private static func row(_ address: UInt64) -> RowWords {
    // Made from a pointer by `sortByGroup`, so never zero.
    RowWords(UnsafeRawPointer(bitPattern: UInt(address)).unsafelyUnwrapped)
  }

  private func encodeWords(_ cursors: UnsafeMutableBufferPointer<UInt64>, areDoubles: Bool) {
    encodeColumn(cursors.count, areDoubles: areDoubles) { index in
      defer { cursors[index] &+= UInt64(wordSize) }
      return Self.row(cursors[index])[0]
    }
  }

  private func encodeStrings(_ cursors: UnsafeMutableBufferPointer<UInt64>) {
    strings.fill(cursors.count) { index in
      let row = Self.row(cursors[index])
      let length = Int(truncatingIfNeeded: row[0])
      cursors[index] &+= UInt64(wordSize &+ paddedSize(length))
      return (row.base + wordSize, length)
    }
    stringEncoder.encode(strings, into: &sections)
  }

  private func encodeRest(_ cursors: UnsafeMutableBufferPointer<UInt64>) {
    strings.fill(cursors.count) { index in
      let row = Self.row(cursors[index])
      return (
        row.base + RecordLayout.bodyWord * wordSize, (row.count - RecordLayout.bodyWord) * wordSize
      )
    }
    stringEncoder.encode(strings, into: &sections)
  }

  // MARK: - The payload

  private func payload(_ compressor: Compressor?) -> [UInt8] {
    let deflated = [
      deflatedNumbers(compressor), deflatedPlanes(compressor), deflatedText(compressor),
    ]
    let sizes = [sections.numbers.count, sections.planes.count, sections.text.count]
    let stored = zip(deflated, sizes).map { $0?.count ?? $1 }
    var payload: [UInt8] = []
    payload.reserveCapacity(ColumnLayout.size + stored.reduce(0, +))
    for size in zip(stored, sizes).flatMap({ [$0, $1] }) {
      withUnsafeBytes(of: UInt32(size).littleEndian) { payload.append(contentsOf: $0) }
    }
    if let bytes = deflated[0] { payload += bytes } else { payload += sections.numbers.bytes }
    if let bytes = deflated[1] { payload += bytes } else { payload += sections.planes.bytes }
    if let bytes = deflated[2] { payload += bytes } else { payload += sections.text.bytes }
    return payload
  }

  /// The effort for numbers and planes.
  private var generalEffort: TextEffort { effort == .thorough ? .thorough : .full }

  private func deflatedPlanes(_ compressor: Compressor?) -> [UInt8]? {
    compressor?.compress(sections.planes.bytes, effort: generalEffort)
  }

  /// Packed numbers seldom get much smaller, and zlib is slowest on such bytes. After a failed try,
  /// they are tried only now and then, and after each further failure half as often. At a fast
  /// level, numbers are deflated only if that saves a fourth.
  private func deflatedNumbers(_ compressor: Compressor?) -> [UInt8]? {
    guard let compressor else { return nil }
    let isThorough = effort == .thorough
    let isSmall = sections.numbers.count <= Self.alwaysTried
    if skips > 0, !isSmall, !isThorough {
      skips -= 1
      return nil
    }
    let bytes = compressor.compress(
      sections.numbers.bytes,
      share: isSmall || isThorough || compressor.level > Self.fastest ? 16 : 4,
      effort: generalEffort)
    if !isSmall, !isThorough {
      lastSkips = bytes == nil ? min(max(2 * lastSkips, Self.triedEvery), Self.mostSkips) : 0
      skips = lastSkips
    }
    return bytes
  }

  private func deflatedText(_ compressor: Compressor?) -> [UInt8]? {
    guard let compressor else { return nil }
    if lastText.bytes.withUnsafeBytes({ $0.equals(sections.text.bytes) }) {
      return lastText.deflated
    }
    let deflated = deflated(sections.text.bytes, compressor)
    // A long text hardly ever repeats.
    let isKept = sections.text.count <= Self.textSample
    lastText = isKept ? (Array(sections.text.bytes), deflated) : ([], nil)
    return deflated
  }

  /// Whether the text is so short that no choice gains anything.
  private var isShort: Bool { sections.text.count < 2 * Self.textSample }

  private func deflated(_ text: UnsafeRawBufferPointer, _ compressor: Compressor) -> [UInt8]? {
    switch effort {
    case .full: break
    case .reduced: return compressor.compress(text, effort: .reduced)
    case .thorough: return smallest(text, compressor)
    case .none: return nil
    }
    if isShort { return compressor.compress(text) }
    if choiceHolds == 0 { chooseMethod(compressor) }
    choiceHolds -= 1
    return compressor.compress(text, effort: findsRepetitions ? .full : .reduced)
  }

  /// Tries both methods: where nothing repeats, the search for repetitions even makes text larger.
  private func smallest(_ text: UnsafeRawBufferPointer, _ compressor: Compressor) -> [UInt8]? {
    let thorough = compressor.compress(text, effort: .thorough)
    guard let reduced = compressor.compress(text, effort: .reduced),
      reduced.count < thorough?.count ?? .max
    else { return thorough }
    return reduced
  }

  private func chooseMethod(_ compressor: Compressor) {
    // The sample is from the middle, and longer than zlib's window: where words come from a
    // vocabulary, repetitions become many only over such a length.
    let size = min(sections.text.count / 2, Self.methodSample)
    let sample = sections.text.bytes.slice((sections.text.count - size) / 2, size)
    let slow = compressor.compress(sample)?.count ?? sample.count
    let fast = compressor.compress(sample, effort: .reduced)?.count ?? sample.count
    // At a fast level, few repetitions, as in random identifiers, are not worth the search.
    let limit = compressor.level > Self.fastest ? slow : slow + slow / 8
    findsRepetitions = fast >= limit
    choiceHolds = Self.triedEvery
  }

  private static let textSample = 16 << 10
  private static let methodSample = 64 << 10
  private static let triedEvery = 16
  private static let mostSkips = 256
  /// The greatest level of zlib that is chosen for speed.
  private static let fastest = 3
  /// So few bytes take no time to try.
  private static let alwaysTried = 4096
}

/// What the columns of a frame are written to.
struct ColumnSections: ~Copyable {
  var numbers = TextBuffer()
  /// The byte planes of numbers, which zlib compresses.
  var planes = TextBuffer()
  var text = TextBuffer()

  mutating func removeAll() {
    numbers.removeAll()
    planes.removeAll()
    text.removeAll()
  }
}
