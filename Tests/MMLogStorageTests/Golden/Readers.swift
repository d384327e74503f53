import Foundation
import MMLogReader
import MMLogSystem
import TestSupport

/// What a reader makes of files: records, and whether it found corruption or losses.
struct ReadResult: Equatable {
  var records: [ReadRecord] = []
  var hasTrouble = false
}

extension ReadResult {
  /// The first difference, in few words; nil if there is none.
  func difference(from other: ReadResult) -> String? {
    if self == other { return nil }
    let pairs = zip(records, other.records)
    guard let (index, pair) = pairs.enumerated().first(where: { $1.0 != $1.1 }) else {
      return "\(records.count), \(hasTrouble) and \(other.records.count), \(other.hasTrouble)"
    }
    return "record \(index): \("\(pair.0)".prefix(1500)) and \("\(pair.1)".prefix(1500))"
  }
}

/// Reads with ``LogReader``.
func readHere(_ paths: [String], identities: LogIdentities = LogIdentities()) -> ReadResult {
  let reader = LogReader(LogFiles(paths.map(LogReader.Input.path), identities: identities))
  var result = ReadResult(hasTrouble: !reader.unreadable.isEmpty)
  for item in reader {
    switch item {
    case .record(let record): result.records.append(ReadRecord(record))
    case .corruption, .losses: result.hasTrouble = true
    case .gap(let gap): if gap.isLoss { result.hasTrouble = true }
    case .unfinished, .crashed, .sessionStarted, .sessionEnded: break
    }
  }
  return result
}

/// Reads with `Tests/IndependentReader`, which is written from `docs/FORMAT.md` and uses none of
/// mmlog's code.
///
/// - Parameter identity: The path of a file with the secret key of what is encrypted.
func readInPython(_ paths: [String], identity: String? = nil) throws -> ReadResult {
  let (output, _, hasTrouble) = try runPython(paths, identity: identity)
  return ReadResult(records: try ReadRecord.parse(Array(output)), hasTrouble: hasTrouble)
}

/// Reads encrypted files with the independent reader. If Python cannot decrypt here, prints that
/// and returns nil.
func readEncryptedInPython(_ paths: [String], identity: String) throws -> ReadResult? {
  guard PipedProgram.output(of: ["python3", "-c", "import cryptography"]) != nil else {
    print("SKIPPED: the independent reader has no module cryptography")
    return nil
  }
  return try readInPython(paths, identity: identity)
}

/// The last states of all sessions, as the independent reader gives them: JSON of name and value.
func stateInPython(_ paths: [String]) throws -> [String] {
  let notes = String(decoding: try runPython(paths).errors, as: UTF8.self)
  return notes.split(separator: "\n").compactMap { line in
    line.range(of: ": state ").map { String(line[$0.upperBound...]) }
  }
}

private func runPython(
  _ paths: [String], identity: String? = nil
) throws -> (output: Data, errors: Data, hasTrouble: Bool) {
  let folder = TemporaryDirectory()
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["python3", "-B", testsFolder + "/IndependentReader/mmlog_reader.py"] + paths
  if let identity {
    process.environment = ProcessInfo.processInfo.environment.merging(["MMLOG_IDENTITY": identity])
    { $1 }
  }
  // Files, not pipes: nobody has to read while the process runs.
  folder.put("out", [])
  folder.put("err", [])
  process.standardOutput = FileHandle(forWritingAtPath: folder("out"))
  process.standardError = FileHandle(forWritingAtPath: folder("err"))
  try process.run()
  process.waitUntilExit()
  let errors = FileManager.default.contents(atPath: folder("err")) ?? Data()
  guard process.terminationReason == .exit, [0, 1].contains(process.terminationStatus) else {
    throw PythonFailure(
      status: process.terminationStatus, errors: String(decoding: errors, as: UTF8.self))
  }
  let output = FileManager.default.contents(atPath: folder("out")) ?? Data()
  return (output, errors, process.terminationStatus == 1)
}

struct PythonFailure: Error {
  let status: Int32
  let errors: String
}

/// The folder `Tests`.
let testsFolder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().path
