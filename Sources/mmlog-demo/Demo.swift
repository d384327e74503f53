import CommandLineTool
import Glibc
import MMLog
import MMLogSystem

/// Kills a service, and searches for what it had logged.
struct Demo {
  private let directory: String
  private let output: StandardOutput

  init(directory: String, _ output: StandardOutput) {
    self.directory = directory
    self.output = output
  }

  func run(seconds: Int) throws -> Program.Status {
    try checkIsEmpty()
    let acknowledged = try liveAndDie(seconds)
    try recover()
    let check = LogCheck(in: logs, acknowledged: acknowledged)
    try showEnd(check)
    return try report(check, acknowledged.reduce(0, +))
  }

  private var logs: String { Service.logs(in: directory) }

  /// Records and counts of an earlier run would be taken for this one's.
  private func checkIsEmpty() throws {
    guard let names = try? Directory.open(directory).names(), !names.isEmpty else { return }
    throw UsageError("'\(directory)' is not empty; name an empty directory, or a new one")
  }

  /// Starts the service and kills it. Returns how many records of each thread were acknowledged.
  private func liveAndDie(_ seconds: Int) throws -> [Int] {
    let counts = try Counts(directory)
    let service = try Child(Child.path(of: "mmlog-demo"), ["--service", "--directory", directory])
    while !counts.isReady {
      if service.hasEnded { throw DemoError("the service did not start") }
      usleep(1000)
    }
    try say(
      "A service, process \(service.id), logs orders from \(Service.threadCount) threads at "
        + "full speed …"
    )
    usleep(UInt32(seconds) * 1_000_000)
    service.kill()
    let acknowledged = (0..<Service.threadCount).map { counts[$0] }
    let total = acknowledged.reduce(0, +)
    try say("Killed with SIGKILL after \(seconds) s and \(total) acknowledged records.")
    return acknowledged
  }

  /// Does what the next start of the service does.
  private func recover() throws {
    let start = Clock.monotonic()
    let store = try LogStore(directory: logs, name: Service.name)
    let took = (Clock.monotonic() - start) / 1_000_000
    for failure in store.recoveryFailures { throw failure }
    for session in store.recoveredSessions {
      try say(
        "The next start took \(took) ms, and moved \(session.recordCount) records from the dead "
          + "process's ring to an archive.")
    }
    try store.close()
  }

  /// Makes mmlog-decode print the last records, and how the session ended.
  private func showEnd(_ check: LogCheck) throws {
    // A little of the end will do: there are a hundred records in that time.
    let since = check.lastTime.advanced(by: .microseconds(-100))
    let line = #""$0" --utc --since "$1" "$2" | tail -n 5"#
    try say("\nmmlog-decode says of the end:")
    try output.flush()
    let decode = Child.path(of: "mmlog-decode")
    let shell = try Child("/bin/sh", ["-c", line, decode, "\(since)", logs])
    shell.wait()
  }

  /// Prints what the check has found.
  private func report(_ check: LogCheck, _ acknowledged: Int) throws -> Program.Status {
    for complaint in check.complaints.prefix(10) { try say("not as it should be: \(complaint)") }
    if check.misplaced > 0 {
      try say("\(check.misplaced) records are not in their thread's order")
    }
    try say("\n\(try sizes(check))")
    try say(
      "acknowledged \(acknowledged), recovered \(check.recovered), lost \(check.lost), "
        + "duplicated \(check.duplicated)")
    let isWell =
      check.lost == 0 && check.duplicated == 0 && check.misplaced == 0
      && check.complaints.isEmpty
      && acknowledged > 0
    return isWell ? .success : .failure
  }

  private func sizes(_ check: LogCheck) throws -> String {
    let folder = try Directory.open(logs)
    let files = try folder.names().filter { $0.hasSuffix(".mmlog") }
    let bytes = try files.reduce(0) { try $0 + (folder.status(of: $1)?.size ?? 0) }
    let each = check.recovered > 0 ? Double(bytes * 10 / check.recovered) / 10 : 0
    return
      "\(files.count) \(files.count == 1 ? "archive" : "archives") with \(bytes) bytes: "
      + "\(each) for a record, in session "
      + "\(check.sessionID)"
  }

  private func say(_ text: String) throws {
    try output.append(text + "\n")
    try output.flush()
  }
}

struct DemoError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
