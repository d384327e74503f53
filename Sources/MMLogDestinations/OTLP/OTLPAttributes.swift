import MMLogFormat
import MMLogReader

/// The messages of a request to which records are appended: the session's message, and within it
/// the label's.
struct OTLPScope {
  /// Where the open messages begin.
  private var open: (session: Int, label: Int)?
  private var last: RecordContent?

  /// Opens the messages of a record's session and label, unless they are open.
  mutating func begin(_ record: LogReader.Record, _ output: inout TextBuffer) {
    defer { last = record.content }
    if open != nil, last?.hasSameLabel(as: record.content) == true { return }
    if let open { output.end(open.label) }
    let session = open?.session ?? Self.beginSession(record.session, &output)
    open = (session, Self.beginLabel(record.content, &output))
  }

  /// Closes the open messages, at the end of a request.
  mutating func end(_ output: inout TextBuffer) {
    if let open {
      output.end(open.label)
      output.end(open.session)
    }
    // The memory that `last` points to may be gone when the next request begins.
    (open, last) = (nil, nil)
  }

  private static func beginSession(
    _ session: LogReader.Session, _ output: inout TextBuffer
  ) -> Int {
    let start = output.begin(field: 1)
    output.append(resource: session)
    return start
  }

  private static func beginLabel(_ content: RecordContent, _ output: inout TextBuffer) -> Int {
    let start = output.begin(field: 2)
    let scope = output.begin(field: 1)
    let name = output.begin(field: 1)
    content.appendLabel(.raw, to: &output)
    output.end(name)
    output.end(scope)
    return start
  }
}

/// Attributes as OTLP has them: messages `KeyValue` and `AnyValue`.
extension TextBuffer {
  /// Appends a text.
  mutating func append(attribute key: StaticString, _ value: String, field: UInt32) {
    appendAttribute(key, field) { $0.append(field: 1, text: value) }
  }

  /// Appends a number.
  mutating func append(attribute key: StaticString, _ value: Int64, field: UInt32) {
    appendAttribute(key, field) { $0.append(field: 3, varint: UInt64(bitPattern: value)) }
  }

  /// Appends an attribute whose value `body` appends.
  @inline(__always)
  mutating func appendAttribute<Failure: Error>(
    _ key: StaticString, _ field: UInt32, _ body: (inout TextBuffer) throws(Failure) -> Void
  ) throws(Failure) {
    let start = begin(field: field)
    append(field: 1, key)
    let value = begin(field: 2)
    try body(&self)
    end(value)
    end(start)
  }

  /// Appends the fields of a record.
  mutating func append(fieldsOf record: LogReader.Record, field: UInt32) {
    record.forEachAttribute(.raw) { (name, value, reader) throws(FormatError) in
      let start = begin(field: field)
      let key = begin(field: 1)
      name.append(.raw, to: &self)
      end(key)
      try appendValue(value, field: 2, from: &reader)
      end(start)
    }
  }

  /// Appends the resource of a session's records.
  mutating func append(resource session: LogReader.Session) {
    let start = begin(field: 1)
    append(attribute: "service.name", session.identity.storeName, field: 1)
    append(attribute: "service.instance.id", session.id.description, field: 1)
    append(attribute: "process.pid", Int64(session.identity.processID), field: 1)
    append(attribute: "process.executable.name", session.identity.processName, field: 1)
    append(attribute: "host.name", session.identity.hostName, field: 1)
    session.forEachAttribute { (name, value, reader) throws(FormatError) in
      let start = begin(field: 1)
      append(field: 1, text: name)
      try appendValue(value, field: 2, from: &reader)
      end(start)
    }
    end(start)
  }

  /// Appends a value as an `AnyValue`.
  private mutating func appendValue(
    _ value: ValueView, field: UInt32, from reader: inout WordReader, depth: Int = 0
  ) throws(FormatError) {
    let start = begin(field: field)
    switch value {
    case .int(let value): append(field: 3, varint: UInt64(bitPattern: value))
    case .uint(let value) where value <= UInt64(Int64.max): append(field: 3, varint: value)
    case .double(let value): append(field: 4, fixed64: value.bitPattern)
    case .float(let value): append(field: 4, fixed64: Double(value).bitPattern)
    case .bool(let value): append(field: 2, varint: value ? 1 : 0)
    case .bytes(let bytes): append(field: 7, bytes: bytes)
    case .null: break
    case .string(let bytes):
      let text = begin(field: 1)
      append(repairing: bytes, .raw)
      end(text)
    case .array(let count):
      try reader.checkDepth(depth)
      let array = begin(field: 5)
      for _ in 0..<count {
        try appendValue(reader.taggedView(), field: 1, from: &reader, depth: depth + 1)
      }
      end(array)
    case .dictionary(let count): try appendPairs(count, from: &reader, depth: depth)
    case .uint, .int128, .uint128, .redacted, .hash, .sealed:
      let text = begin(field: 1)
      try append(text: value, from: &reader)
      end(text)
    }
    end(start)
  }

  private mutating func appendPairs(
    _ count: Int, from reader: inout WordReader, depth: Int
  ) throws(FormatError) {
    try reader.checkDepth(depth)
    let list = begin(field: 6)
    var names = UniqueNames()
    for _ in 0..<count {
      let pair = begin(field: 1)
      append(field: 1, text: names.unique(String(decoding: try reader.string(), as: UTF8.self)))
      try appendValue(reader.taggedView(), field: 2, from: &reader, depth: depth + 1)
      end(pair)
    }
    end(list)
  }
}
