import Foundation
import Glibc
import TestSupport

/// A process that logs lines: `mmlog-pipe`. Tests stop it, kill it and send it requests.
final class LoggingChild {
  private let input: FileHandle
  private let process = Process()
  private let directory: String

  init(in directory: String) throws {
    self.directory = directory
    process.executableURL = URL(fileURLWithPath: ChildProcess.path(of: "mmlog-pipe"))
    process.arguments = ["-d", directory, "-n", "piped", "--label", "lines"]
    let ends = try makeFilePipe()
    input = ends.writing
    process.standardInput = ends.reading
    try process.run()
    try ends.reading.close()
  }

  var id: pid_t { process.processIdentifier }

  /// Makes the process log lines, and waits until the last line is in the ring.
  func log(_ lines: String...) throws {
    for line in lines { input.write(Data("\(line)\n".utf8)) }
    let last = lines.last ?? ""
    let isThere = try eventually {
      try decode(["-q", "-g", "^\(last)$", directory]).output.contains(last)
    }
    if !isThere { throw Failure("'\(last)' is not logged") }
  }

  /// Stops the process, and waits until it is stopped.
  func stop() throws {
    kill(id, SIGSTOP)
    let isStopped = try eventually {
      try control(["status", directory]).output.contains("  stopped  ")
    }
    if !isStopped { throw Failure("the process does not stop") }
  }

  func goOn() { kill(id, SIGCONT) }

  func die() {
    kill(id, SIGKILL)
    process.waitUntilExit()
  }

  /// Lets the process end by itself.
  func end() {
    try? input.close()
    process.waitUntilExit()
  }

  deinit {
    if process.isRunning { die() }
  }
}

extension String {
  /// Replaces the parts that differ from run to run.
  func replacing(_ patterns: [(pattern: String, by: String)]) -> String {
    patterns.reduce(self) { text, replacement in
      text.replacingOccurrences(
        of: replacement.pattern, with: replacement.by, options: .regularExpression)
    }
  }
}
