import MMLogFormat

// OpenTelemetry names attributes of records and sessions, and an attribute may occur only once. A
// field with the name of such an attribute gets the first of `#2`, `#3` … that is free.

extension LogReader.Record {
  private static let threadName = "thread.name"
  private static let placeNames = ["code.file.path", "code.line.number", "code.function.name"]
  private static let spanNames = [
    "span.event", "span.name", "span.parent_id", "span.start_time_unix_nano", "span.duration_nano",
    "otel.status_code",
  ]
  private static let usualNames = [
    "thread.id", "log.record.uid", "log.record.original", "mmlog.time",
  ]
  private static let allNames: FieldNames = {
    var names = FieldNames()
    for var name in usualNames + placeNames + spanNames + [threadName] {
      name.withUTF8 { names.add(UnsafeRawBufferPointer($0)) }
    }
    return names
  }()

  /// The attributes that the record has beside its fields.
  private var ownNames: UniqueNames {
    var names = Self.usualNames
    if !thread.name.isEmpty { names.append(Self.threadName) }
    if content.hasPlace { names += Self.placeNames }
    if span != nil { names += Self.spanNames }
    return UniqueNames(names)
  }

  /// Calls `body` with each field as an attribute, like ``RecordContent/forEachField(_:_:)``.
  package func forEachAttribute(
    _ form: TextForm,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    guard content.hasFields else { return }
    var known = Self.allNames
    content.forEachField(.raw) { (name, value, reader) throws(FormatError) in
      known.add(name)
      try reader.skipElements(of: value)
    }
    guard known.isDoubtful else { return content.forEachField(form, body) }
    var names = ownNames
    let isRenamed = content.newSpanName != nil
    content.forEachField(.raw) { (name, value, reader) throws(FormatError) in
      // That is the attribute with the span's name already.
      if isRenamed, name.string == RecordContent.newSpanNameField {
        return try reader.skipElements(of: value)
      }
      try body(.text(names.unique(name.string)), value, &reader)
    }
  }
}

extension LogReader.Session {
  private static let ownNames = UniqueNames([
    "service.name", "service.instance.id", "process.pid", "process.executable.name", "host.name",
  ])

  /// Calls `body` with each of the session's fields as an attribute of the resource, like
  /// ``forEachField(_:)``.
  package func forEachAttribute(
    _ body: (String, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    fieldsInWords.forEachUnique(besides: Self.ownNames, body)
  }
}
