import CMMLogWriter
import MMLogFormat

/// Where in the source code a text was logged, if that is known at run time only. Two places with
/// the same texts are one.
package struct SourceLocation {
  /// The source file, as `Module/File.swift`.
  package var file: String
  /// The function.
  package var function: String
  /// The line.
  package var line: UInt32

  package init(file: String, function: String, line: UInt32) {
    self.file = file
    self.function = function
    self.line = line
  }
}

extension Logger {
  /// Records a text that another logging interface has made, whatever the label's level.
  ///
  /// - Parameters:
  ///   - text: The message.
  ///   - level: The level.
  ///   - place: Where it was logged.
  ///   - metadata: Adds the record's metadata, if it has any. It may log, as a message's arguments
  ///     may.
  package func record(
    _ text: String, _ level: Level, at place: SourceLocation,
    metadata: (inout RecordCursor) -> Void
  ) {
    guard acquireWriter() || enter(level) else { return }
    var record = LogCall.record { LogLiteral(text: text) }
    metadata(&record.cursor)
    record.commit(label, level, at: place)
  }
}

extension LogLiteral {
  fileprivate init(text: String) { self = "\(text)" }
}

extension LiteralRecord {
  fileprivate mutating func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, at place: SourceLocation
  ) {
    var (file, function) = (place.file, place.function)
    file.withUTF8 { file in
      function.withUTF8 { function in
        let (file, function) = (UnsafeRawBufferPointer(file), UnsafeRawBufferPointer(function))
        // By their bytes: their addresses may be others' tomorrow.
        parts.mix(hash(of: file))
        parts.mix(hash(of: function))
        parts.mix(UInt64(place.line))
        commit(label, level, []) { hash, parts in
          NewCallSite(
            hash: hash, parts: parts, file: file, function: function, line: place.line, column: 0)
        }
      }
    }
  }
}

/// A hash of text, a word at a time.
@inline(__always)
private func hash(of text: UnsafeRawBufferPointer) -> UInt64 {
  var hash = UInt64(text.count)
  func mix(_ word: UInt64) {
    hash = (hash ^ word) &* 0xD6E8_FEB8_6659_FD93
    hash ^= hash >> 32
  }
  guard var next = text.baseAddress else { return hash }
  var left = text.count
  while left >= wordSize {
    mix(next.loadUnaligned(as: UInt64.self))
    next += wordSize
    left -= wordSize
  }
  mix(RecordCursor.lastWord(next, left))
  return hash
}
