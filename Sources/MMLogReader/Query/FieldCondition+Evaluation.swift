import MMLogFormat
import MMLogSystem

extension FieldCondition {
  /// A record, and what else is known of it.
  struct Subject {
    let record: RecordContent
    /// The clock of the record's ticks.
    let clock: TickClock
    let process: LoggingProcess
  }

  /// Whether the record fits.
  func holds(for subject: Subject) -> Bool { root.holds(subject) }
}

/// The process of the records, in the form that conditions need.
final class LoggingProcess {
  let id: UInt32
  let name: String
  let session: String

  init(_ identity: SessionIdentity) {
    (id, name) = (identity.processID, identity.processName)
    session = identity.session.description
  }
}

extension FieldCondition.Node {
  fileprivate func holds(_ subject: FieldCondition.Subject) -> Bool {
    switch self {
    case .any(let nodes): nodes.contains { $0.holds(subject) }
    case .all(let nodes): nodes.allSatisfy { $0.holds(subject) }
    case .not(let node): !node.holds(subject)
    case .exists(let field): field.contains(in: subject) { value, _ in value.isTrue }
    case .compare(let field, let comparison, let operand):
      field.contains(in: subject) { value, reader in
        value.holds(comparison, operand, &reader)
      }
    case .find(let field, let pattern, let isNot):
      field.contains(in: subject) { value, reader in
        value.withText(&reader) { pattern.matches($0) != isNot }
      }
    }
  }
}

extension FieldCondition.Field {
  /// Whether `body` returns true for one of the record's fields of this name.
  fileprivate func contains(
    in subject: FieldCondition.Subject, _ body: (ValueView, inout WordReader) -> Bool
  ) -> Bool {
    switch self {
    case .record(let field): return field.value(of: subject, body)
    case .named(let name, let path):
      var isFound = false
      subject.record.forEachField { (field, value, reader) throws(FormatError) in
        let start = reader
        if !isFound, field.isNamed(name) {
          var copy = reader
          isFound = body(value, &copy)
        } else if !isFound, path.count > 1, field.isNamed(path[0]) {
          var copy = reader
          isFound = Self.contains(path[1...], in: value, &copy, body)
        }
        reader = start
        try reader.skipElements(of: value)
      }
      return isFound
    }
  }

  /// The same for a value inside a dictionary.
  private static func contains(
    _ path: ArraySlice<String>, in value: ValueView, _ reader: inout WordReader,
    _ body: (ValueView, inout WordReader) -> Bool
  ) -> Bool {
    guard let name = path.first else { return body(value, &reader) }
    guard case .dictionary(let count) = value else { return false }
    for _ in 0..<count {
      guard let key = try? reader.string(), let element = try? reader.taggedView() else {
        return false
      }
      if FieldName.bytes(key).isNamed(name) {
        var copy = reader
        if contains(path.dropFirst(), in: element, &copy, body) { return true }
      }
      guard (try? reader.skipElements(of: element)) != nil else { return false }
    }
    return false
  }
}

extension FieldCondition.RecordField {
  fileprivate func value(
    of subject: FieldCondition.Subject, _ body: (ValueView, inout WordReader) -> Bool
  ) -> Bool {
    let record = subject.record
    var none = WordReader(UnsafeRawBufferPointer(start: nil, count: 0))
    func test(_ text: String) -> Bool {
      var text = text
      return text.withUTF8 { body(.string(UnsafeRawBufferPointer($0)), &none) }
    }
    switch self {
    case .level: return body(.uint(UInt64(record.level.rawValue)), &none)
    case .label: return test(record.label.string)
    case .file: return test(record.site.file)
    case .function: return test(record.site.function)
    case .line:
      guard record.hasPlace else { return false }
      return body(.int(Int64(record.site.line)), &none)
    case .thread: return test(record.thread.name)
    case .threadID: return body(.uint(UInt64(record.thread.id)), &none)
    case .process: return test(subject.process.name)
    case .processID: return body(.uint(UInt64(subject.process.id)), &none)
    case .session: return test(subject.process.session)
    case .time: return body(.int(record.time.nanosecondsSince1970), &none)
    case .duration:
      guard let duration = record.spanDuration(subject.clock) else { return false }
      return body(.int(duration.nanoseconds), &none)
    case .span:
      guard let number = record.spanNumber else { return false }
      return test(LogReader.Span.text(of: number))
    case .spanName:
      guard let name = record.spanName else { return false }
      return test(name)
    case .trace:
      guard let trace = record.context?.trace else { return false }
      return test(trace.traceID)
    case .message:
      var message = TextBuffer()
      record.appendMessage(.raw, to: &message)
      return message.withUnsafeBytes { body(.string($0), &none) }
    }
  }
}

extension FieldName {
  fileprivate func isNamed(_ name: String) -> Bool {
    if case .bytes(let bytes) = self, bytes.isUTF8 { return bytes.elementsEqual(name.utf8) }
    return string.utf8.elementsEqual(name.utf8)
  }
}

extension ValueView {
  fileprivate var isTrue: Bool {
    switch self {
    case .null, .bool(false): false
    default: true
    }
  }

  fileprivate func holds(
    _ comparison: FieldCondition.Comparison, _ operand: FieldCondition.Operand,
    _ reader: inout WordReader
  ) -> Bool {
    switch operand {
    case .level(let level): return comparison.holds(order(to: .whole(Int128(level.rawValue))))
    case .null:
      if case .null = self { return comparison.holds(0) }
      return comparison.holds(nil)
    case .bool(let expected):
      guard case .bool(let value) = self else { return comparison.holds(nil) }
      return comparison.holds(value == expected ? 0 : value ? 1 : -1)
    case .whole, .real: return comparison.holds(order(to: operand))
    case .text(let expected):
      return withText(&reader) { text in
        let isLess = text.lexicographicallyPrecedes(expected)
        return comparison.holds(isLess ? -1 : text.elementsEqual(expected) ? 0 : 1)
      }
    case .beginning(let expected):
      return withText(&reader) { comparison.holds($0.starts(with: expected) ? 0 : nil) }
    }
  }

  /// −1, 0 or 1 for a number, or for a text that is a number.
  private func order(to operand: FieldCondition.Operand) -> Int? {
    switch self {
    case .int(let value): Self.order(Int128(value), operand)
    case .uint(let value): Self.order(Int128(value), operand)
    case .int128(let value): Self.order(value, operand)
    case .uint128(let value):
      value <= UInt128(Int128.max) ? Self.order(Int128(value), operand) : 1
    case .double(let value): Self.order(value, operand)
    // As it is shown: a condition that says the same is true.
    case .float(let value): Self.order(Double(value.description) ?? Double(value), operand)
    case .string(let bytes):
      switch bytes.count <= 64 ? FieldCondition.Operand(number: Array(bytes)) : nil {
      case .whole(let value): Self.order(value, operand)
      case .real(let value): Self.order(value, operand)
      default: nil
      }
    default: nil
    }
  }

  private static func order(_ value: Int128, _ operand: FieldCondition.Operand) -> Int? {
    switch operand {
    case .whole(let other): value < other ? -1 : value == other ? 0 : 1
    case .real: order(Double(value), operand)
    default: nil
    }
  }

  private static func order(_ value: Double, _ operand: FieldCondition.Operand) -> Int? {
    let other: Double
    switch operand {
    case .whole(let number): other = Double(number)
    case .real(let number): other = number
    default: return nil
    }
    if value.isNaN { return nil }
    return value < other ? -1 : value == other ? 0 : 1
  }

  /// The text that the value is shown as.
  fileprivate func withText(
    _ reader: inout WordReader, _ body: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    if case .string(let bytes) = self, bytes.isUTF8 { return body(bytes) }
    var text = TextBuffer()
    // The value was checked before: nothing is thrown.
    _ = try? text.append(self, .raw, from: &reader)
    return text.withUnsafeBytes(body)
  }
}
