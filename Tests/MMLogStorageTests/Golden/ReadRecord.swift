import Foundation
import MMLogFormat
import MMLogReader
import MMLogSystem

/// A record as a reader gave it: what the Python reader prints, and what a golden file holds.
struct ReadRecord: Codable, Equatable {
  var session: String
  var time: Int64
  var thread: UInt32
  var threadID: UInt32
  var threadName: String
  var level: String
  var label: String
  var file: String
  var function: String
  var line: Int
  var message: String
  /// The message in hexadecimal, if it is not UTF-8.
  var bytes: String
  /// Name, and value with its type.
  var fields: [[String]]
  var unterminated: Bool
  var cut: Bool
  /// What begins or ends, if anything does.
  var span: String?
  /// The span and the trace that the record belongs to.
  var of: UInt64?
  var trace: String?
  /// The session fields, if there are any.
  var sessionFields: [[String]]?

  init(_ record: LogReader.Record) {
    (session, time) = (record.session.id.description, record.time.nanosecondsSince1970)
    (thread, threadID) = (record.thread.ordinal, record.thread.id)
    (threadName, level) = (record.thread.name, record.level.description)
    (label, file, function) = (record.label, record.file, record.function)
    (line, message) = (record.line, record.message)
    bytes = Array(message.utf8) == record.messageBytes ? "" : hexadecimal(record.messageBytes)
    fields = record.fields.map { [$0.name, $0.value.withType] }
    (unterminated, cut) = (record.isUnterminated, record.isCut)
    span = record.span?.inWords
    of = record.span == nil ? record.spanNumber : nil
    trace = record.trace?.description
    let common = record.session.fields.map { [$0.name, $0.value.withType] }
    sessionFields = common.isEmpty ? nil : common
  }

  /// The records of JSON lines.
  static func parse(_ lines: [UInt8]) throws -> [ReadRecord] {
    let decoder = JSONDecoder()
    return try lines.split(separator: UInt8(ascii: "\n")).map {
      try decoder.decode(ReadRecord.self, from: Data($0))
    }
  }

  static func lines(_ records: [ReadRecord]) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try records.flatMap { try Array(encoder.encode($0)) + [UInt8(ascii: "\n")] }
  }
}

private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
}

private func hexadecimal<T: FixedWidthInteger>(_ value: T) -> String {
  hexadecimal(withUnsafeBytes(of: value.bigEndian) { Array($0) })
}

extension LogReader.Span {
  fileprivate var inWords: String {
    switch event {
    case .begin(let parent): "begin \(number ?? 0) in \(parent ?? 0)"
    case .end(let start, let duration, let failed):
      "\(failed ? "failed" : "end") \(number ?? 0) since \(start.nanosecondsSince1970) "
        + "after \(duration.nanoseconds) of \(name ?? "unknown")"
    }
  }
}

extension Value {
  /// The value in one line, with its type; no digit of a number is lost.
  fileprivate var withType: String {
    switch self {
    case .int(let value): "int \(value)"
    case .uint(let value): "uint \(value)"
    case .double(let value): "double \(hexadecimal(value.bitPattern))"
    case .float(let value): "float \(hexadecimal(value.bitPattern))"
    case .bool(let value): "bool \(value)"
    case .string(let bytes):
      bytes.isEmpty ? "string" : "string \(String(decoding: bytes, as: UTF8.self))"
    case .bytes(let bytes): bytes.isEmpty ? "bytes" : "bytes \(hexadecimal(bytes))"
    case .int128(let value): "int128 \(value)"
    case .uint128(let value): "uint128 \(value)"
    case .redacted: "redacted"
    case .hash(let hash): "hash \(hexadecimal(hash))"
    case .sealed(let bytes): "sealed \(hexadecimal(bytes))"
    case .null: "null"
    case .array(let values): "array[\(values.map(\.withType).joined(separator: ", "))]"
    case .dictionary(let pairs):
      "dictionary[\(pairs.map { "\($0.key): \($0.value.withType)" }.joined(separator: ", "))]"
    }
  }
}
