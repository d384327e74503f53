#if SwiftLog
  import Logging
  import MMLog
  import MMLogFormat

  /// The metadata of an event as it is recorded: the event's own, then its provider's, then its logger's, each without
  /// the keys that went before; and what is known of its error and source.
  ///
  /// The dictionaries are not merged into one, which would allocate it.
  struct EventFields {
    private let layers: [3 of Logging.Logger.Metadata]
    private let error: (message: String, type: String)?
    private let source: String?

    init(
      _ event: Logging.LogEvent, provided: Logging.Logger.Metadata?,
      ofLogger: Logging.Logger.Metadata
    ) {
      layers = [event.metadata ?? [:], provided ?? [:], ofLogger]
      error = event.error.map { ("\($0)", String(reflecting: type(of: $0))) }
      let source = event.source
      self.source = Self.isModule(source, ofFile: event.file) ? nil : source
    }

    /// Adds all of it to a record.
    ///
    /// - Parameter privacy: Which values are private, by their attributes.
    func write(
      to record: inout RecordCursor, _ privacy: (Logging.Logger.MetadataValueAttributes) -> Privacy
    ) {
      var count = 0
      forEachPair { _, _ in count += 1 }
      count += error == nil ? 0 : 2
      let source = has("source") ? nil : source
      count += source == nil ? 0 : 1
      guard count > 0 else { return }
      record.beginMetadata(pairs: count)
      forEachPair { key, value in
        record.append(key: key)
        record.append(value, depth: 0, privacy)
      }
      if let error {
        record.append(key: "error.message")
        record.append(string: error.message)
        record.append(key: "error.type")
        record.append(string: error.type)
      }
      if let source {
        record.append(key: "source")
        record.append(string: source)
      }
    }

    private func forEachPair(_ body: (String, Logging.Logger.MetadataValue) -> Void) {
      for index in layers.indices {
        for (key, value) in layers[index] where !isHidden(key, from: index) { body(key, value) }
      }
    }

    /// Whether something that goes before a layer has the same key.
    private func isHidden(_ key: String, from layer: Int) -> Bool {
      if error != nil, key == "error.message" || key == "error.type" { return true }
      return (0..<layer).contains { layers[$0].index(forKey: key) != nil }
    }

    private func has(_ key: String) -> Bool {
      layers.indices.contains { layers[$0].index(forKey: key) != nil }
    }

    /// Whether a source is what swift-log takes if none is given: the first part of the file's name.
    private static func isModule(_ source: String, ofFile file: String) -> Bool {
      let module = file.utf8.prefix { $0 != UInt8(ascii: "/") }
      return source.utf8.elementsEqual(module)
    }
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
