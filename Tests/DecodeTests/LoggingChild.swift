import Foundation
import Glibc
import TestSupport

/// A process that logs lines: `mmlog-pipe`. Tests stop it, kill it and send it requests.
final class LoggingChild {
  private let input = Pipe()
  private let process = Process()
  private let directory: String

  init(in directory: String) throws {
    self.directory = directory
    process.executableURL = URL(fileURLWithPath: ChildProcess.path(of: "mmlog-pipe"))
    process.arguments = ["-d", directory, "-n", "piped", "--label", "lines"]
    process.standardInput = input
    try process.run()
  }

  var id: pid_t { process.processIdentifier }

  /// Makes the process log lines, and waits until the last line is in the ring.
  func log(_ lines: String...) throws {
    for line in lines { input.fileHandleForWriting.write(Data("\(line)\n".utf8)) }
    let last = lines.last ?? ""
    while try !decode(["-q", "-g", "^\(last)$", directory]).output.contains(last) { usleep(1000) }
  }

  /// Stops the process, and waits until it is stopped.
  func stop() throws {
    kill(id, SIGSTOP)
    while try !control(["status", directory]).output.contains("  stopped  ") { usleep(1000) }
  }

  func goOn() { kill(id, SIGCONT) }

  func die() {
    kill(id, SIGKILL)
    process.waitUntilExit()
  }

  /// Lets the process end by itself.
  func end() {
    try? input.fileHandleForWriting.close()
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
