import CHarness
import CStatements
import Glibc
import MMLog
import MMLogCalls

// Makes each log call a number of times, for `check-counts`, which has callgrind count the
// instructions. What it prints is how often the allocator was called.

guard CommandLine.arguments.count == 3, let calls = Int(CommandLine.arguments[2]) else {
  print("counts: give a directory for the log, and a number of calls")
  exit(2)
}
let store = try LogStore(directory: CommandLine.arguments[1], name: "counts")
let log = MMLogCalls(store.logger(label: "counts"))
let bound = BoundCalls(store.logger(label: "counts"))

/// As many records as fit stay in this one's ring.
var recording = LogStore.Configuration()
recording.archiveLevel = .info
recording.level = .debug
let recorder = try LogStore(
  directory: CommandLine.arguments[1], name: "flight", configuration: recording)
let flight = MMLogCalls(recorder.logger(label: "counts"))

statements_open(CommandLine.arguments[1])

func count(_ name: String, _ call: (Int) -> Void) throws {
  // First calls make the thread's place in the store, and the call site's.
  for index in 0..<2000 { call(index) }
  let before = harness_allocations()
  for index in 0..<calls { call(index) }
  let allocations = harness_allocations() - before
  print("\(name) \(allocations)")
  // The ring is empty again: no call finds it full.
  try store.flush(.archive)
  try recorder.flush(.archive)
  statements_flush()
}

try count("order", log.order)
try count("text", log.text)
try count("pairs", log.pairs)
try count("message", log.message)
try count("bound", bound.bound)
try count("traced", bound.traced)
try count("sites", log.sites)
try count("misses", log.misses)
try count("span", log.span)
try count("corder", log.corder)
try count("disabled", log.disabled)
try count("flight", flight.flight)
try recorder.close()
try store.close()
