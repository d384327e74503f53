#if SwiftLog
  import Logging
  import MMLog
  import MMLogFormat

  extension MMLogHandler {
    /// Adds an event's metadata to a record, then the provider's and the handler's, and what is
    /// known of the event's error and source.
    ///
    /// They are not merged into one dictionary, which would have to be allocated: keys that were
    /// written before are skipped.
    func writeFields(
      of event: Logging.LogEvent, _ provided: Logging.Logger.Metadata?,
      to record: inout RecordCursor
    ) {
      let (ofEvent, source) = (event.metadata ?? [:], recordsSource ? event.explicitSource : nil)
      if provided == nil && metadata.isEmpty && source == nil && event.error == nil {
        // This is the usual case: no key has to be skipped.
        return record.append(ofEvent, self)
      }
      let pairs = EventPairs(
        ofEvent: ofEvent, provided: provided ?? [:], ofHandler: metadata,
        hasError: event.error != nil)
      let newSource = source.flatMap { pairs.has("source") ? nil : $0 }
      let privacy = FieldPrivacy(self)
      record.beginMetadata()
      pairs.forEach { key, value in record.append(key, consume value, privacy) }
      if let error = event.error {
        record.append("error.message", text: "\(error)", privacy.plain)
        record.append("error.type", text: String(reflecting: type(of: error)))
      }
      if let newSource { record.append("source", text: newSource) }
      record = record.endingMetadata()
    }
  }

  /// Which values are private, as a handler says.
  private struct FieldPrivacy {
    let ofAttributes: @Sendable (Logging.Logger.MetadataValueAttributes) -> MMLog.Logger.Privacy
    /// The privacy of values without attributes.
    let plain: MMLog.Logger.Privacy

    init(_ handler: MMLogHandler) {
      ofAttributes = handler.privacy
      plain = handler.privacy(Logging.Logger.MetadataValueAttributes())
    }
  }

  /// The metadata that goes with an event, by precedence. What the error says of itself takes
  /// precedence over all metadata.
  private struct EventPairs {
    typealias Metadata = Logging.Logger.Metadata

    let ofEvent: Metadata
    let provided: Metadata
    let ofHandler: Metadata
    let hasError: Bool

    func has(_ key: String) -> Bool {
      ofEvent.has(key) || provided.has(key) || ofHandler.has(key)
    }

    /// Calls `body` with one pair after the other.
    func forEach(_ body: (String, consuming Metadata.Value) -> Void) {
      ofEvent.forEachInOrder { key, value in
        if !isOfError(key.pointee) { body(key.pointee, value.pointee) }
      }
      provided.forEachInOrder { key, value in
        if !isOfError(key.pointee) && !ofEvent.has(key.pointee) { body(key.pointee, value.pointee) }
      }
      ofHandler.forEachInOrder { key, value in
        let key = key.pointee
        if !isOfError(key) && !ofEvent.has(key) && !provided.has(key) { body(key, value.pointee) }
      }
    }

    private func isOfError(_ key: String) -> Bool {
      hasError && (key == "error.message" || key == "error.type")
    }
  }

  extension Logging.Logger.Metadata {
    fileprivate func has(_ key: String) -> Bool { index(forKey: key) != nil }
  }

  extension RecordCursor {
    /// Adds a record's metadata, if there is any.
    fileprivate mutating func append(
      _ metadata: Logging.Logger.Metadata, _ handler: MMLogHandler
    ) {
      if metadata.isEmpty { return }
      let privacy = FieldPrivacy(handler)
      beginMetadata()
      let record = self
      let findsStrings =
        privacy.plain == .public && UnsafePointer<Logging.Logger.MetadataValue>.findsStrings
      metadata.forEachInOrder { key, value in
        if findsStrings, let text = value.string,
          record.putDown(key: TextWords(at: key), TextWords(at: text))
        {
          return
        }
        var record = record.pickedUp
        record.append(key.pointee, value.pointee, privacy)
        record.putDown()
      }
      self = pickedUp.endingMetadata()
    }

    fileprivate mutating func append(
      _ key: String, text: @autoclosure () -> String, _ privacy: MMLog.Logger.Privacy = .public
    ) {
      append(key, RecordedValue(text(), privacy))
    }

    private mutating func append(_ key: String, _ value: RecordedValue) {
      append(key: key, value.type)
      append(value)
    }

    /// Adds a pair; a value of one of the usual types keeps its type.
    fileprivate mutating func append(
      _ key: String, _ value: consuming Logging.Logger.MetadataValue, _ privacy: FieldPrivacy
    ) {
      switch consume value {
      case .string(let text): append(key, text: text, privacy.plain)
      case .stringConvertible(let content): append(key, RecordedValue(content, privacy))
      case .array(let values):
        append(key: key, .array)
        append(values, depth: 0, privacy)
      case .dictionary(let pairs):
        append(key: key, .dictionary)
        append(pairs, depth: 0, privacy)
      }
    }

    /// Adds a value of a container, behind its type.
    private mutating func append(
      _ value: Logging.Logger.MetadataValue, depth: Int, _ privacy: FieldPrivacy
    ) {
      switch value {
      case .string(let text): appendTyped(RecordedValue(text, privacy.plain))
      case .stringConvertible(let content): appendTyped(RecordedValue(content, privacy))
      case .array(let values) where depth < ValueType.deepest:
        append(checked: UInt64(ValueType.array.rawValue))
        append(values, depth: depth, privacy)
      case .dictionary(let pairs) where depth < ValueType.deepest:
        append(checked: UInt64(ValueType.dictionary.rawValue))
        append(pairs, depth: depth, privacy)
      case .array, .dictionary: appendTooDeep()
      }
    }

    private mutating func append(
      _ values: [Logging.Logger.MetadataValue], depth: Int, _ privacy: FieldPrivacy
    ) {
      append(checked: UInt64(values.count))
      for value in values { append(value, depth: depth + 1, privacy) }
    }

    private mutating func append(
      _ pairs: Logging.Logger.Metadata, depth: Int, _ privacy: FieldPrivacy
    ) {
      append(checked: UInt64(pairs.count))
      for (key, value) in pairs {
        append(key: key)
        append(value, depth: depth + 1, privacy)
      }
    }

    private mutating func appendTyped(_ value: RecordedValue) {
      append(checked: UInt64(value.type.rawValue))
      append(value)
    }

    private mutating func append(_ value: RecordedValue) {
      switch value {
      case .word(_, let word): append(checked: word)
      case .text(let text): append(text, reserving: 0)
      case .sealed(let bytes): bytes.withUnsafeBytes { append($0, reserving: 0) }
      case .redacted: break
      }
    }
  }

  /// What is recorded of a text, or of a value that makes a text of itself.
  private enum RecordedValue {
    case word(ValueType, UInt64)
    case text(String)
    case sealed([UInt8])
    case redacted

    init(_ content: any CustomStringConvertible & Sendable, _ privacy: FieldPrivacy) {
      if privacy.plain == .public, let number = RecordedValue(number: content) {
        self = number
      } else {
        let value = Logging.Logger.MetadataValue.stringConvertible(content)
        self.init(content.description, privacy.ofAttributes(value.attributes))
      }
    }

    init(_ text: @autoclosure () -> String, _ privacy: MMLog.Logger.Privacy) {
      switch privacy {
      case .public: self = .text(text())
      case .hash: self = .word(.hash, PrivateHash.of(text()))
      case .sealed: self = SealedText.seal(text()).map { .sealed($0) } ?? .redacted
      default: self = .redacted
      }
    }

    /// Nil for what is neither a number nor a Boolean.
    private init?(number content: any CustomStringConvertible & Sendable) {
      switch content {
      case let number as Int: self = .word(.int, UInt64(bitPattern: Int64(number)))
      case let number as Int64: self = .word(.int, UInt64(bitPattern: number))
      case let number as UInt: self = .word(.uint, UInt64(number))
      case let number as UInt64: self = .word(.uint, number)
      case let number as Double: self = .word(.double, number.bitPattern)
      case let bool as Bool: self = .word(.bool, bool ? 1 : 0)
      case let number as Int32: self = .word(.int, UInt64(bitPattern: Int64(number)))
      case let number as Int16: self = .word(.int, UInt64(bitPattern: Int64(number)))
      case let number as Int8: self = .word(.int, UInt64(bitPattern: Int64(number)))
      case let number as UInt32: self = .word(.uint, UInt64(number))
      case let number as UInt16: self = .word(.uint, UInt64(number))
      case let number as UInt8: self = .word(.uint, UInt64(number))
      case let number as Float: self = .word(.float, UInt64(number.bitPattern))
      default: return nil
      }
    }

    var type: ValueType {
      switch self {
      case .word(let type, _): type
      case .text: .string
      case .sealed: .sealed
      case .redacted: .redacted
      }
    }
  }
#endif
