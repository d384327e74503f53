import Foundation

// Measures mmlog beside a C floor and other loggers. `Benchmarks/run` is the way to start it; the
// program starts itself again for parts that need a process of their own.

func runAll(_ settings: Settings) throws {
  var results = Results(settings)
  if settings.wants(.latency) {
    var latency = Latency(settings)
    try latency.run(&results)
  }
  if settings.wants(.bursts) { try Bursts(settings).run(&results) }
  if settings.wants(.threads) { try ThreadCosts(settings).run(&results) }
  if settings.wants(.places) { try Places(settings).run(&results) }
  if settings.wants(.first) {
    try FirstCalls(settings).run(&results)
    try Openings(settings).run(&results)
  }
  if settings.wants(.losses) { try Losses(settings).run(&results) }
  if settings.wants(.sustained) { try Sustained(settings).run(&results) }
  if settings.wants(.decode) { try Decode(settings).run(&results) }
  if settings.wants(.queries) { try Queries(settings).run(&results) }
  if settings.wants(.maintenance) { try Maintenance(settings).run(&results) }
  if settings.wants(.http) { try Exchanges(settings).run(&results) }
  if settings.wants(.sealed) { try Sealed(settings).run(&results) }
  if let path = settings.json { try results.write(to: path) }
}

do {
  let arguments = Array(CommandLine.arguments.dropFirst())
  if arguments.first == "child" {
    try ChildTask.run(Array(arguments.dropFirst()))
  } else {
    try runAll(Settings(arguments))
  }
} catch {
  FileHandle.standardError.write(Data("benchmarks: \(error)\n".utf8))
  exit(1)
}
