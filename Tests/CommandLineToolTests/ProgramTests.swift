import Glibc
import MMLogSystem
import Testing

@testable import CommandLineTool

/// Prints a line, and then does what the first operand says.
private func play(_ arguments: Arguments, _ output: StandardOutput) throws -> Program.Status {
  try output.append("printed\n")
  switch arguments.operands.first {
  case "usage": throw UsageError("this will not do")
  case "fail": throw SystemError(call: .open, errno: ENOENT, path: "/no\u{1b}[2J\nwhere")
  case "seven": return Program.Status(rawValue: 7)
  default: return .success
  }
}

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

private let usage = "Usage: sample --name N [options] [PATH ...]\n"

@Suite struct ProgramTests {
  @Test("it prints and ends with the status of its work")
  func itPrintsAndEndsWithTheStatusOfItsWork() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(7),
      observing: [\.standardOutputContent, \.standardErrorContent]
    ) { Program.run(sample, arguments: ["-na", "seven"], play) }
    #expect(text(result.standardOutputContent).hasSuffix("printed\n"))
    #expect(!text(result.standardErrorContent).contains("sample"))
  }

  @Test("it prints help") func itPrintsHelp() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { Program.run(sample, arguments: ["--help"], play) }
    #expect(text(result.standardOutputContent).hasSuffix(sample.help))
  }

  @Test("it prints its version") func itPrintsItsVersion() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { Program.run(sample, arguments: ["--version"], play) }
    #expect(text(result.standardOutputContent).hasSuffix("sample \(mmlogVersion)\n"))
  }

  @Test("a wrong command line ends with the synopsis")
  func aWrongCommandLineEndsWithTheSynopsis() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(2),
      observing: [\.standardOutputContent, \.standardErrorContent]
    ) { Program.run(sample, arguments: ["--quiet"], play) }
    #expect(!text(result.standardOutputContent).contains("printed"))
    #expect(
      text(result.standardErrorContent).hasSuffix(
        "sample: option '--name' is missing; add '--name N'\n" + usage))
  }

  @Test("a usage error found later is one too") func aUsageErrorFoundLaterIsOneToo() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(2), observing: [\.standardErrorContent]
    ) { Program.run(sample, arguments: ["-na", "usage"], play) }
    #expect(text(result.standardErrorContent).hasSuffix("sample: this will not do\n" + usage))
  }

  @Test("an error is reported on one line after what was printed")
  func anErrorIsReportedOnOneLineAfterWhatWasPrinted() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(1),
      observing: [\.standardOutputContent, \.standardErrorContent]
    ) { Program.run(sample, arguments: ["-na", "fail"], play) }
    #expect(text(result.standardOutputContent).hasSuffix("printed\n"))
    let sentence = "open /no\\u{1b}[2J\\nwhere: No such file or directory (ENOENT)"
    #expect(text(result.standardErrorContent).hasSuffix("sample: \(sentence)\n"))
  }

  @Test("output that cannot be written is an error")
  func outputThatCannotBeWrittenIsAnError() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(1), observing: [\.standardErrorContent]
    ) {
      dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO)
      Program.run(sample, arguments: ["-na"], play)
    }
    let sentence = "write standard output: No space left on device (ENOSPC)"
    #expect(text(result.standardErrorContent).hasSuffix("sample: \(sentence)\n"))
  }

  @Test("a reader that went away is no error") func aReaderThatWentAwayIsNoError() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(7), observing: [\.standardErrorContent]
    ) {
      var ends: [CInt] = [-1, -1]
      pipe(&ends)
      dup2(ends[1], STDOUT_FILENO)
      close(ends[0])
      Program.run(sample, arguments: ["-na"]) { _, output in
        try output.append("printed\n")
        try output.flush()
        try output.append("dropped\n")
        return Program.Status(rawValue: output.hasReader ? 1 : 7)
      }
    }
    #expect(!text(result.standardErrorContent).contains("sample"))
  }

  @Test("a closed descriptor is not given to the next file")
  func aClosedDescriptorIsNotGivenToTheNextFile() async throws {
    await #expect(processExitsWith: .exitCode(7)) {
      (0...2).forEach { _ = close($0) }
      Program.run(sample, arguments: ["-na"]) { _, _ in
        Program.Status(rawValue: open("/dev/null", O_WRONLY) > 2 ? 7 : 1)
      }
    }
  }
}
