#if SwiftLog
  import Logging
  import MMLog
  import MMLogFormat

  extension MMLogHandler {
    /// Adds to a record an event's metadata, then its provider's and the handler's, and what is known of its error and source.
    ///
    /// They are not merged into one dictionary, which would allocate it: keys that went before are passed over.
    func writeFields(
      of event: Logging.LogEvent, _ provided: Logging.Logger.Metadata?,
      to record: inout RecordCursor
    ) {
      let source = sourceToTell(event, provided)
      let count =
        countPairs(event, provided) + (event.error == nil ? 0 : 2) + (source == nil ? 0 : 1)
      guard count > 0 else { return }
      record.beginMetadata(pairs: count)
      forEachPair(event, provided) { key, value in
        record.append(key: key)
        record.append(value, depth: 0, privacy)
      }
      if let error = event.error {
        record.append(key: "error.message")
        record.append(string: "\(error)")
        record.append(key: "error.type")
        record.append(string: String(reflecting: type(of: error)))
      }
      if let source {
        record.append(key: "source")
        record.append(string: source)
      }
    }

    private func countPairs(
      _ event: Logging.LogEvent, _ provided: Logging.Logger.Metadata?
    ) -> Int {
      if provided == nil, metadata.isEmpty, event.error == nil { return event.metadata?.count ?? 0 }
      var count = 0
      forEachPair(event, provided) { _, _ in count += 1 }
      return count
    }

    private func forEachPair(
      _ event: Logging.LogEvent, _ provided: Logging.Logger.Metadata?,
      _ body: (String, Logging.Logger.MetadataValue) -> Void
    ) {
      let hasError = event.error != nil
      func isOfError(_ key: String) -> Bool {
        hasError && (key == "error.message" || key == "error.type")
      }
      let ofEvent = event.metadata ?? [:]
      for (key, value) in ofEvent where !isOfError(key) { body(key, value) }
      for (key, value) in provided ?? [:] where !isOfError(key) && !ofEvent.has(key) {
        body(key, value)
      }
      for (key, value) in metadata
      where !isOfError(key) && !ofEvent.has(key) && provided?.has(key) != true {
        body(key, value)
      }
    }

    /// The source, if one was given and nothing else is called so.
    private func sourceToTell(
      _ event: Logging.LogEvent, _ provided: Logging.Logger.Metadata?
    ) -> String? {
      guard let source = event.givenSource else { return nil }
      let isTaken =
        event.metadata?.has("source") == true || provided?.has("source") == true
        || metadata.has("source")
      return isTaken ? nil : source
    }
  }

  extension [String: Logging.Logger.MetadataValue] {
    fileprivate func has(_ key: String) -> Bool { index(forKey: key) != nil }
  }

  extension RecordCursor {
    /// Adds a value, with its type where that is one of the usual ones.
    fileprivate mutating func append(
      _ value: Logging.Logger.MetadataValue, depth: Int,
      _ privacy: (Logging.Logger.MetadataValueAttributes) -> Privacy
    ) {
      switch value {
      case .string(let text): append(string: text)
      case .stringConvertible(let content): append(content, of: value, privacy)
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
      _ content: any CustomStringConvertible, of value: Logging.Logger.MetadataValue,
      _ privacy: (Logging.Logger.MetadataValueAttributes) -> Privacy
    ) {
      switch content {
      case let number as Int: append(.int, UInt64(bitPattern: Int64(number)))
      case let number as Int64: append(.int, UInt64(bitPattern: number))
      case let number as UInt: append(.uint, UInt64(number))
      case let number as UInt64: append(.uint, number)
      case let number as Double: append(.double, number.bitPattern)
      case let bool as Bool: append(.bool, bool ? 1 : 0)
      default: append(private: content.description, privacy(value.attributes))
      }
    }
  }
#endif
