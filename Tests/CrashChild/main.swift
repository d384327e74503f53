import CommandLineTool
import CrashRecords
import Glibc
import MMLog
import MMLogReader
import MMLogSystem

extension Option {
  static let directory = Option("directory", value: "DIR", required: true, "Where the store is.")
  static let page = Option("page", value: "FILE", required: true, "Where to count.")
  static let rings = Option("rings", value: "DIR", "Where rings are, if not there.")
  static let process = Option(
    "process", value: "N", default: "0", "Which process this is: its lanes follow from it.")
  static let forks = Option(
    "forks", value: "N", default: "0",
    "How many children to fork. They have the next processes' numbers, and FILE.1 and so on to count in."
  )
  static let flush = Option("flush", "Flush now and then.")
  static let recover = Option("recover", "Only open the store, and close it.")
  static let seed = Option("seed", value: "N", default: "1", "What the messages follow from.")
  static let threads = Option(
    "threads", value: "N", default: "4", "How many threads log at a time.")
  static let burst = Option(
    "burst", value: "N", "How many records a thread logs before another takes over.")
  static let records = Option(
    "records", value: "N", "How many records a lane has; then the store is closed.")
  static let minimum = Option("minimum", value: "BYTES", default: "0", "The shortest text.")
  static let maximum = Option("maximum", value: "BYTES", default: "200", "The longest text.")
  static let nested = Option("nested", "Log inside log calls too.")
  static let signals = Option("signals", "Log in a signal handler too.")
  static let labels = Option("labels", value: "N", default: "1", "How many labels there are.")
  static let ring = Option("ring", value: "KIB", default: "256", "The ring's size.")
  static let segment = Option("segment", value: "KIB", default: "4", "A segment's size.")
  static let dictionary = Option(
    "dictionary", value: "KIB", default: "64", "The dictionary's size.")
  static let archive = Option("archive", value: "KIB", default: "32", "An archive's size.")
  static let rolls = Option(
    "rolls", value: "N", "Log a record and close its archive, so many times; nothing else.")
  static let keep = Option("keep", value: "N", "How many archives are kept.")
  static let lifeline = Option("lifeline", "Die when the other end of descriptor 3 is closed.")
  static let leaveOpen = Option("leave-open", "Exit at the end without closing the store.")
  static let survive = Option("survive", "Have a handler of SIGABRT that returns.")
  static let setLimits = Option(
    "set-limits", "Open the store with other limits, and set those that count before logging.")
  static let hands = Option("hands", "Lease, mark, pin and remove archives beside logging.")
  static let prune = Option("prune", "Only delete what is too much, as mmlogctl prune does.")
  static let ledger = Option(
    "ledger", value: "DIR", "Where to note what happens to archives, and link those that may go.")
  static let resume = Option("resume", "Go on with the last archive, in the same file.")
  static let recipient = Option("recipient", value: "AGE1...", "For whom archives are encrypted.")
  static let hashChain = Option("hash-chain", "Chain frames by hashes.")
  static let flight = Option(
    "flight", oneOf: ["none", "error"], "Keep debug records in the ring, and what captures them.")
  static let spans = Option("spans", "Use spans too.")
  static let spanCapture = Option("span-capture", "Have spans decide about debug records.")
  static let contexts = Option("contexts", "Use bound loggers and fields of tasks too.")
  static let states = Option("states", "Keep in state slots how far the lanes are.")
  static let crashes = Option("crashes", "Record what fatal signal ends the process.")
  static let sidecars = Option("sidecars", "Have the file system keep no extended attributes.")
  static let level = Option("compression", value: "N", default: "1", "How hard to compress.")
  static let drainThreads = Option(
    "drain-threads", value: "N", default: "1", "How many threads move records to archives.")
  static let policy = Option(
    "policy", oneOf: ["wait", "drop", "overwrite"], default: "wait", "What a full ring means.")
  static let point = Option(
    "die-at", value: "POINT:N", "Die when a test point is reached for the nth time.")
  static let call = Option(
    "die-at-call", value: "N", "Die at the nth system call about the directory.")
  static let short = Option("short-writes", value: "BYTES", "Write so many bytes at a time.")
  static let fail = Option(
    "fail-writes", value: "FIRST:COUNT",
    "Have so many writes fail for want of space, from the nth on.")
}

let command = Command(
  name: "mmlog-crash-child",
  description: ["Logs until it is killed, for the crash tests."],
  options: [
    .directory, .rings, .page, .process, .recover, .seed, .threads, .burst, .records, .minimum,
    .maximum,
    .nested,
    .signals, .flush, .forks, .labels, .ring, .segment, .dictionary, .archive, .level,
    .drainThreads, .policy,
    .point, .call, .short, .fail,
    .rolls, .keep, .setLimits, .hands, .prune, .ledger, .sidecars, .resume, .flight, .spans,
    .spanCapture, .contexts, .states, .crashes, .leaveOpen, .survive, .lifeline, .recipient,
    .hashChain,
  ])

/// Applies the limits once, as a process that has no store.
func prune(_ arguments: Arguments) throws {
  // The directory may not have been made yet.
  guard (try? Directory.open(arguments.required(.directory))) != nil else { return }
  let pruning = Pruning(
    of: arguments.required(.directory), rings: arguments.value(of: .rings))
  var problems: [String] = []
  let retention = try LogStore.Configuration(arguments).retention
  let judgment = try pruning.judge(retention, store: "crash") { problems.append($0) }
  try pruning.delete(judgment.verdicts, deleted: { _ in }, failed: { problems.append("\($0)") })
  if let problem = problems.first { throw UsageError(problem) }
}

Program.run(command) { arguments, _ in
  // Ends this process, in case the tests themselves are ended.
  alarm(120)
  let page = try CountPage(arguments.required(.page))
  page.processID = UInt32(bitPattern: CurrentProcess.id)
  try Death.arm(arguments, page)
  if arguments.isSet(.recover) {
    page.isReady = true
    let store = try LogStore(
      directory: arguments.required(.directory), name: "crash", configuration: try .init(arguments))
    if let problem = store.recoveryFailures.first { throw problem }
    // Closing waits a second for retention at most, which is not enough for a thousand archives.
    try store.applyRetention(within: .seconds(60))
    try store.close()
    page.isClosed = true
  } else if arguments.isSet(.prune) {
    page.isReady = true
    try prune(arguments)
  } else if let rolls = try arguments.integer(of: .rolls, in: 1...1_000_000) {
    try Rolling(arguments, page).run(rolls)
  } else {
    if arguments.isSet(.lifeline) { try Lifeline.watch() }
    // The store's own handler calls this one afterwards.
    if arguments.isSet(.survive) { signal(SIGABRT) { @Sendable _ in } }
    try Workload(arguments, page).run()
  }
  return .success
}
