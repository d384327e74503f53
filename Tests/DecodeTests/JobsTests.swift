import Glibc
import MMLog
import TestSupport
import Testing

/// Text that several threads write.
@Suite struct JobsTests {
  /// Many records of two sessions, with many lengths.
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

  @Test("the output is the same on a terminal") func sameOutputOnATerminal() throws {
    let folder = TemporaryDirectory()
    folder.put("print.py", Array(printOnTerminal.utf8))
    let run = try shell(
      """
      one=$(python3 '\(folder("print.py"))' '\(tool)' -j 1 '\(Self.folder.path)' | cksum)
      three=$(python3 '\(folder("print.py"))' '\(tool)' -j 3 '\(Self.folder.path)' | cksum)
      echo "$one"; [[ $one == "$three" ]]
      """, folder: folder)
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    #expect(Int(run.output.split(separator: " ").last?.dropLast() ?? "") ?? 0 > 1 << 20)
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
    "what has no effect is refused",
    arguments: [
      ("--format otlp", "puts them together"), ("-g x -C 1", "--jobs has no effect"),
      ("--split-by label -o x", "--jobs has no meaning with --split-by"),
    ])
  func refused(options: String, reason: String) throws {
    let folder = TemporaryDirectory()
    let run = try shell("'\(tool)' -j 2 \(options) '\(Self.folder.path)'", folder: folder)
    #expect(run.status == 2 && run.errors.contains(reason), "\(run.errors)")
  }

  @Test(
    "few of many large records are in memory at once", .enabled(if: !isSanitized),
    arguments: [["--jobs", "3"], ["--reverse"]])
  func largeRecords(options: [String]) throws {
    let folder = TemporaryDirectory()
    let fifo = folder("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    let arguments = options + ["--format", "message", Self.largeRecords.path]
    let child = try ChildProcess(tool, arguments, output: fifo, errors: folder("errors"))
    // Nobody reads the output, so the program stops at its first large write.
    try child.wait {
      var request = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
      return poll(&request, 1, 0) == 1 && request.revents & Int16(POLLIN) != 0
    }
    let status = try kernelText("/proc/\(child.id)/status").split(separator: "\n")
    let peak = status.first { $0.hasPrefix("VmHWM:") }?.split(separator: " ").dropFirst().first
    #expect(try #require(peak.flatMap { Int($0) }) < 256 << 10, "\(status)")
    child.kill()
    #expect(child.wait() == .killed(SIGKILL))
  }

  /// 320 MiB of records, each in a frame of its own.
  private static let largeRecords: TemporaryDirectory = {
    let log = TestLog()
    log.writesRing = false
    log.write("small", ticks: 1)
    log.archive()
    for index in 0..<160 as Range<UInt64> {
      log.addLong(2 << 20, site: log.textSite, ticks: 2 + index)
    }
    log.close()
    log.save()
    return log.folder
  }()
}

/// Prints what a program prints on a terminal.
private let printOnTerminal = """
  import os, pty, subprocess, sys
  main, other = pty.openpty()
  process = subprocess.Popen(
      [*sys.argv[1:], "--no-pager"], stdin=subprocess.DEVNULL, stdout=other)
  os.close(other)
  while True:
      try: part = os.read(main, 1 << 16)
      # The program has ended.
      except OSError: break
      if not part: break
      sys.stdout.buffer.write(part)
  sys.exit(process.wait())
  """
