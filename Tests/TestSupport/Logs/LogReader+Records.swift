package import MMLogFormat
package import MMLogReader

extension LogReader {
  /// All records of a folder.
  package static func records(in folder: TemporaryDirectory) -> [Record] {
    LogReader(paths: [folder.path]).compactMap {
      if case .record(let record) = $0 { record } else { nil }
    }
  }
}

extension LogReader.Record {
  /// The value of a field; nil if the record has no field of that name.
  package func field(_ name: String) -> Value? { fields.first { $0.name == name }?.value }

  /// The value of a field as text.
  package func text(_ name: String) -> String? { field(name).map(Self.text) }

  package static func text(_ value: Value) -> String {
    switch value {
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    case .int(let number): "\(number)"
    case .uint(let number): "\(number)"
    default: "\(value)"
    }
  }
}

extension LogFollower {
  /// The messages of the records that have come since the last call.
  package func newMessages() -> [String] {
    newItems().compactMap { if case .record(let record) = $0 { record.message } else { nil } }
  }

  /// The items that have come since the last call, until a scan finds no more.
  package func newItems() -> [LogReader.Item] {
    var items: [LogReader.Item] = []
    var count = -1
    while items.count > count {
      count = items.count
      while let item = next() { items.append(item) }
    }
    return items
  }
}
