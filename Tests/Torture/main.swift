import CommandLineTool
import CrashRecords
import Glibc
import MMLog
import MMLogSystem

extension Option {
  static let images = Option(
    "images", value: "N", default: "5000", "How many images of simulated cuts to check.")
  static let rounds = Option(
    "rounds", value: "N", default: "20",
    "How often to cut a real file system off. Only root can; others skip it.")
  static let seed = Option(
    "seed", value: "S",
    "What everything follows from but the threads' pace; else the time. The first run has it.")
  static let jobs = Option("jobs", value: "N", default: "2", "How many runs at a time.")
  static let folder = Option(
    "folder", value: "DIR",
    "Where files are made; what fails stays there. Else a new one in /dev/shm or $TMPDIR.")
  static let page = Option("page", value: "FILE", "For log: where to count.")
}

let command = Command(
  name: "mmlog-torture", version: "0.1.0",
  description: [
    "power: cuts the power while a store is logging, and looks whether everything that was synced is "
      + "there, and nothing else than what was logged. First, what a store does to its files is recorded, and "
      + "files are made as they may be after a cut at any moment: of what was not synced, any page, size "
      + "or name may be old, missing, new or torn. Then, for root, a real file system is shut down under a process that logs.",
    "check: looks again at an image that failed, in the folder where it was kept; on a copy of it.",
    "run and log are what power starts in processes of their own.",
  ],
  options: [.images, .rounds, .seed, .jobs, .folder, .page],
  operands: Operands("power|check|run|log", count: 1...1, "What to do."),
  examples: [
    Example("All of it", "mmlog-torture power --images 100000 --rounds 200"),
    Example("What a report names", "mmlog-torture power --images 100 --rounds 0 --seed 4711"),
    Example("A kept image", "mmlog-torture check --folder /tmp/mmlog-torture.x/run-4711/failed-3"),
  ],
  exitStatuses: [
    (.success, "nothing was found"), (.failure, "something was found"),
    (.usage, "the command line was wrong"),
  ])

Program.run(command) { arguments, output in
  let seed = try arguments.value(of: .seed, expected: "a number") { UInt64($0) }
  switch arguments.operands[0] {
  case "power": return try Power.run(arguments, seed ?? UInt64(Clock.realtime() / 1000), output)
  case "run": return try Power.simulate(arguments, seed ?? 1, output)
  case "log": return try LoggingChild.run(arguments, seed ?? 1)
  case "check": return try Power.check(arguments, output)
  default: throw UsageError("'\(arguments.operands[0])' is nothing that can be done")
  }
}
