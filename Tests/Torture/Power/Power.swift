import CommandLineTool
import Glibc
import MMLogSystem

/// The things that the command does.
enum Power {
  static func run(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try arguments.value(of: .folder) ?? temporaryFolder()
    try Folder.make(folder)
    try output.append("power cuts with --seed \(seed), in \(folder)\n")
    try output.flush()
    var campaign = try Campaign(arguments, seed: seed, folder: folder, output)
    let isGood = try campaign.run()
    try output.flush()
    var cuts = try RealCuts(arguments, seed: seed, folder: folder, output)
    let isReallyGood = try cuts.run()
    // It stays if something is kept in it.
    rmdir(folder)
    return isGood && isReallyGood ? .success : .failure
  }

  static func simulate(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let images = try arguments.integer(of: .images, in: 1...Int.max) ?? 1
    let folder = try required(.folder, arguments)
    let outcome = try SimulatedCuts.run(seed: seed, images: images, in: folder)
    if !outcome.failures.isEmpty { try output.append("  \(Plan(seed: seed))\n") }
    for failure in outcome.failures { try output.append("  \(failure)\n") }
    try output.append("\(outcome.images) \(outcome.damaged) \(outcome.silentHoles)\n")
    return outcome.failures.isEmpty ? .success : .failure
  }

  static func check(_ arguments: Arguments, _ output: StandardOutput) throws -> Program.Status {
    let folder = try required(.folder, arguments)
    let text = String(decoding: try Folder.read("\(folder)/expected"), as: UTF8.self)
    let expected = try Expectation(text: text)
    let copy = "\(folder)/copy"
    try Image(reading: "\(folder)/image").write(to: copy)
    defer { Folder.remove(copy) }
    let check = Check(copy, expected)
    try output.append("\(Plan(seed: expected.seed))\n")
    for problem in check.problems { try output.append("\(problem)\n") }
    return check.problems.isEmpty ? .success : .failure
  }

  static func required(_ option: Option, _ arguments: Arguments) throws -> String {
    guard let value = arguments.value(of: option) else {
      throw UsageError("--\(option.long) has to be given")
    }
    return value
  }

  /// In memory if possible: a hundred thousand images are many writes.
  private static func temporaryFolder() throws -> String {
    let variable = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : variable
    var template = Array("\(root)/mmlog-torture.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure("mkdtemp in \(root): errno \(errno)") }
    return template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
  }
}
