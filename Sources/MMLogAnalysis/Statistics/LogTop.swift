import MMLogFormat
package import MMLogReader

/// The most frequent records: groups of records with counts and rates, and on request with
/// percentiles of a field or of the durations of spans.
///
/// Memory is bounded: there are at most 20,000 groups, and their names and percentiles have limits.
/// A group for which there is no room has no count of its own: the records of all such groups are
/// counted together. Every other count is exact. For one thread at a time.
package struct LogTop {
  /// What records of a group have in common.
  package enum Key: Sendable {
    /// The message without its arguments. For lines of text, the text without what varies in it.
    case template
    case site, label, level, thread, process, session
    /// The name of the span that begins or ends.
    case span
    /// The value of a field.
    case field(String)

    /// Reads `--by`: one of these names, or else the name of a field.
    package init(_ name: String) {
      let known: [String: Key] = [
        "template": .template, "site": .site, "label": .label, "level": .level,
        "thread": .thread, "process": .process, "session": .session, "span": .span,
      ]
      self = known[name] ?? .field(name)
    }
  }

  /// What is measured of each record.
  package enum Measure: Sendable {
    /// The duration of the span that ends with the record.
    case duration
    /// A field that is a number.
    case field(String)
  }

  /// The number by which groups are sorted, the greatest first.
  package enum Order: String, CaseIterable, Sendable {
    case count, sum, p50, p99, max
  }

  struct Group {
    var count: UInt64 = 0
    var failed: UInt64 = 0
    var values = Percentiles()
  }

  private static let maximumGroups = 20_000

  private let key: Key
  /// The room for the names of the groups.
  private var nameBytes: TextBudget
  let measure: Measure?
  private let order: Order
  private var groups: [Bytewise: Group] = [:]
  /// Records of groups that there was no room for.
  private(set) var others: UInt64 = 0
  /// The number of all records; where durations are measured, of those that end a span.
  private(set) var total: UInt64 = 0
  /// Records that do not have what they are grouped by, or what is measured.
  private(set) var without: UInt64 = 0
  private var times: (first: Timestamp, last: Timestamp)?
  /// From the start of the first session to the end of the last one, within the requested time.
  private var sessionTimes: (first: Timestamp, last: Timestamp)?
  private let filter: LogReader.Filter
  /// How many more buckets the percentiles of all groups may have.
  private var bucketsLeft: Int
  /// The names of call sites that stay in memory.
  private var names: [ObjectIdentifier: (site: CallSiteInfo, name: String)] = [:]
  private var siteBytes = TextBudget(64 << 20)

  /// Makes an empty summary.
  ///
  /// - Parameters:
  ///   - filter: The filter of the reader. Rates refer to its time.
  ///   - maximumBytes: How many bytes the names of groups may take in memory.
  ///   - maximumBuckets: How many buckets the percentiles of all groups may have before they become
  ///     less exact.
  package init(
    by key: Key, of measure: Measure? = nil, order: Order = .count,
    filter: LogReader.Filter = LogReader.Filter(), maximumBytes: Int = 32 << 20,
    maximumBuckets: Int = Percentiles.maximumOfAll
  ) {
    (self.key, self.measure, self.order, self.filter) = (key, measure, order, filter)
    nameBytes = TextBudget(maximumBytes)
    bucketsLeft = maximumBuckets
  }

  /// Adds what a reader gave.
  package mutating func add(_ item: LogReader.Item) {
    guard case .record(let record) = item else { return note(item) }
    Self.extend(&times, to: record.time...record.time)
    let value = measure.map { $0.value(of: record) }
    if case .duration? = measure, case .some(.none) = value { return }
    total += 1
    if case .some(.none) = value { return without += 1 }
    guard let text = name(of: record) else { return without += 1 }
    let name = Bytewise(text)
    let hasRoom =
      groups[name] != nil || groups.count < Self.maximumGroups && nameBytes.take(text.utf8.count)
    guard hasRoom else { return others += 1 }
    groups[name, default: Group()].add(record, value ?? nil, &bucketsLeft)
  }

  private mutating func note(_ item: LogReader.Item) {
    guard case .sessionEnded(let session, let ending, let last) = item else { return }
    let (start, end) = (session.identity.startTime, ending.time(lastRecord: last))
    guard session.isWithin(filter, until: end) else { return }
    Self.extend(&sessionTimes, to: min(start, end)...end)
  }

  private static func extend(
    _ times: inout (first: Timestamp, last: Timestamp)?, to range: ClosedRange<Timestamp>
  ) {
    times = (
      min(times?.first ?? range.lowerBound, range.lowerBound),
      max(times?.last ?? range.upperBound, range.upperBound)
    )
  }

  /// How many groups there are.
  var groupCount: Int { groups.count }

  /// The length of the time that rates refer to, in seconds: the part of the requested time that
  /// has sessions. If no time is requested, the time from the first record to the last.
  var seconds: Double {
    guard var times else { return 0 }
    if filter.since != nil || filter.until != nil, let (first, last) = sessionTimes {
      times.first = min(times.first, max(first, filter.since ?? first))
      times.last = max(times.last, min(last, filter.until ?? last))
    }
    let nanoseconds = times.last.nanosecondsSince1970.subtractingReportingOverflow(
      times.first.nanosecondsSince1970)
    return nanoseconds.overflow ? 0 : Double(nanoseconds.partialValue) / 1e9
  }

  /// The groups, the greatest first.
  var sorted: [(name: String, group: Group)] {
    groups.map { (name: $0.key, group: $0.value, rank: rank($0.value)) }
      .sorted { ($0.rank, $1.name) > ($1.rank, $0.name) }.map { ($0.name.text, $0.group) }
  }

  private func rank(_ group: Group) -> Double {
    switch order {
    case .count: Double(group.count)
    case .sum: group.values.sum.isNaN ? 0 : group.values.sum
    case .p50: group.values.value(at: 0.5) ?? 0
    case .p99: group.values.value(at: 0.99) ?? 0
    case .max: group.values.maximum
    }
  }

  // MARK: - Names

  private mutating func name(of record: LogReader.Record) -> String? {
    switch key {
    case .template: return template(of: record)
    case .site: return record.file.isEmpty ? "(none)" : siteName(of: record)
    case .label: return record.label.isEmpty ? "(none)" : record.label
    case .level: return record.level.description
    case .thread:
      return record.thread.name.isEmpty ? "\(record.thread.id)" : record.thread.name
    case .process:
      return "\(record.session.identity.processName)[\(record.session.identity.processID)]"
    case .session: return record.session.id.description
    case .span: return record.span.map { $0.name ?? "(unknown)" }
    case .field(let name): return record.field(name).map(\.text)
    }
  }

  private mutating func template(of record: LogReader.Record) -> String {
    let site = record.content.site
    let template = site.hasText ? site.template : TextVariables.pattern(of: record.message)
    // Most ends of spans have no message.
    guard template.isEmpty, let span = record.span, case .end = span.event else { return template }
    return "end \(span.name ?? "(unknown)")"
  }

  private mutating func siteName(of record: LogReader.Record) -> String {
    let site = record.content.site
    if let known = names[ObjectIdentifier(site)] { return known.name }
    let name = "\(site.file):\(site.line)  \(site.template)"
    if !record.content.flags.contains(.inlineCallSite), names.count < Self.maximumGroups,
      siteBytes.take(site.textSize + name.utf8.count)
    {
      names[ObjectIdentifier(site)] = (site, name)
    }
    return name
  }
}

extension LogTop.Group {
  fileprivate mutating func add(
    _ record: LogReader.Record, _ value: Double?, _ bucketsLeft: inout Int
  ) {
    count += 1
    if case .end(_, _, true)? = record.span?.event { failed += 1 }
    if let value { values.add(value, of: &bucketsLeft) }
  }
}

extension LogTop.Measure {
  /// In nanoseconds, where it is a duration.
  fileprivate func value(of record: LogReader.Record) -> Double? {
    switch self {
    case .duration:
      if case .end(_, let duration, _)? = record.span?.event {
        Double(duration.components.seconds) * 1e9 + Double(duration.components.attoseconds) / 1e9
      } else {
        nil
      }
    case .field(let name): record.field(name)?.number
    }
  }
}

extension LogReader.Record {
  /// The first value of that name.
  fileprivate func field(_ name: String) -> Value? {
    fields.first { $0.name == name }?.value
  }
}

extension Value {
  /// As it is shown.
  fileprivate var text: String {
    switch self {
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    case .int(let value): "\(value)"
    case .uint(let value): "\(value)"
    case .double(let value): "\(value)"
    case .float(let value): "\(value)"
    case .bool(let value): "\(value)"
    case .int128(let value): "\(value)"
    case .uint128(let value): "\(value)"
    case .null: "nil"
    case .redacted: "<private>"
    case .hash(let value): "<hash:\(value.allHexDigits)>"
    case .sealed: "<sealed>"
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .array, .dictionary: "(several)"
    }
  }

  /// The value as a number; nil if it is none. A text may be a number. Infinity and NaN are none.
  fileprivate var number: Double? { anyNumber.flatMap { $0.isFinite ? $0 : nil } }

  private var anyNumber: Double? {
    switch self {
    case .int(let value): Double(value)
    case .uint(let value): Double(value)
    case .double(let value): value
    case .float(let value): Double(value)
    case .int128(let value): Double(value)
    case .uint128(let value): Double(value)
    case .string(let bytes): Double(String(decoding: bytes, as: UTF8.self))
    case .bool, .bytes, .redacted, .hash, .sealed, .null, .array, .dictionary: nil
    }
  }
}

/// What varies in lines of text.
enum TextVariables {
  /// The text with `*` in place of each word that has a digit in it, and of each word in quotes.
  /// Lines of the same kind have the same pattern. Only the first 200 characters count.
  static func pattern(of text: String) -> String {
    var text = text.first200
    return text.withUTF8 { String(decoding: pattern(of: $0), as: UTF8.self) }
  }

  private static func pattern(of text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var word = 0
    var quote: UInt8?
    for (index, byte) in text.enumerated() {
      if let open = quote {
        guard byte == open else { continue }
        result += [star, byte]
        (quote, word) = (nil, index + 1)
        continue
      }
      let opens = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") && word == index
      guard opens || isSeparator(byte) else { continue }
      append(text[word..<index], to: &result)
      result.append(byte)
      word = index + 1
      if opens { quote = byte }
    }
    if quote == nil { append(text[word...], to: &result) } else { result.append(star) }
    return result
  }

  private static let star = UInt8(ascii: "*")

  private static func append(
    _ word: Slice<UnsafeBufferPointer<UInt8>>, to result: inout [UInt8]
  ) {
    if hasNumber(word) { result.append(star) } else { result += word }
  }

  private static func hasNumber(_ word: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var isASCII = true
    for byte in word {
      if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { return true }
      if byte >= 0x80 { isASCII = false }
    }
    return !isASCII && String(decoding: word, as: UTF8.self).contains(where: \.isNumber)
  }

  private static func isSeparator(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "="), UInt8(ascii: ","),
      UInt8(ascii: ";"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "["),
      UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "<"),
      UInt8(ascii: ">"), UInt8(ascii: "|"):
      true
    default: false
    }
  }
}
