// Which log statements took longest, by a field that holds a duration: what a program does with
// MMLogReader.
//
//   swift run mmlog-slowest FIELD PATH...           of what is there
//   swift run mmlog-slowest --follow FIELD PATH...  each record that is slower than all before it,
//   as it is logged
import MMLogReader

/// The field of a record as a number, whatever type it was logged with.
func number(_ field: String, of record: LogReader.Record) -> Double? {
  guard let value = record.fields.first(where: { $0.name == field })?.value else { return nil }
  switch value {
  case .int(let value): return Double(value)
  case .uint(let value): return Double(value)
  case .double(let value): return value
  case .float(let value): return Double(value)
  case .string(let text): return Double(String(decoding: text, as: UTF8.self))
  default: return nil
  }
}

/// Prints the slowest record of each log statement, the slowest first.
func printSlowest(_ field: String, _ inputs: [LogReader.Input], _ filter: LogReader.Filter) {
  var slowest: [String: (time: Double, record: LogReader.Record)] = [:]
  for item in LogReader(inputs, filter: filter) {
    switch item {
    case .record(let record):
      guard let time = number(field, of: record) else { continue }
      let place = "\(record.file):\(record.line)"
      if time > slowest[place]?.time ?? -.infinity { slowest[place] = (time, record) }
    case .corruption(let corruption):
      print(
        "not read: \(corruption.size) bytes at \(corruption.offset) of \(corruption.path): \(corruption.what)"
      )
    case .losses(let session, let ledger) where !ledger.isEmpty:
      print("session \(session.id) could not keep all of its records")
    case .losses, .gap, .unfinished, .crashed, .sessionStarted, .sessionEnded: continue
    }
  }
  for (place, (time, record)) in slowest.sorted(by: { $0.value.time > $1.value.time }) {
    print("\(time)  \(place)  \(record.message)")
  }
}

/// Prints each record that is slower than all before it, until the task is canceled.
func follow(_ field: String, _ inputs: [LogReader.Input], _ filter: LogReader.Filter) async {
  var slowest = -Double.infinity
  for await case .record(let record) in LogReader.follow(inputs, filter: filter, last: 100) {
    guard let time = number(field, of: record), time > slowest else { continue }
    slowest = time
    print("\(time)  \(record.file):\(record.line)  \(record.message)")
  }
}

var arguments = Array(CommandLine.arguments.dropFirst())
let follows = arguments.first == "--follow"
if follows { arguments.removeFirst() }
if arguments.count < 2 {
  print("usage: mmlog-slowest [--follow] FIELD PATH...")
} else {
  let field = arguments[0]
  let inputs = arguments.dropFirst().map { LogReader.Input.path($0) }
  var filter = LogReader.Filter()
  // Frames and records without the field are passed over before their values are inspected.
  filter.conditions = [try FieldCondition("\"\(field)\"")]
  if follows {
    await follow(field, inputs, filter)
  } else {
    printSlowest(field, inputs, filter)
  }
}
