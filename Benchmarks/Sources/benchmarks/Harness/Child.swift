import Foundation

/// This program, or another one, as a process of its own.
struct Child {
  private let process = Process()
  private let output = Pipe()

  /// - Parameters:
  ///   - program: Its path; nil: this one.
  ///   - capturing: Whether ``finish()`` returns its standard output; otherwise that is discarded.
  init(_ program: String? = nil, _ arguments: [String], capturing: Bool = false) throws {
    process.executableURL = URL(fileURLWithPath: program ?? Self.own)
    process.arguments = arguments
    process.standardOutput = capturing ? output : FileHandle.nullDevice
    try process.run()
  }

  static let own = "/proc/self/exe".withCString { link in
    String(cString: realpath(link, nil))
  }

  /// A program that was built with this one.
  static func neighbor(_ name: String) -> String {
    own.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/\(name)"
  }

  /// Ends the process with SIGKILL, and waits for its end.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  var hasEnded: Bool { !process.isRunning }

  /// Waits for the process's end.
  ///
  /// - Returns: What it has written, if captured.
  @discardableResult
  func finish() throws -> Data {
    let data = try output.fileHandleForReading.readToEndIfOpen(process.standardOutput)
    process.waitUntilExit()
    let status = process.terminationStatus
    guard process.terminationReason == .exit, status == 0 else {
      throw BenchmarkError("a child process ended with status \(status)")
    }
    return data
  }
}

/// Runs a line of the shell. Returns as soon as it ends; the end of a ``Child`` is only looked for
/// twenty times a second.
func shell(_ line: String) throws {
  let status = system(line)
  guard status == 0 else { throw BenchmarkError("'\(line)' ended with status \(status >> 8)") }
}

extension FileHandle {
  fileprivate func readToEndIfOpen(_ target: Any?) throws -> Data {
    target is Pipe ? try readToEnd() ?? Data() : Data()
  }
}

struct BenchmarkError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
