import TestSupport
import CommandLineTool
import Glibc
import MMLogSystem

/// Faults of file systems, files, limits and clocks as they are, each in a process of its own.
struct RealFault: Sendable {
  let name: String
  /// Whether only root can cause it.
  let needsRoot: Bool
  /// Causes the fault, and returns what is wrong afterwards.
  let body: @Sendable (_ place: String) throws -> [String]

  init(
    _ name: String, needsRoot: Bool = false, _ body: @escaping @Sendable (String) throws -> [String]
  ) {
    (self.name, self.needsRoot, self.body) = (name, needsRoot, body)
  }
}

enum RealFaults {
  static let all = RealFault.ofDisks + RealFault.ofFiles + RealFault.ofLimits + RealFault.ofClocks

  /// Returns whether nothing was found.
  static func run(
    _ arguments: Arguments, folder: String, _ output: StandardOutput
  ) throws -> Bool {
    var (failures, skipped) = (0, 0)
    let only = arguments.value(of: .only)
    let chosen = all.filter { only == nil || "real \($0.name)".hasPrefix(only ?? "") }
    if chosen.isEmpty { throw UsageError("no real fault begins with '\(only ?? "")'") }
    for fault in chosen {
      if fault.needsRoot && CurrentProcess.effectiveUserID != 0 {
        try output.append("real \(fault.name): skipped, for only root can mount a file system\n")
        skipped += 1
        continue
      }
      let place = "\(folder)/\(fault.name)"
      Folder.remove(place)
      try Folder.make(place)
      let start = Clock.monotonic()
      let child = try ChildProcess(
        ChildProcess.ownPath,
        ["faults", "fault", "--only", "real \(fault.name)", "--folder", place],
        output: "\(place).report")
      let ending = child.wait(seconds: 120)
      let milliseconds = (Clock.monotonic() - start) / 1_000_000
      let report = String(decoding: try Folder.read("\(place).report"), as: UTF8.self)
      try output.append(
        "real \(fault.name): \(ending == .success ? "good" : "\(ending)"), \(milliseconds) ms\n\(report)"
      )
      try output.flush()
      if ending == .success {
        Folder.remove(place)
        unlink("\(place).report")
      } else {
        failures += 1
      }
    }
    try output.append(
      "\(chosen.count - skipped) real faults: \(failures) failed"
        + (skipped > 0 ? "; \(skipped) skipped\n" : "\n"))
    return failures == 0
  }

  /// Runs one fault in this process.
  static func runOne(
    _ name: String, _ place: String, _ output: StandardOutput
  ) throws -> Program.Status {
    guard let fault = all.first(where: { $0.name == name }) else {
      throw UsageError("there is no real fault '\(name)'")
    }
    let problems = try fault.body(place)
    for problem in problems { try output.append("  wrong: \(problem)\n") }
    return problems.isEmpty ? .success : .failure
  }
}
