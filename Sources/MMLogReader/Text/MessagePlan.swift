package import MMLogFormat

/// The parts of a call site's message that are known without arguments, prepared for output:
/// nothing of them is looked up, counted or escaped for each record.
struct MessagePlan: ~Copyable, Sendable {
  /// A literal, and the argument behind it.
  struct Step: BitwiseCopyable, Sendable {
    var literal: PreparedTexts.Place
    /// Whether there is an argument: not after the last literal, and not if another one follows.
    var hasArgument = false
    /// The type of the argument. In a file, it may be any.
    var type: UInt8 = 0
    /// Whether style and alignment change nothing.
    var isPlain = true
    var style = ValueStyle.plain
    var alignment = Alignment(0)
    /// The name of the argument; empty if it has none.
    var name: PreparedTexts.Place

    /// About how many bytes the step adds to a record's text.
    fileprivate var textSize: Int {
      let text = literal.count + name.count
      return hasArgument ? text + max(Self.shortest, alignment.columns, style.textSize) : text
    }

    /// The size of a value that takes no byte of a record, such as `<private>`.
    private static let shortest = 9
  }

  private let ownSteps: StableArray<Step>
  private let ownTexts: StableArray<UInt8>
  let line: UInt64
  private let placeText: PreparedTexts.Place
  private let functionText: PreparedTexts.Place
  private let fileText: PreparedTexts.Place
  /// About how many bytes the call site adds to the text of each record. They stand in no record.
  let textSize: Int

  init(_ site: CallSite) {
    var texts = PreparedTexts()
    var names = UniqueNames()
    let none = texts.add("")
    var steps = [Step(literal: none, name: none)]
    for part in site.parts {
      switch part {
      case .argument(let argument):
        // A literal follows, even if it is empty.
        let last = steps.count - 1
        let (style, alignment) = (argument.style, Alignment(argument.alignment))
        (steps[last].hasArgument, steps[last].type) = (true, argument.type)
        steps[last].isPlain = style.isPlain && alignment.side == .none
        (steps[last].style, steps[last].alignment) = (style, alignment)
        if !argument.name.isEmpty { steps[last].name = texts.add(names.unique(argument.name)) }
        steps.append(Step(literal: none, name: none))
      case .literal(let text):
        // No writer makes two literals in a row, but a file may have them.
        if !steps[steps.count - 1].literal.isEmpty {
          steps.append(Step(literal: none, name: none))
        }
        steps[steps.count - 1].literal = texts.add(text)
      }
    }
    ownSteps = StableArray(steps)
    line = UInt64(site.line)
    fileText = texts.add(site.file)
    placeText = texts.add(site.file.isEmpty ? "" : "\(site.file):\(site.line)")
    functionText = texts.add(site.function)
    ownTexts = StableArray(texts.bytes)
    textSize = steps.reduce(fileText.count + functionText.count) { $0 + $1.textSize }
  }

  var steps: UnsafeBufferPointer<Step> { ownSteps.elements }
  /// The address of the texts of all steps.
  var texts: UnsafeRawPointer? { UnsafeRawPointer(ownTexts.elements.baseAddress) }
  var hasPlace: Bool { !fileText.isEmpty }

  /// Appends the place of the log statement: `App/Main.swift:7`.
  func appendPlace(_ form: TextForm, to output: inout TextBuffer) {
    output.append(placeText.bytes(form, texts))
  }

  func appendFile(_ form: TextForm, to output: inout TextBuffer) {
    output.append(fileText.bytes(form, texts))
  }

  func appendFunction(_ form: TextForm, to output: inout TextBuffer) {
    output.append(functionText.bytes(form, texts))
  }
}

extension RecordContent {
  /// Whether the place of the log statement is known.
  package var hasPlace: Bool { withPlan { $0.hasPlace } }

  func appendPlace(_ form: TextForm, to output: inout TextBuffer) {
    withPlan { $0.appendPlace(form, to: &output) }
  }

  /// Appends the file of the log statement in a form.
  package func appendFile(_ form: TextForm, to output: inout TextBuffer) {
    withPlan { $0.appendFile(form, to: &output) }
  }

  /// The line of the log statement.
  package var line: UInt64 { withPlan { $0.line } }

  func appendLine(to output: inout TextBuffer) {
    withPlan { output.append(decimal: $0.line) }
  }

  /// Appends the function of the log statement in a form.
  package func appendFunction(_ form: TextForm, to output: inout TextBuffer) {
    withPlan { $0.appendFunction(form, to: &output) }
  }

  /// Appends the message in a form.
  ///
  /// - Returns: Whether all of it is UTF-8; not known in ``TextForm/raw``.
  @discardableResult
  package func appendMessage(_ form: TextForm, to output: inout TextBuffer) -> Bool {
    let start = output.count
    let isUTF8 = appendParts(form, to: &output)
    if form == .json, !isUTF8 { repairMessage(from: start, &output) }
    return isUTF8
  }

  /// If bytes of one argument go on in the next one, U+FFFD is counted as in the message that they
  /// make together.
  private func repairMessage(from start: Int, _ output: inout TextBuffer) {
    var message = TextBuffer()
    appendParts(.raw, to: &message)
    output.cut(to: start)
    message.withUnsafeBytes { _ = output.append($0, .json) }
  }

  @discardableResult
  private func appendParts(_ form: TextForm, to output: inout TextBuffer) -> Bool {
    withPlan { plan in
      var reader = words
      var isUTF8 = true
      for step in plan.steps {
        output.append(step.literal.bytes(form, plan.texts))
        guard step.hasArgument else { continue }
        // `check` has read all values before: nothing is thrown.
        if let isText = try? append(step, form, from: &reader, to: &output) {
          isUTF8 = isUTF8 && isText
        }
      }
      return isUTF8
    }
  }

  /// Appends a value without a style, if it is of a usual type: straight from its words.
  @inline(__always)
  private func append(
    _ step: MessagePlan.Step, _ form: TextForm, from reader: inout WordReader,
    to output: inout TextBuffer
  ) throws(FormatError) -> Bool {
    guard step.isPlain else { return try appendStyled(step, form, from: &reader, to: &output) }
    switch ValueType(rawValue: step.type) {
    case .int: output.append(decimal: Int64(bitPattern: try reader.word()))
    case .uint: output.append(decimal: try reader.word())
    case .double: output.append(shortest: Double(bitPattern: try reader.word()))
    case .string: output.append(repairing: try reader.string(), form)
    case .bytes: return output.append(try reader.string(), form)
    default: return try appendStyled(step, form, from: &reader, to: &output)
    }
    return true
  }

  private func appendStyled(
    _ step: MessagePlan.Step, _ form: TextForm, from reader: inout WordReader,
    to output: inout TextBuffer
  ) throws(FormatError) -> Bool {
    let value = try reader.view(ofArgumentType: step.type)
    let start = output.count
    var width: Int?
    if form != .raw, step.alignment.side != .none {
      // A character that a form escapes still counts as one.
      var copy = reader
      try output.append(value, .raw, style: step.style, from: &copy)
      width = output.withBytes(from: start) { UnsafeRawBufferPointer($0).characterCount }
      output.cut(to: start)
    }
    let isUTF8 = try output.append(value, form, style: step.style, from: &reader)
    output.align(from: start, step.alignment, width: width)
    return isUTF8
  }
}
