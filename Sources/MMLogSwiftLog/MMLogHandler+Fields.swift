#if SwiftLog
  import Logging
  import MMLog
  import MMLogFormat

  extension MMLogHandler {
    /// Adds to a record an event's metadata, then its provider's and the handler's, and what is
    /// known of its error and source.
    ///
    /// They are not merged into one dictionary, which would allocate it: keys that went before are
    /// passed over.
    func writeFields(
      of event: Logging.LogEvent, _ provided: Logging.Logger.Metadata?,
      to record: inout RecordCursor
    ) {
      let (ofEvent, source) = (event.metadata ?? [:], recordsSource ? event.explicitSource : nil)
      if provided == nil && metadata.isEmpty && source == nil && event.error == nil {
        // As it mostly is: nothing can be passed over.
        return record.append(ofEvent, privacy)
      }
      let pairs = EventPairs(
        ofEvent: ofEvent, provided: provided ?? [:], ofHandler: metadata,
        hasError: event.error != nil)
      let newSource = source.flatMap { pairs.has("source") ? nil : $0 }
      let count = pairs.count + (pairs.hasError ? 2 : 0) + (newSource == nil ? 0 : 1)
      guard count > 0 else { return }
      record.beginMetadata(pairs: count)
      pairs.forEach { key, value in
        record.append(key: key)
        record.append(consume value, depth: 0, privacy)
      }
      if let error = event.error {
        record.append(key: "error.message")
        record.append(string: "\(error)")
        record.append(key: "error.type")
        record.append(string: String(reflecting: type(of: error)))
      }
      if let newSource {
        record.append(key: "source")
        record.append(string: newSource)
      }
    }
  }

  /// The metadata that goes with an event, by precedence. What the error says of itself goes before
  /// all of it.
  private struct EventPairs {
    typealias Metadata = Logging.Logger.Metadata

    let ofEvent: Metadata
    let provided: Metadata
    let ofHandler: Metadata
    let hasError: Bool

    var count: Int {
      var count = 0
      forEach { _, _ in count += 1 }
      return count
    }

    func has(_ key: String) -> Bool {
      ofEvent.has(key) || provided.has(key) || ofHandler.has(key)
    }

    /// Gives one after the other.
    func forEach(_ body: (String, consuming Metadata.Value) -> Void) {
      for (key, value) in ofEvent where !isOfError(key) { body(key, consume value) }
      for (key, value) in provided where !isOfError(key) && !ofEvent.has(key) {
        body(key, consume value)
      }
      for (key, value) in ofHandler
      where !isOfError(key) && !ofEvent.has(key) && !provided.has(key) {
        body(key, consume value)
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
      _ metadata: Logging.Logger.Metadata,
      _ privacy: (Logging.Logger.MetadataValueAttributes) -> MMLog.Logger.Privacy
    ) {
      if metadata.isEmpty { return }
      beginMetadata(pairs: metadata.count)
      for (key, value) in metadata {
        append(key: key)
        // A copy of it would be a quarter of what a pair costs.
        append(consume value, depth: 0, privacy)
      }
    }

    /// Adds a value, with its type where that is one of the usual ones.
    fileprivate mutating func append(
      _ value: consuming Logging.Logger.MetadataValue, depth: Int,
      _ privacy: (Logging.Logger.MetadataValueAttributes) -> MMLog.Logger.Privacy
    ) {
      switch consume value {
      case .string(let text): append(string: text)
      case .stringConvertible(let content): append(content, privacy)
      case .array(let values) where depth < ValueType.deepest:
        append(.array, UInt64(values.count))
        for value in values { append(value, depth: depth + 1, privacy) }
      case .dictionary(let pairs) where depth < ValueType.deepest:
        append(.dictionary, UInt64(pairs.count))
        for (key, value) in pairs {
          append(key: key)
          append(value, depth: depth + 1, privacy)
        }
      case .array, .dictionary: appendTooDeep()
      }
    }

    private mutating func append(
      _ content: any CustomStringConvertible & Sendable,
      _ privacy: (Logging.Logger.MetadataValueAttributes) -> MMLog.Logger.Privacy
    ) {
      switch content {
      case let number as Int: append(.int, UInt64(bitPattern: Int64(number)))
      case let number as Int64: append(.int, UInt64(bitPattern: number))
      case let number as UInt: append(.uint, UInt64(number))
      case let number as UInt64: append(.uint, number)
      case let number as Double: append(.double, number.bitPattern)
      case let bool as Bool: append(.bool, bool ? 1 : 0)
      default:
        let attributes = Logging.Logger.MetadataValue.stringConvertible(content).attributes
        append(private: content.description, privacy(attributes))
      }
    }
  }
#endif
