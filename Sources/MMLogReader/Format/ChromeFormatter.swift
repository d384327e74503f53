import MMLogFormat
import MMLogSystem

/// Trace events in JSON, as Perfetto (ui.perfetto.dev) and `chrome://tracing` open them. Each
/// record is an instant on its thread's track. Each span is a bar on a track of its own, from its
/// beginning to its end. If a span's beginning is not among the records, the bar begins when the
/// end says. A bar's name is the first 200 characters of the message that its span began with.
///
/// A session is a process of the trace. It is numbered from 1, because two sessions may have had
/// the same process id, and is named with its store, process id and host. Threads have their
/// ordinals. The category is the label; the arguments are level, fields, place and time. Time
/// stamps count from the first record, because programs read them as floating-point numbers, which
/// have no room for nanoseconds since 1970.
public struct ChromeFormatter: LogFormatter {
  private var processes: [ObjectIdentifier: Process] = [:]
  private var last: Process?
  private var isFirst = true
  private var first: Timestamp?
  /// How many open spans have a name in their process.
  private var openSpans = 0
  private static let maximumOpenSpans = 65_536
  private var timestamp: TimeFormatter

  private final class Process {
    /// Kept, so that no other session gets its address.
    let session: LogReader.Session
    let number: Int
    var threads: Set<UInt32> = []
    /// The names of open spans. They are not escaped yet, which can make them six times as long.
    var spanNames: [UInt64: String] = [:]

    init(_ session: LogReader.Session, _ number: Int) {
      (self.session, self.number) = (session, number)
    }
  }

  /// Makes a formatter that shows times in a zone.
  public init(zone: LogTimeZone = .local) { timestamp = TimeFormatter(zone) }

  /// Appends the start of the object.
  public mutating func begin(_ output: inout TextBuffer) {
    output.append(#"{"displayTimeUnit":"ns","traceEvents":["#)
  }

  /// Appends the record's event, and before it the names of its process and thread if they are new.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    let process = process(of: record.session, &output)
    if process.threads.insert(record.thread.ordinal).inserted {
      appendName(of: record.thread, in: process, &output)
    }
    if let span = record.span, let number = span.number {
      append(span, number, of: record, in: process, &output)
    } else {
      beginEvent(&output)
      output.append(#"{"ph":"i","s":"t","name":""#)
      record.content.appendMessage(.json, to: &output)
      appendWhen(record.time, of: record, in: process, &output)
    }
    output.append(#","args":{"time":""#)
    timestamp.append(record.time, to: &output)
    output.append(#"","level":""#)
    output.append(text: record.level.description)
    output.append(#"","fields":"#)
    output.append(attributes: record.content)
    if record.content.hasPlace {
      output.append(#","source":""#)
      record.content.appendPlace(.json, to: &output)
      output.append(UInt8(ascii: "\""))
    }
    output.append("}}")
  }

  /// Appends an event of a span up to its arguments. If an end has no beginning, that comes first.
  ///
  /// Programs match the two by category, number and name.
  private mutating func append(
    _ span: LogReader.Span, _ number: UInt64, of record: LogReader.Record, in process: Process,
    _ output: inout TextBuffer
  ) {
    // Names of open spans stay in memory, and a message may have megabytes.
    let text = record.message.first200
    switch span.event {
    case .begin:
      // If too many spans are open, the ends of the others stand for their beginnings.
      if openSpans < Self.maximumOpenSpans,
        process.spanNames.updateValue(text, forKey: number) == nil
      {
        openSpans += 1
      }
      beginSpanEvent("b", text, number, &output)
    case .end(let start, _, _):
      let name = process.spanNames.removeValue(forKey: number)
      if name != nil {
        openSpans -= 1
      } else {
        beginSpanEvent("b", text, number, &output)
        appendWhen(start, of: record, in: process, &output)
        output.append("}")
      }
      beginSpanEvent("e", name ?? text, number, &output)
    }
    appendWhen(record.time, of: record, in: process, &output)
  }

  private mutating func beginSpanEvent(
    _ phase: StaticString, _ name: String, _ number: UInt64, _ output: inout TextBuffer
  ) {
    beginEvent(&output)
    output.append(#"{"ph":""#)
    output.append(phase)
    output.append(#"","id2":{"local":"0x"#)
    output.append(text: LogReader.Span.text(of: number))
    output.append(#""},"name":""#)
    output.append(name, .json)
  }

  private mutating func appendWhen(
    _ time: Timestamp, of record: LogReader.Record, in process: Process, _ output: inout TextBuffer
  ) {
    output.append(#"","cat":""#)
    record.content.appendLabel(.json, to: &output)
    output.append(#"","ts":"#)
    let start = first ?? time
    first = start
    appendMicroseconds((time - start).nanoseconds, &output)
    appendTrack(process, record.thread, &output)
  }

  /// Appends the end of the object.
  public mutating func end(_ output: inout TextBuffer) { output.append("\n]}\n") }

  private mutating func process(
    of session: LogReader.Session, _ output: inout TextBuffer
  ) -> Process {
    if let last, last.session === session { return last }
    let known = processes[ObjectIdentifier(session)]
    let process = known ?? Process(session, processes.count + 1)
    if known == nil {
      processes[ObjectIdentifier(session)] = process
      appendName(of: process, &output)
    }
    last = process
    return process
  }

  private mutating func appendName(of process: Process, _ output: inout TextBuffer) {
    let identity = process.session.identity
    beginEvent(&output)
    output.append(
      text: #"{"ph":"M","name":"process_name","pid":\#(process.number),"args":{"name":"#)
    output.append(
      json: "\(identity.storeName), pid \(identity.processID) on \(identity.hostName), session "
        + "\(process.session.id)")
    output.append("}}")
  }

  private mutating func appendName(
    of thread: LogReader.Thread, in process: Process, _ output: inout TextBuffer
  ) {
    beginEvent(&output)
    output.append(#"{"ph":"M","name":"thread_name""#)
    appendTrack(process, thread, &output)
    output.append(#","args":{"name":"#)
    output.append(
      json: thread.name.isEmpty ? "thread \(thread.id)" : "\(thread.name) (\(thread.id))")
    output.append("}}")
  }

  private func appendTrack(
    _ process: Process, _ thread: LogReader.Thread, _ output: inout TextBuffer
  ) {
    output.append(#","pid":"#)
    output.append(decimal: UInt64(process.number))
    output.append(#","tid":"#)
    output.append(decimal: UInt64(thread.ordinal))
  }

  /// With three digits behind the point: nanoseconds.
  private func appendMicroseconds(_ time: Int64, _ output: inout TextBuffer) {
    let (whole, fraction) = time.magnitude.quotientAndRemainder(dividingBy: 1000)
    if time < 0 { output.append(UInt8(ascii: "-")) }
    output.append(decimal: whole)
    output.append(UInt8(ascii: "."))
    output.append(decimal: fraction, minimum: 3)
  }

  private mutating func beginEvent(_ output: inout TextBuffer) {
    output.append(isFirst ? "\n" : ",\n")
    isFirst = false
  }
}
