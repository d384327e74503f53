import MMLogFormat

extension LogReader.Record {
  /// The named arguments and then the metadata and the context's fields.
  var rewritableFields: [EditableRecord.Field] {
    withExtendedLifetime(owner) {
      var found: [EditableRecord.Field] = []
      var reader = content.words
      for (index, argument) in content.site.arguments.enumerated() {
        // The record has been checked: nothing is thrown.
        guard let value = try? reader.value(ofArgumentType: argument.type) else { break }
        if !argument.name.isEmpty {
          found.append(.init(name: argument.name, value: value, argument: index))
        }
      }
      content.forEachPair { (name, value, reader) throws(FormatError) in
        found.append(.init(name: name.string, value: try reader.value(value)))
      }
      return found
    }
  }

  /// Returns the same record with other content. Id, times, thread, label, span and trace stay.
  ///
  /// - Parameters:
  ///   - level: How much the record matters.
  ///   - message: The text in place of the message; nil: the message stays, with the arguments that
  ///     stay. An argument that is not among the fields is redacted.
  ///   - fields: All fields of the new record.
  ///   - session: The session of the new record; nil: the same one.
  /// - Returns: Nil if the record cannot be written because a value is nested too deep.
  func rewritten(
    level: Level, message: String?, fields: [EditableRecord.Field],
    session: LogReader.Session?
  ) -> LogReader.Records? {
    if fields.contains(where: { $0.value.isTooDeep() }) { return nil }
    return withExtendedLifetime(owner) {
      var rewriter = RecordRewriter(content, content.words)
      guard let (site, body) = try? rewriter.write(level: level, message: message, fields) else {
        return nil
      }
      let (payload, info) = (Payload(body.withUnsafeBytes { Array($0) }), CallSiteInfo(site))
      let start = FragmentTable.Start(ticks: ticks, wall: time, isFlight: content.isFlight)
      guard
        var new = try? content.copy(
          try RecordParts(payload.bytes), .passUnretained(info), start)
      else { return nil }
      new.row = content.row
      let owner = RecordOwner(
        session ?? self.session, self.owner.clock, of: self.owner.frame,
        keeping: [self.owner, payload, info])
      return LogReader.Records(owner: owner, contents: [new])
    }
  }
}

/// Writes the words of a record with other content.
private struct RecordRewriter {
  let content: RecordContent
  var reader: WordReader
  var writer = WordWriter()

  init(_ content: RecordContent, _ reader: WordReader) {
    (self.content, self.reader) = (content, reader)
  }

  /// - Returns: The record's call site, and its words from the identity word on.
  mutating func write(
    level: Level, message: String?, _ fields: [EditableRecord.Field]
  ) throws(FormatError) -> (CallSite, [UInt64]) {
    let known = content.site
    var site = CallSite(
      file: known.file, function: known.function, line: UInt32(clamping: known.line), column: 0,
      parts: known.parts)
    writer.append(0)
    let pairs: [EditableRecord.Field]
    if let message {
      site.parts = [.literal(message)]
      for argument in known.arguments { _ = try reader.value(ofArgumentType: argument.type) }
      pairs = fields
    } else {
      site.parts = try writeArguments(known.parts, fields)
      pairs = fields.filter { $0.argument == nil }
    }
    var flags = content.flags.intersection([.cut, .unterminated, .span])
    if !pairs.isEmpty {
      flags.insert(.metadata)
      writer.append(pairs)
    }
    if content.flags.contains(.span) { try copySpan() }
    if let context = content.context, writeContext(context) { flags.insert(.context) }
    var words = writer.words
    words[0] =
      UInt64(level.rawValue) << RecordLayout.levelShift
      | UInt64(flags.rawValue) << RecordLayout.flagsShift
    return (site, words)
  }

  private mutating func writeArguments(
    _ parts: [CallSite.Part], _ fields: [EditableRecord.Field]
  ) throws(FormatError) -> [CallSite.Part] {
    var (new, index) = ([CallSite.Part](), 0)
    for part in parts {
      guard case .argument(var argument) = part else {
        new.append(part)
        continue
      }
      var value = try reader.value(ofArgumentType: argument.type)
      if !argument.name.isEmpty {
        let field = fields.first { $0.argument == index }
        (argument.name, value) = (field?.name ?? "", field?.value ?? .redacted)
      }
      index += 1
      let type = value.type.rawValue
      if type != argument.type & ~ValueType.optionalBit { argument.width = 0 }
      argument.type = type
      new.append(.argument(argument))
      writer.append(bodyOf: value)
    }
    return new
  }

  private mutating func copySpan() throws(FormatError) {
    if content.flags.contains(.metadata) { try content.skipMetadata(&reader) }
    let first = try reader.word()
    writer.append(first)
    for _ in 1..<SpanLayout.count(first) { writer.append(try reader.word()) }
  }

  /// Writes span and trace; the fields are among the pairs.
  private mutating func writeContext(_ context: ContextView) -> Bool {
    var (head, words): (UInt64, [UInt64]) = (0, [])
    if context.span != 0 {
      head |= ContextLayout.spanBit
      words.append(context.span)
    }
    if let trace = context.trace {
      let flags = UInt64(trace.flags) << ContextLayout.traceFlagsShift
      head |= ContextLayout.traceBit | flags
      words += [trace.words.0, trace.words.1, trace.spanID]
    }
    if words.isEmpty { return false }
    writer.append(head | UInt64(words.count))
    for word in words { writer.append(word) }
    return true
  }
}

extension CallSiteInfo {
  fileprivate var arguments: [CallSite.Argument] {
    parts.compactMap { if case .argument(let argument) = $0 { argument } else { nil } }
  }
}

extension LogReader.Session {
  /// Returns the same session with other fields; nil if a value is nested too deep to be written.
  package func with(fields: [EditableRecord.Field]) -> LogReader.Session? {
    if fields.contains(where: { $0.value.isTooDeep() }) { return nil }
    var writer = WordWriter()
    writer.append(fields)
    return LogReader.Session(
      identity, fields: writer.words.withUnsafeBufferPointer { SessionFields(block: $0) })
  }
}

extension WordWriter {
  /// Appends the number of pairs, and then the pairs of name and value.
  fileprivate mutating func append(_ pairs: [EditableRecord.Field]) {
    append(UInt64(pairs.count))
    for pair in pairs {
      append(pair.name)
      append(tagged: pair.value)
    }
  }
}
