import CHarness
import CStatements
import Glibc
import MMLog
import MMLogCalls
import MMLogShipping

// Makes each log call a number of times, for `check-counts`, which counts the instructions with
// callgrind. It prints how often the allocator was called.

guard CommandLine.arguments.count >= 3, let calls = Int(CommandLine.arguments[2]) else {
  print("counts: give a directory, a number of calls, and 'shipped' for a shipper beside")
  exit(2)
}

/// Takes everything.
struct Nowhere: LogDestination {
  func send(_ batch: LogBatch) async throws -> LogBatch.Answer { .accepted }
}

let store = try LogStore(directory: CommandLine.arguments[1], name: "counts")
let log = MMLogCalls(store.logger(label: "counts"))
let slots = SlotCalls(store)
let bound = BoundCalls(store.logger(label: "counts"))
let http = HTTPCalls(store.logger(label: "counts"))

/// The ring of this store keeps as many records as fit.
var recording = LogStore.Configuration()
recording.archiveLevel = .info
recording.level = .debug
let recorder = try LogStore(
  directory: CommandLine.arguments[1], name: "flight", configuration: recording)
let flight = MMLogCalls(recorder.logger(label: "counts"))

/// The ring of this store is encrypted.
var encrypting = LogStore.Configuration()
encrypting.recipients = [
  try Recipient("age1v0t3yyu8e9jan3u2z265vys5zqh4cu95qrm2arae2d2epcjygexsnvnj5p")
]
let encrypted = try LogStore(
  directory: CommandLine.arguments[1], name: "sealed", configuration: encrypting)
let sealed = MMLogCalls(encrypted.logger(label: "counts"))

statements_open(CommandLine.arguments[1])

func count<Values>(
  _ name: String, _ values: (Int) -> Values, _ call: (Values) -> Void
) throws {
  // First calls make the thread's place in the store, and that of the call site.
  for index in 0..<2000 { call(values(index)) }
  let before = harness_allocations()
  for index in 0..<calls { call(values(index)) }
  let allocations = harness_allocations() - before
  print("\(name) \(allocations)")
  // The ring is empty again: no call finds it full.
  try store.flush(.archive)
  try recorder.flush(.archive)
  try encrypted.flush(.archive)
  statements_flush()
}

let (orders, texts) = (Orders(), Texts.words(Texts.few))
let names = Texts.words(Texts.few, length: 30)
func order(_ index: Int) -> Order { orders[index] }
func number(_ index: Int) -> Int { index }

let isShipped = CommandLine.arguments.dropFirst(3).first == "shipped"
let shipper =
  isShipped ? try Shipper(of: CommandLine.arguments[1], as: "counts", to: Nowhere()) : nil
if let shipper {
  try shipper.start()
  // This gives the shipper something to do meanwhile.
  for index in 0..<2000 { log.message(index) }
  try store.flush(.archive)
}
try count("order", order, log.order)
if let shipper {
  while shipper.statistics.records < 2000 { usleep(1000) }
  exit(0)
}
try count("text", { texts[$0] }, log.text)
try count("pairs", order, log.pairs)
try count("strings", order) { log.strings($0, names[$0.id]) }
try count("literals", number, log.literals)
try count("message", number, log.message)
try count("bound", number, bound.bound)
try count("traced", number, bound.traced)
try count("site", number) { log.site($0 % TwentySites.count, orders[$0]) }
try count("manysites", number) { log.manysites($0 * 761 % 2000, orders[$0]) }
try count("span", number, log.span)
try count("corder", order, log.corder)
try count("cfields", order, log.cfields)
try count("cspanfields", order, log.cspanfields)
try count("disabled", order, log.disabled)
try count("exchange", order, http.exchange)
try count("unrecorded", order, http.unrecorded)
try count("slot", number, slots.slot)
try count("slottext", order, slots.slottext)
try count("flight", order, flight.flight)
try count("sealed", order, sealed.sealed)
for each in [encrypted, recorder, store] {
  // A call that does not record costs less.
  precondition(each.losses.isEmpty, "records were lost")
  try each.close()
}
