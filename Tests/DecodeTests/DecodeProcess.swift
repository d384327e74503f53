import Foundation
import TestSupport

/// The output, the errors and the status of a program.
struct Run: Equatable {
  var output: String
  var errors: String
  var status: Int32
}

/// The path of the built `mmlog-decode`.
let tool = ChildProcess.path(of: "mmlog-decode")

/// Runs the built `mmlog-decode`, which stands beside the tests.
func decode(
  _ arguments: [String], input: [UInt8]? = nil, environment: [String: String] = ["TZ": "UTC"]
) throws -> Run {
  try run(tool, arguments, input: input, environment: environment)
}

/// Runs the built `mmlogctl`.
func control(_ arguments: [String], environment: [String: String] = ["TZ": "UTC"]) throws -> Run {
  var arguments = arguments
  // On a busy machine, a process may not answer for minutes.
  let asking = ["set-level", "enable", "disable", "flush", "rotate", "capture"]
  if let command = arguments.first, asking.contains(command), !arguments.contains("--timeout") {
    arguments.insert(contentsOf: ["--timeout", "10m"], at: 1)
  }
  return try run(
    ChildProcess.path(of: "mmlogctl"), arguments, input: nil, environment: environment)
}

private func run(
  _ program: String, _ arguments: [String], input: [UInt8]?, environment: [String: String]
) throws -> Run {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: program)
  process.arguments = arguments
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  let folder = URL(fileURLWithPath: NSTemporaryDirectory())
    .appendingPathComponent("mmlog-decode.\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  // These are files, not pipes, so nobody has to read while the program runs.
  process.standardInput = try handle(folder, "in", input ?? [])
  process.standardOutput = try handle(folder, "out", [])
  process.standardError = try handle(folder, "err", [])
  try process.run()
  process.waitUntilExit()
  return Run(
    output: try text(folder, "out"), errors: try text(folder, "err"),
    status: process.terminationStatus)
}

private func handle(_ folder: URL, _ name: String, _ contents: [UInt8]) throws -> FileHandle {
  let url = folder.appendingPathComponent(name)
  try Data(contents).write(to: url)
  return try FileHandle(forUpdating: url)
}

private func text(_ folder: URL, _ name: String) throws -> String {
  String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
}

/// Runs a line of shell. The status of a pipe is that of the last program in it that fails.
func shell(_ line: String, folder: TemporaryDirectory) throws -> Run {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/bin/bash")
  process.arguments = ["-o", "pipefail", "-c", "(\(line)) > \(folder("out")) 2> \(folder("err"))"]
  process.standardInput = FileHandle.nullDevice
  try process.run()
  process.waitUntilExit()
  let folder = URL(fileURLWithPath: folder.path)
  return Run(
    output: try text(folder, "out"), errors: try text(folder, "err"),
    status: process.terminationStatus)
}
