package import MMLogFormat

/// A frame whose columns are written by hand, and the rows that they stand for.
package struct ColumnFrame {
  /// A field of a group: its words in each record, and how the column is written.
  package struct Field {
    let kind: UInt8
    let words: [[UInt64]]
    let column: ColumnBytes

    package static func word(_ values: [UInt64], _ write: ColumnBytes.Numbers) -> Field {
      Field(kind: 0, words: values.map { [$0] }, column: write(values))
    }

    package static func string(_ values: [[UInt8]], _ column: ColumnBytes) -> Field {
      let words = values.map { ValueWords.argument(.string($0)) }
      return Field(kind: 1, words: words, column: column)
    }

    /// All words of each record from word 3 on.
    package static func rest(_ words: [[UInt64]], _ write: ([[UInt8]]) -> ColumnBytes) -> Field {
      let bytes = words.map { $0.withUnsafeBytes { Array($0) } }
      return Field(kind: 2, words: words, column: write(bytes))
    }
  }

  package struct Group {
    let kind: UInt8
    let identities: [UInt64]
    let fields: [Field]
    let identityColumn: ColumnBytes

    /// - Parameter identities: Word 2 of each record.
    package init(
      kind: UInt8 = 1, _ identities: [UInt64], _ fields: [Field],
      write: ColumnBytes.Numbers = ColumnBytes.packed
    ) {
      (self.kind, self.identities, self.fields) = (kind, identities, fields)
      identityColumn = write(identities)
    }

    func row(_ index: Int, ticks: UInt64, thread: UInt64) -> [UInt64] {
      let body = fields.flatMap { $0.words[index] }
      let header = UInt64(body.count + 3) | UInt64(kind) << 24 | thread << 32
      return [header, ticks, identities[index]] + body
    }
  }

  package let columns: ColumnBytes
  package let rows: [UInt8]
  package private(set) var summary = RecordSummary()

  /// - Parameters:
  ///   - ticks: The ticks of the first record. Each record has 1001 more than the one before.
  ///     Records of the groups alternate.
  package init(
    _ groups: [Group], threads: [ThreadIdentity], ticks first: UInt64 = 1_000_001
  ) {
    let order = Self.order(groups)
    let ticks = order.indices.map { first + 1001 * UInt64($0) }
    let ordinals = order.indices.map { UInt64(threads[$0 / 3 % threads.count].ordinal) }
    let table = threads.flatMap { thread in
      let name = Array(thread.name.utf8.prefix(16))
      return [thread.ordinal, thread.id].withUnsafeBytes { Array($0) } + name
        + [UInt8](repeating: 0, count: 16 - name.count)
    }
    var columns = ColumnBytes.varint(threads.count) + ColumnBytes(numbers: table)
    columns = columns + .varint(groups.count)
    for group in groups {
      columns = columns + .bytes(group.kind) + .varint(group.fields.count)
      columns.numbers += group.fields.map(\.kind)
    }
    columns = columns + .packed(order.map { UInt64($0) }) + .runs(ordinals)
    columns = columns + .differences(ticks, ColumnBytes.constant)
    for group in groups {
      columns = group.fields.reduce(columns + group.identityColumn) { $0 + $1.column }
    }
    self.columns = columns
    var next = groups.map { _ in 0 }
    var words = [UInt64(threads.count)]
    words += table.withUnsafeBytes { bytes in
      (0..<table.count / 8).map { bytes.load($0 * 8, as: UInt64.self) }
    }
    for (index, group) in order.enumerated() {
      words += groups[group].row(next[group], ticks: ticks[index], thread: ordinals[index])
      let level = UInt8(groups[group].identities[next[group]] >> 48 & 255)
      summary.add(ticks: ticks[index], level: Level(rawValue: level) ?? .info)
      next[group] += 1
    }
    rows = words.withUnsafeBytes { Array($0) }
  }

  /// The group of each record: the groups take turns while they have records left.
  private static func order(_ groups: [Group]) -> [Int] {
    let maximum = groups.map(\.identities.count).max() ?? 0
    return (0..<maximum).flatMap { index in
      groups.indices.filter { groups[$0].identities.count > index }
    }
  }
}
