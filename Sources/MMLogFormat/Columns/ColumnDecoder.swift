/// The text of all strings of a payload in columns.
package enum ColumnText {
  /// The text, in which numbers may be missing.
  case withoutNumbers(UnsafeRawBufferPointer, MissingNumbers)
  /// The text, in which each string is whole somewhere.
  case whole(UnsafeRawBufferPointer, CallSiteColumns)
}

/// The numbers that are missing in the text of a payload in columns.
package struct MissingNumbers {
  fileprivate let numbers: UnsafeRawBufferPointer
  fileprivate let planes: UnsafeRawBufferPointer
  fileprivate let text: UnsafeRawBufferPointer
  fileprivate let size: Int
  fileprivate let count: Int

  /// Whether a text of letters may occur where a number is missing: within the number, or where the
  /// number meets another number or letters. False is certain.
  ///
  /// - Complexity: O(how many numbers the payload has). No string is put together.
  package func mayShow(_ letters: [UInt8]) -> Bool {
    guard Placeholder.isOfLetters(in: text) else { return false }
    guard let letters = HexadecimalLetters(letters) else { return true }
    var decoder = decoder
    // What cannot be read is reported when the whole payload is read.
    return (try? decoder.mayShow(letters)) ?? true
  }

  fileprivate var decoder: ColumnDecoder {
    ColumnDecoder(
      NumberDecoder(numbers, planes: planes), StringDecoder(text, limit: size), size: size,
      count: count)
  }
}

/// The call sites of a payload's records.
package struct CallSiteColumns {
  /// Identity words.
  fileprivate var columns: [UnsafeBufferPointer<UInt64>] = []

  /// Whether a record has one of these call sites, or carries its call site itself.
  package func contain(oneOf sites: Set<UInt32>) -> Bool {
    var last: UInt64?
    for column in columns {
      for word in column where word != last {
        last = word
        let flags = RecordFlags(
          rawValue: UInt8(truncatingIfNeeded: word >> RecordLayout.flagsShift))
        if flags.contains(.inlineCallSite) || sites.contains(UInt32(truncatingIfNeeded: word)) {
          return true
        }
      }
    }
    return false
  }
}

/// Turns a payload in columns back into one in rows, from hostile bytes.
package struct ColumnDecoder: ~Copyable {
  /// The payload in rows, as large as the frame's header says, or nil if it is not wanted.
  ///
  /// - Parameters:
  ///   - payload: The payload as stored. The caller has checked its checksum.
  ///   - size: How large it is in rows.
  ///   - count: How many records it has.
  ///   - mayPass: Called only if all records are whole and as their call sites say: first with the
  ///     text without numbers, which takes little time, then with the whole text and the call
  ///     sites. The second argument says whether a record may have metadata with a value that is no
  ///     string.
  /// - Throws: if `payload` is no such payload.
  /// - Complexity: O(`size`), in memory too.
  package static func rows(
    _ payload: UnsafeRawBufferPointer, size: Int, count: Int, _ decompressor: Decompressor,
    ifWanted mayPass: (ColumnText, Bool) -> Bool
  ) throws -> [UInt8]? {
    guard payload.count >= ColumnLayout.size, size >= 0, size <= FrameLayout.largestPayload,
      count >= 0, count <= size / (RecordLayout.bodyWord * wordSize)
    else { throw FormatError.invalid("record count") }
    guard size <= decompressor.format.largestRows(ofColumns: payload.count) else {
      throw FormatError.invalid("size of the rows of so few columns")
    }
    var rest = WordReader(payload)
    let sizes = try rest.take(ColumnLayout.size)
    var numbers = try section(sizes, ColumnLayout.numbersStored, &rest, decompressor)
    numbers.append(contentsOf: repeatElement(0, count: NumberDecoder.slack))
    let planes = try section(sizes, ColumnLayout.planesStored, &rest, decompressor)
    let text = try section(sizes, ColumnLayout.textStored, &rest, decompressor)
    guard rest.isAtEnd else { throw FormatError.invalid("end of the columns") }
    return try numbers.withUnsafeBytes { numbers in
      try planes.withUnsafeBytes { planes in
        try text.withUnsafeBytes { text in
          let missing = MissingNumbers(
            numbers: numbers, planes: planes, text: text, size: size, count: count)
          var decoder = missing.decoder
          return try decoder.rows(missing, ifWanted: mayPass)
        }
      }
    }
  }

  private static func section(
    _ sizes: UnsafeRawBufferPointer, _ offset: Int, _ rest: inout WordReader,
    _ decompressor: Decompressor
  ) throws(FormatError) -> [UInt8] {
    let stored = Int(sizes.load(offset, as: UInt32.self))
    let size = Int(sizes.load(offset + 4, as: UInt32.self))
    let bytes = try rest.take(stored)
    return stored == size ? Array(bytes) : try decompressor.decompress(bytes, size: size)
  }

  private var numbers: NumberDecoder
  private var strings: StringDecoder
  /// The size of all rows, in bytes.
  private let size: Int
  private let count: Int
  private var groups: [RowGroup] = []
  /// The fields of all groups.
  private var fields: [ColumnField] = []
  private let ofRecord: WordBuffer
  private let ordinals: WordBuffer
  private let ticks: WordBuffer
  /// Group by group: word 2, then each field; for strings, their places.
  private let columns = WordBuffer(capacity: 1)

  fileprivate init(
    _ numbers: consuming NumberDecoder, _ strings: consuming StringDecoder, size: Int, count: Int
  ) {
    self.numbers = numbers
    self.strings = strings
    (self.size, self.count) = (size, count)
    ofRecord = WordBuffer(capacity: count)
    ordinals = WordBuffer(capacity: count)
    ticks = WordBuffer(capacity: count)
  }

  private mutating func rows(
    _ missing: MissingNumbers, ifWanted mayPass: (ColumnText, Bool) -> Bool
  ) throws -> [UInt8]? {
    let threads = try readThreads()
    try readGroups()
    let isOfWholeRecords = groups.allSatisfy(\.isOfWholeRecords)
    if isOfWholeRecords {
      let shown = ColumnText.withoutNumbers(missing.text, missing)
      if !mayPass(shown, groups.contains(where: \.mayHaveOtherMetadata)) { return nil }
    }
    try readRecords()
    let rowSize = try readColumns()
    guard numbers.isAtEnd, strings.isAtEnd, rowSize == size - wordSize - threads.count else {
      throw FormatError.invalid("size of the columns")
    }
    if isOfWholeRecords {
      var sites = CallSiteColumns()
      for group in groups { sites.columns.append(identities(of: group)) }
      if !mayPass(.whole(strings.text, sites), hasOtherMetadata) { return nil }
    }
    return try [UInt8](unsafeUninitializedCapacity: size) { output, written in
      let output = UnsafeMutableRawBufferPointer(output)
      output.store(UInt64(threads.count / FrameLayout.threadSize), 0)
      UnsafeMutableRawBufferPointer(rebasing: output[wordSize...]).copyMemory(from: threads)
      let rows = output[(wordSize + threads.count)...]
      try writeRows(to: UnsafeMutableRawBufferPointer(rebasing: rows))
      written = size
    }
  }

  /// See ``MissingNumbers/mayShow(_:)``.
  fileprivate mutating func mayShow(_ letters: HexadecimalLetters) throws(FormatError) -> Bool {
    _ = try readThreads()
    try readGroups()
    try readRecords()
    for group in groups {
      let base = columns.base + group.first
      try numbers.column(group.count, to: base)
      for field in fields[group.fields] {
        if field == .word {
          try numbers.column(group.count, to: base)
        } else if try strings.mayShow(letters, group.count, places: base, &numbers) {
          return true
        }
      }
    }
    return false
  }

  private mutating func readThreads() throws(FormatError) -> UnsafeRawBufferPointer {
    let count = try numbers.count(maximum: size / FrameLayout.threadSize)
    return try numbers.take(count * FrameLayout.threadSize)
  }

  /// Reads the group, the thread and the time of each record, and makes room for the columns.
  private mutating func readRecords() throws(FormatError) {
    try numbers.column(count, to: ofRecord.base)
    try countGroups()
    try numbers.column(count, to: ordinals.base)
    try numbers.column(count, to: ticks.base)
    for index in 0..<count where ordinals.base[index] > UInt32.max { throw .invalid("thread") }
    // Before any memory is taken for columns.
    let words = try minimumWords()
    columns.grow(for: words)
  }

  /// Whether a record has metadata with a value that is no string, as its fields and flags say.
  private var hasOtherMetadata: Bool {
    for group in groups where group.mayHaveOtherMetadata {
      let hasMetadata = identities(of: group).contains {
        let flags = UInt8(truncatingIfNeeded: $0 >> RecordLayout.flagsShift)
        return !RecordFlags(rawValue: flags).isDisjoint(with: [.metadata, .context])
      }
      if hasMetadata { return true }
    }
    return false
  }

  /// Word 2 of each record.
  private func identities(of group: RowGroup) -> UnsafeBufferPointer<UInt64> {
    UnsafeBufferPointer(start: columns.base + group.first, count: group.count)
  }

  // MARK: - Groups

  private mutating func readGroups() throws(FormatError) {
    for _ in 0..<(try numbers.count(maximum: count)) {
      let kind = try numbers.byte()
      let found = try numbers.take(try numbers.count(maximum: size / wordSize))
      for byte in found { fields.append(try Self.field(byte)) }
      let group = RowGroup(kind: kind, fields.suffix(found.count))
      guard found.count <= 1 || !fields[group.fields].contains(.rest) else {
        throw .invalid("field")
      }
      groups.append(group)
    }
  }

  private static func field(_ byte: UInt8) throws(FormatError) -> ColumnField {
    guard let field = ColumnField(rawValue: byte), field.onDisk == byte else {
      throw .invalid("field")
    }
    return field
  }

  private mutating func countGroups() throws(FormatError) {
    for index in 0..<count {
      let group = ofRecord.base[index]
      guard group < groups.count else { throw .invalid("group") }
      groups[Int(group)].count += 1
    }
    // An empty group could have any number of fields.
    guard groups.allSatisfy({ $0.count > 0 }) else { throw .invalid("group") }
  }

  /// Gives each group its place among all columns, and returns how many words these take. Word 2
  /// and each field of a record, a rest included, take a word each.
  private mutating func minimumWords() throws(FormatError) -> Int {
    var words = 0
    for index in groups.indices {
      groups[index].first = words
      // Both factors are less than 2²⁴.
      words += groups[index].count * (1 + groups[index].fields.count)
      guard words <= size / wordSize else { throw .invalid("number of fields") }
    }
    return words
  }

  /// - Returns: How large all rows are, in bytes.
  private mutating func readColumns() throws(FormatError) -> Int {
    var rowSize = 0
    for group in groups {
      let base = columns.base + group.first
      try numbers.column(group.count, to: base)
      rowSize += group.count * RecordLayout.bodyWord * wordSize
      for (index, field) in fields[group.fields].enumerated() {
        let column = base + (index + 1) * group.count
        if field == .word {
          try numbers.column(group.count, to: column)
          rowSize += group.count * wordSize
        } else {
          try strings.column(group.count, to: column, &numbers)
          rowSize += try Self.size(of: column, group.count, isRest: field == .rest)
        }
        guard rowSize <= size else { throw .invalid("size of the rows") }
      }
    }
    return rowSize
  }

  /// How large strings are in rows, in bytes.
  private static func size(
    of places: UnsafePointer<UInt64>, _ count: Int, isRest: Bool
  ) throws(FormatError) -> Int {
    var size = isRest ? 0 : count * wordSize
    for index in 0..<count {
      let place = StringRange(places[index])
      guard !isRest || place.length % wordSize == 0 else { throw .invalid("rest of a row") }
      size &+= place.paddedLength
    }
    return size
  }

  // MARK: - Rows

  /// - Parameter output: As large as all rows together.
  private mutating func writeRows(to output: UnsafeMutableRawBufferPointer) throws {
    guard count > 0 else { return }
    let (columns, text) = (columns.base, strings.base)
    let (ofRecord, ordinals, ticks) = (ofRecord.base, ordinals.base, ticks.base)
    try fields.withUnsafeBufferPointer { fields in
      var writer = try RowWriter(to: output, fields, columns, text)
      try groups.withUnsafeMutableBufferPointer { groups in
        for index in 0..<count {
          let group = Int(truncatingIfNeeded: ofRecord[index])
          try writer.write(&groups[group], thread: ordinals[index], ticks: ticks[index])
        }
      }
      guard writer.isAtEnd else { throw FormatError.invalid("size of the rows") }
    }
  }
}
