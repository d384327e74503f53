import Glibc
import MMLog
import MMLogReader

// A service that archives no debug record, and is killed. The ring still has what led to its end.
//
//     mmlog-flight DIRECTORY      DIRECTORY is empty, or not there

/// Takes orders, and dies at one of them.
func serve(_ directory: String) throws -> Never {
  var configuration = LogStore.Configuration()
  configuration.level = .debug
  configuration.archiveLevel = .info
  let store = try LogStore(directory: directory, name: "orders", configuration: configuration)
  let log = store.logger(label: "orders")
  for order in 1...1000 {
    log.debug("order \(order): \(order % 17 * 3) in stock, 2 wanted")
    log.info("order \(order) accepted")
  }
  try store.flush(.archive)
  log.debug("order 1001: \(-1) in stock, 2 wanted")
  kill(getpid(), SIGKILL)
  exit(1)
}

/// Prints how many records there are, and how many of them are flight records.
func report(_ what: String, _ paths: [String]) -> [LogReader.Record] {
  let records = LogReader(paths: paths).compactMap { item in
    if case .record(let record) = item { record } else { nil }
  }
  print("\(what): \(records.count) records, \(records.count(where: \.isFlight)) of them below info")
  return records
}

guard CommandLine.arguments.count == 2 else {
  print("mmlog-flight: give a directory for the log, which is empty or not there")
  exit(2)
}
let directory = CommandLine.arguments[1]
let service = fork()
if service == 0 { try serve(directory) }
var status: CInt = 0
while waitpid(service, &status, 0) < 0 && errno == EINTR {}
guard status & 0x7F == SIGKILL else {
  print("mmlog-flight: the service did not start")
  exit(1)
}

var archives = Glibc.glob_t()
glob("\(directory)/*.mmlog", 0, nil, &archives)
let paths = (0..<Int(archives.gl_pathc)).compactMap {
  archives.gl_pathv[$0].map { String(cString: $0) }
}
globfree(&archives)
_ = report("What the dead service had archived", paths)
let records = report("With what is in its ring", [directory])
for record in records.suffix(4) {
  print("  \(record.level) \(record.message)\(record.isFlight ? "  <flight>" : "")")
}
// The next start moves the ring's records to an archive.
try LogStore(directory: directory, name: "orders").close()
_ = report("Recovered by the next start", [directory])
