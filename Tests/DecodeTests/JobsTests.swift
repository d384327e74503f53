import MMLog
import TestSupport
import Testing

/// Text that several threads make.
@Suite struct JobsTests {
  /// Many records, of two sessions, of many lengths.
  private static let folder: TemporaryDirectory = {
    let folder = TemporaryDirectory()
    for session in 1...2 {
      guard let store = try? LogStore(directory: folder.path, name: "jobs") else { break }
      let log = store.logger(label: "session \(session)")
      for number in 0..<30_000 {
        log.info("record \(number) \(String(repeating: "x", count: number % 97))")
      }
      try? store.close()
    }
    return folder
  }()

  @Test(
    "the output is the same, whatever the format",
    arguments: [
      "--format text", "--json", "--format logfmt", "--format csv", "--format tsv",
      "--format message", "--template '{time} {message}'", "--fields label,message", "-m 9000",
      "--grep 99",
    ])
  func sameOutput(options: String) throws {
    let path = Self.folder.path
    let folder = TemporaryDirectory()
    let run = try shell(
      "cd '\(folder.path)' && '\(tool)' -q \(options) '\(path)' > one && '\(tool)' -q --jobs 3 \(options) '\(path)' > three"
        + " && cmp one three && wc -l < one", folder: folder)
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    #expect(Int(run.output.dropLast()) ?? 0 >= 300, "\(run.output)")
  }

  @Test("a reader that goes away ends it") func readerGoesAway() throws {
    let folder = TemporaryDirectory()
    let run = try shell(
      "'\(tool)' --jobs 3 '\(Self.folder.path)' | head -n 2 | wc -l", folder: folder)
    #expect(run.output == "2\n")
  }

  @Test("output that cannot be written is an error") func failedOutput() throws {
    let folder = TemporaryDirectory()
    let run = try shell("'\(tool)' -j 2 '\(Self.folder.path)' > /dev/full", folder: folder)
    #expect(run.status == 1 && run.errors.contains("No space left on device"))
  }

  @Test(
    "what brings nothing is refused",
    arguments: [("--format otlp", "puts them together"), ("-g x -C 1", "--jobs brings nothing")])
  func refused(options: String, reason: String) throws {
    let folder = TemporaryDirectory()
    let run = try shell("'\(tool)' -j 2 \(options) '\(Self.folder.path)'", folder: folder)
    #expect(run.status == 2 && run.errors.contains(reason), "\(run.errors)")
  }
}
