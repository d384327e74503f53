import MMLogFormat

/// One JSON object on a line for each record (RFC 8259), for programs. Valid whatever was logged.
///
/// | key | value |
/// | - | - |
/// | `time` | RFC 3339 with nine digits of a second, in the zone chosen |
/// | `timeUnixNano` | the same in nanoseconds since 1970, as a string: numbers of that size lose digits in JavaScript |
/// | `level` | `trace` … `critical` |
/// | `label` | the logger's |
/// | `message` | with its arguments in it; U+FFFD for what is not UTF-8 |
/// | `messageBase64` | its bytes, only if they are not UTF-8 |
/// | `fields` | named arguments, then metadata, by name; a name that is there again gets `#2`, `#3` … |
/// | `file`, `line`, `function` | the log statement; left out if there is none |
/// | `threadOrdinal`, `threadID`, `threadName` | the thread; no name if it had none |
/// | `process`, `pid`, `host`, `session` | whose record it is |
/// | `cut`, `unterminated` | `true`, only if so |
///
/// Values of fields: integers of up to 64 bits are numbers, wider ones are numbers if they fit and
/// strings otherwise; floating point is a number, or `"NaN"`, `"Infinity"`, `"-Infinity"`; bytes are
/// `{"base64":"…"}`; redacted values are `"<private>"` and hashed ones `"<hash:…>"`; nil is `null`.
public struct JSONFormatter: LogFormatter {
  private var timestamp: Timestamp
  private var scratch: [UInt8] = []
  /// The end of every line of a session.
  private var sessionEnd: (session: LogSession, text: [UInt8])?

  /// Makes a formatter that shows times in a zone.
  public init(zone: LogTimeZone = .local) { timestamp = Timestamp(zone) }

  /// Appends the record's object and a line end.
  public mutating func append(_ record: LogRecord, to output: inout [UInt8]) {
    output.append(#"{"time":""#)
    timestamp.append(record.time, to: &output)
    output.append(#"","timeUnixNano":""#)
    output.append(record.time, .plain)
    output.append(#"","level":""#)
    output.append(record.level.description)
    output.append(#"","label":"#)
    output.append(json: record.label)
    appendMessage(record, to: &output)
    appendFields(record, to: &output)
    appendPlace(record, to: &output)
    appendThread(record.thread, to: &output)
    appendSession(record.session, to: &output)
    if record.isCut { output.append(#","cut":true"#) }
    if record.isUnterminated { output.append(#","unterminated":true"#) }
    output.append("}\n")
  }

  private mutating func appendMessage(_ record: LogRecord, to output: inout [UInt8]) {
    scratch.removeAll(keepingCapacity: scratch.capacity < 1 << 20)
    record.content.appendMessage(to: &scratch)
    output.append(#","message":"#)
    let isUTF8 = scratch.withUnsafeBytes { output.append(json: $0) }
    if !isUTF8 {
      output.append(#","messageBase64":""#)
      output.append(base64: scratch)
      output.append(#"""#)
    }
  }

  private func appendFields(_ record: LogRecord, to output: inout [UInt8]) {
    output.append(#","fields":{"#)
    if record.content.site.hasNames || record.content.flags.contains(.metadata) {
      var names = UniqueNames()
      record.content.forEachField { (name, value, reader) throws(FormatError) in
        output.append(jsonName: names.unique(name.text))
        try output.append(json: value, from: &reader)
      }
    }
    output.append("}")
  }

  private func appendPlace(_ record: LogRecord, to output: inout [UInt8]) {
    guard !record.file.isEmpty else { return }
    output.append(#","file":"#)
    output.append(json: record.file)
    output.append(#","line":"#)
    output.append(digits: UInt(record.line))
    output.append(#","function":"#)
    output.append(json: record.function)
  }

  private func appendThread(_ thread: LogThread, to output: inout [UInt8]) {
    output.append(#","threadOrdinal":"#)
    output.append(digits: thread.ordinal)
    output.append(#","threadID":"#)
    output.append(digits: thread.id)
    guard !thread.name.isEmpty else { return }
    output.append(#","threadName":"#)
    output.append(json: thread.name)
  }

  private mutating func appendSession(_ session: LogSession, to output: inout [UInt8]) {
    if let end = sessionEnd, end.session === session { return output.append(contentsOf: end.text) }
    var text: [UInt8] = []
    text.append(#","process":"#)
    text.append(json: session.identity.processName)
    text.append(#","pid":"#)
    text.append(digits: session.identity.processID)
    text.append(#","host":"#)
    text.append(json: session.identity.hostName)
    text.append(#","session":""#)
    text.append(session.id.description)
    text.append(#"""#)
    sessionEnd = (session, text)
    output.append(contentsOf: text)
  }
}

/// Makes the names of one object differ.
struct UniqueNames {
  private var names: Set<String> = []

  /// The name, or with the first of `#2`, `#3` … that is free.
  mutating func unique(_ name: String) -> String {
    if names.insert(name).inserted { return name }
    var number = 2
    while !names.insert("\(name)#\(number)").inserted { number += 1 }
    return "\(name)#\(number)"
  }
}
