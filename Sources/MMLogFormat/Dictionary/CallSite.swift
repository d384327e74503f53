/// The static part of a log statement: written once, then referred to by number.
package struct CallSite: Equatable, Sendable {
  package enum Part: Equatable, Sendable {
    case literal(String)
    case argument(Argument)
  }

  /// What is known of an argument before it has a value.
  package struct Argument: Equatable, Sendable {
    /// A ``ValueType``, with the optional bit.
    package var type: UInt8
    package var privacy: UInt8
    /// Width of an integer in bits; 0 for others.
    package var width: UInt8
    /// See FORMAT.md, 6.
    package var format: UInt64
    package var alignment: UInt64
    /// Empty if it has none.
    package var name: String

    package init(
      type: UInt8, privacy: UInt8, width: UInt8, format: UInt64, alignment: UInt64, name: String
    ) {
      self.type = type
      self.privacy = privacy
      self.width = width
      self.format = format
      self.alignment = alignment
      self.name = name
    }
  }

  package var file: String
  package var function: String
  package var line: UInt32
  package var column: UInt32
  package var parts: [Part]

  /// The maximum number of parts that a call site is written and read with: more than any log
  /// statement has. A part may take no byte of a record, but 64 KiB of its message.
  package static let maximumParts = 1024

  package init(file: String, function: String, line: UInt32, column: UInt32, parts: [Part]) {
    self.file = file
    self.function = function
    self.line = line
    self.column = column
    self.parts = parts
  }
}

extension CallSite.Part {
  init(_ reader: inout WordReader) throws(FormatError) {
    let word = try reader.word()
    switch word & 0xFF {
    case 0: self = .literal(try reader.text())
    case 1:
      let format = try reader.word()
      let alignment = try reader.word()
      self = .argument(
        CallSite.Argument(
          type: UInt8(truncatingIfNeeded: word >> 8),
          privacy: UInt8(truncatingIfNeeded: word >> 16),
          width: UInt8(truncatingIfNeeded: word >> 24), format: format, alignment: alignment,
          name: try reader.text()))
    default: throw .invalid("part")
    }
  }
}

/// The number below which things that are counted from 1 have places in an array, if there are
/// `count` of them. Greater numbers are not counted so, and an array would cost memory for nothing.
package func nearNumbers(_ count: Int) -> Int { 1024 + 16 * count }

extension CallSite {
  /// About how many bytes the call site takes: its text, and something for each part.
  var size: Int {
    parts.reduce(64 + file.utf8.count + function.utf8.count) { size, part in
      switch part {
      case .literal(let text): size + 32 + text.utf8.count
      case .argument(let argument): size + 64 + argument.name.utf8.count
      }
    }
  }
}
