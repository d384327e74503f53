import CommandLineTool

extension Option {
  static let directory = Option(
    "directory", short: "d", value: "DIR", required: true,
    "Where the service logs to: an empty directory, or one that is to be made.")
  static let duration = Option(
    "seconds", short: "s", value: "N", default: "2", "How long the service lives, 1 to 60 seconds.")
  static let service = Option("service", "Be the service, until killed. The demo starts it so.")
}

let command = Command(
  name: "mmlog-demo",
  description: [
    "Starts a service whose four threads log orders at full speed and count what they have logged, "
      + "kills it with SIGKILL, starts the store again, and searches for every record."
  ],
  options: [.directory, .duration, .service],
  exitStatuses: [
    (.success, "every acknowledged record was found, once and in order"),
    (.failure, "one was not, or something else went wrong"), (.usage, "the command line was wrong"),
  ])

Program.run(command) { arguments, output in
  let directory = arguments.required(.directory)
  if arguments.isSet(.service) { try Service(directory).run() }
  let demo = Demo(directory: directory, output)
  return try demo.run(seconds: arguments.integer(of: .duration, in: 1...60) ?? 2)
}
