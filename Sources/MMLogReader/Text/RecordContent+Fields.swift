import MMLogFormat

extension RecordContent {
  /// Whether it has named arguments or metadata.
  package var hasFields: Bool { site.hasNames || flags.contains(.metadata) }

  /// Gives the named arguments and then the metadata to `body`, which has to take or to pass over
  /// the elements of a container. No name comes twice: one that is there again gets `#2`, `#3` …
  ///
  /// - Parameter form: What the names are wanted in.
  func forEachField(
    _ form: TextForm,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    guard hasFields else { return }
    withPlan { plan in
      withValues { values in
        var reader = WordReader(values)
        var names = FieldNames()
        // `check` has been here before: nothing is thrown.
        try? forEachArgument(plan.steps, plan.texts, &reader, &names, form, body)
        try? forEachPair(&reader, names, body)
      }
    }
  }

  /// The same with the names as they were logged: one may come twice.
  func forEachField(
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    withValues { values in
      var reader = WordReader(values)
      // As above.
      try? forEachArgument(&reader, body)
      try? forEachPair(&reader, nil, body)
    }
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

  /// Gives the metadata alone, its names as they are.
  func forEachPair(
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    guard flags.contains(.metadata) else { return }
    withValues { values in
      var reader = WordReader(values)
      // As above.
      try? passArguments(&reader)
      try? forEachPair(&reader, nil, body)
    }
  }

  private func forEachArgument(
    _ steps: UnsafeBufferPointer<MessagePlan.Step>, _ texts: UnsafeRawPointer?,
    _ reader: inout WordReader, _ names: inout FieldNames, _ form: TextForm,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    for step in steps where step.hasArgument {
      let value = try reader.view(ofArgumentType: step.type)
      if step.name.isEmpty(.raw) {
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
    guard flags.contains(.metadata) else { return }
    let count = try reader.count(wordsEach: 2)
    if var names, try !names.addAll(count, from: reader) {
      return try forEachDoubtfulPair(count, &reader, body)
    }
    for _ in 0..<count {
      let key = try reader.string()
      try body(.bytes(key), reader.taggedView(), &reader)
    }
  }

  /// Where names are many, or there twice.
  private func forEachDoubtfulPair(
    _ count: Int, _ reader: inout WordReader,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    var names = UniqueNames()
    for case .argument(let argument) in site.parts where !argument.name.isEmpty {
      _ = names.unique(argument.name)
    }
    for _ in 0..<count {
      let name = names.unique(String(decoding: try reader.string(), as: UTF8.self))
      try body(.text(name), reader.taggedView(), &reader)
    }
  }
}

/// Hashes of the names of a record's fields: what is not there twice by its hash is not there
/// twice.
struct FieldNames {
  private var hashes = [32 of UInt64](repeating: 0)
  private var count = 0
  private var isDoubtful = false

  mutating func add(_ name: UnsafeRawBufferPointer) {
    guard count < hashes.count else { return isDoubtful = true }
    let hash = name.fnv1a
    for index in 0..<count where hashes[index] == hash { isDoubtful = true }
    hashes[count] = hash
    count += 1
  }

  /// Adds the names of so many pairs, from a reader that goes no further by it.
  ///
  /// - Returns: false if one may be there twice.
  mutating func addAll(_ pairs: Int, from reader: WordReader) throws(FormatError) -> Bool {
    if pairs > hashes.count { return false }
    var reader = reader
    for _ in 0..<pairs {
      let name = try reader.string()
      // What is not UTF-8 may become another name.
      if !name.isUTF8 { return false }
      add(name)
      try reader.skipElements(of: reader.taggedView())
    }
    return !isDoubtful
  }
}

extension UnsafeRawBufferPointer {
  /// Fowler, Noll and Vo's hash.
  fileprivate var fnv1a: UInt64 {
    reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
