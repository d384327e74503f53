#if SwiftLog
  import Logging

  extension Logging.LogEvent {
    /// The source that was given to a call, or nil if swift-log is to take the file's module.
    ///
    /// `source` does not tell the one from the other, and looks for the module's name in the file's, letter by
    /// letter, at twice the cost of all else that a recorded call does. So it is only asked where there is one.
    var givenSource: String? {
      guard let word = SourceWord.offset else { return source }
      return withUnsafeBytes(of: self) { bytes in
        bytes.loadUnaligned(fromByteOffset: word, as: UInt.self) == 0 ? nil : source
      }
    }
  }

  /// The word of an event that is zero if, and only if, no source was given.
  private enum SourceWord {
    /// Where it is; nil if none is like that. Found by looking: with which words do events with sources, a short one that is
    /// kept in place and a long one that is not, differ from one without?
    static let offset: Int? = {
      let (none, short, long) = (
        event(nil), event("s"), event("a source of more than fifteen bytes")
      )
      return stride(from: 0, to: MemoryLayout<Logging.LogEvent>.size, by: MemoryLayout<UInt>.size)
        .reversed().first {
          word(of: none, $0) == 0 && word(of: short, $0) != 0 && word(of: long, $0) != 0
        }
    }()

    private static func event(_ source: String?) -> Logging.LogEvent {
      Logging.LogEvent(
        level: .critical, message: "a message", metadata: ["a": "b"], source: source,
        file: "a file's name", function: "f", line: 1)
    }

    private static func word(of event: Logging.LogEvent, _ offset: Int) -> UInt {
      withUnsafeBytes(of: event) { $0.loadUnaligned(fromByteOffset: offset, as: UInt.self) }
    }
  }
#endif
