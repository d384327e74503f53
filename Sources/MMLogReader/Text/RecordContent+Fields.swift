package import MMLogFormat

extension RecordContent {
  /// Whether the record has named arguments, metadata or fields of a context.
  package var hasFields: Bool { site.hasNames || hasPairs }

  /// Calls `body` with the named arguments, the metadata and the context's fields. `body` must take
  /// or pass over the elements of a container. No name comes twice: a name that is there again gets
  /// `#2`, `#3` …
  ///
  /// - Parameter form: The form of the names.
  package func forEachField(
    _ form: TextForm,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    guard hasFields else { return }
    withPlan { plan in
      var reader = words
      var names = FieldNames()
      // `check` has been here before: nothing is thrown.
      try? forEachArgument(plan.steps, plan.texts, &reader, &names, form, body)
      try? forEachPair(&reader, names, body)
    }
  }

  /// The same with the names as they were logged: a name may come twice.
  func forEachField(
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    var reader = words
    // As above.
    try? forEachArgument(&reader, body)
    try? forEachPair(&reader, nil, body)
  }

  private func forEachArgument(
    _ reader: inout WordReader,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    for case .argument(let argument) in site.parts {
      let value = try reader.view(ofArgumentType: argument.type)
      if argument.name.isEmpty {
        try reader.skipElements(of: value)
      } else {
        try body(.text(argument.name), value, &reader)
      }
    }
  }

  /// Calls `body` with the metadata and the context's fields alone, their names as they are.
  func forEachPair(
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    guard hasPairs else { return }
    var reader = words
    // As above.
    try? passArguments(&reader)
    try? forEachPair(&reader, nil, body)
  }

  private func forEachArgument(
    _ steps: UnsafeBufferPointer<MessagePlan.Step>, _ texts: UnsafeRawPointer?,
    _ reader: inout WordReader, _ names: inout FieldNames, _ form: TextForm,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    for step in steps where step.hasArgument {
      let value = try reader.view(ofArgumentType: step.type)
      if step.name.isEmpty {
        try reader.skipElements(of: value)
      } else {
        names.add(step.name.bytes(.raw, texts))
        try body(.ready(step.name.bytes(form, texts)), value, &reader)
      }
    }
  }

  private func forEachPair(
    _ reader: inout WordReader, _ names: FieldNames?,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    guard hasPairs else { return }
    if let names, try !areUnique(names, reader) {
      return try forEachDoubtfulPair(&reader, body)
    }
    try passPairs(&reader) { name, value, reader throws(FormatError) in
      try body(.bytes(name), value, &reader)
    }
  }

  /// Whether no name of the pairs comes twice, or is among the known names. The reader of the
  /// caller does not move.
  private func areUnique(
    _ names: FieldNames, _ reader: WordReader
  ) throws(FormatError) -> Bool {
    var (known, isUTF8, reader) = (names, true, reader)
    try passPairs(&reader) { name, value, reader throws(FormatError) in
      // A name that is not UTF-8 may become another name.
      isUTF8 = isUTF8 && name.isUTF8
      known.add(name)
      try reader.skipElements(of: value)
    }
    return isUTF8 && !known.isDoubtful
  }

  /// For many names, or names that come twice.
  private func forEachDoubtfulPair(
    _ reader: inout WordReader,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    var names = UniqueNames()
    for case .argument(let argument) in site.parts where !argument.name.isEmpty {
      _ = names.unique(argument.name)
    }
    try passPairs(&reader) { name, value, reader throws(FormatError) in
      try body(.text(names.unique(String(decoding: name, as: UTF8.self))), value, &reader)
    }
  }
}

/// Hashes of the names of a record's fields. If no hash comes twice, no name does.
struct FieldNames {
  private var hashes = [32 of UInt64](repeating: 0)
  private var count = 0
  /// Whether a name may come twice.
  private(set) var isDoubtful = false

  mutating func add(_ name: UnsafeRawBufferPointer) {
    guard count < hashes.count else { return isDoubtful = true }
    let hash = name.fnv1a
    for index in 0..<count where hashes[index] == hash { isDoubtful = true }
    hashes[count] = hash
    count += 1
  }

  mutating func add(_ name: FieldName) {
    switch name {
    case .bytes(let bytes), .ready(let bytes): add(bytes)
    case .text(var text): text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }
  }
}
