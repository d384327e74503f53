/// Records with the same fields, while rows are turned into columns, or columns into rows.
struct RowGroup {
  let kind: UInt8
  /// Its fields' place among those of all groups.
  let fields: Range<Int>
  /// Whether a record's length depends on strings.
  let hasStrings: Bool
  /// Whether its records are no fragments, and none of their words is in a rest.
  let isOfWholeRecords: Bool
  /// Whether its records may have metadata with a value that is no string. Such a pair is a name, a
  /// type and a word at least.
  let mayHaveOtherMetadata: Bool
  /// How long a record is, in words, without the bytes of its strings.
  let minimumWords: Int
  /// How many records it has, and how many of them have been written as rows.
  var (count, written) = (0, 0)
  /// Where its columns begin.
  var first = 0

  init(kind: UInt8, _ fields: ArraySlice<ColumnField>) {
    (self.kind, self.fields) = (kind, fields.indices)
    hasStrings = fields.contains { $0 != .word }
    minimumWords = RecordLayout.bodyWord + fields.count { $0 != .rest }
    isOfWholeRecords = kind == RowWords.recordKind && !fields.contains(.rest)
    mayHaveOtherMetadata = fields.indices.dropLast(2).contains {
      fields[$0] == .string && fields[$0 + 1] != .string && fields[$0 + 2] != .string
    }
  }
}

/// Puts rows together from columns, into exactly as much memory as they take.
struct RowWriter {
  private var next: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer
  private let columns: UnsafePointer<UInt64>
  private let text: UnsafeRawPointer
  private let fields: UnsafeBufferPointer<ColumnField>

  /// - Parameters:
  ///   - columns: Numbers, and ``StringRange``s in `text`, all checked; `fields` says which.
  init(
    to output: UnsafeMutableRawBufferPointer, _ fields: UnsafeBufferPointer<ColumnField>,
    _ columns: UnsafePointer<UInt64>, _ text: UnsafeRawPointer
  ) throws(FormatError) {
    guard let next = output.baseAddress else { throw .truncated }
    (self.next, end) = (next, next + output.count)
    (self.fields, self.columns, self.text) = (fields, columns, text)
  }

  var isAtEnd: Bool { next == end }

  /// Writes the next record of a group. The group must have one.
  @inline(__always)
  mutating func write(
    _ group: inout RowGroup, thread: UInt64, ticks: UInt64
  ) throws(FormatError) {
    let identity = columns + group.first + group.written
    group.written &+= 1
    var size = group.minimumWords &* wordSize
    if group.hasStrings { size &+= stringSize(group, identity) }
    // No payload is so large that a record's length would not fit its 24 bits.
    let words = UInt64(truncatingIfNeeded: size / wordSize)
    guard size <= end - next else { throw .invalid("length of a row") }
    store(words | UInt64(group.kind) << 24 | thread << 32)
    store(ticks)
    store(identity.pointee)
    var column = identity
    for field in group.fields {
      column += group.count
      switch fields[field] {
      case .word, .double: store(column.pointee)
      case .string:
        store(UInt64(truncatingIfNeeded: StringRange(column.pointee).length))
        copy(StringRange(column.pointee))
      case .rest: copy(StringRange(column.pointee))
      }
    }
  }

  private func stringSize(_ group: RowGroup, _ identity: UnsafePointer<UInt64>) -> Int {
    var (size, column) = (0, identity)
    for field in group.fields {
      column += group.count
      if fields[field] != .word { size &+= StringRange(column.pointee).paddedLength }
    }
    return size
  }

  @inline(__always)
  private mutating func store(_ word: UInt64) {
    next.storeBytes(of: word.littleEndian, as: UInt64.self)
    next += wordSize
  }

  @inline(__always)
  private mutating func copy(_ place: StringRange) {
    guard place.length > 0 else { return }
    let size = place.paddedLength
    // Zeros behind its last byte.
    (next + size - wordSize).storeBytes(of: 0, as: UInt64.self)
    next.copyMemory(from: text + place.start, byteCount: place.length)
    next += size
  }
}
