import Glibc
import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

@testable import CommandLineTool
@testable import mmlog_decode

/// Printing that goes on where the last run ended.
@Suite struct CursorTests {
  private let log = TestLog()
  private var folder: TemporaryDirectory { log.folder }

  init() { log.writesRing = false }

  /// Logs a record for each number, and archives them.
  private func archive(_ numbers: Range<Int>) {
    for number in numbers { log.write("record \(number)", ticks: UInt64(1 + number)) }
    log.archive()
    log.save()
  }

  private func print(_ options: String) throws -> (status: Int32, output: String, errors: String) {
    let run = try shell(
      "'\(tool)' \(options) --format message '\(folder.path)'", folder: folder)
    return (run.status, run.output, run.errors)
  }

  @Test("a file of a cursor has each record printed once") func cursorFile() throws {
    let kept = TemporaryDirectory()
    let option = "--cursor-file '\(kept("cursor"))'"
    archive(0..<3)
    var run = try print(option)
    #expect(run.status == 0 && run.errors.isEmpty)
    #expect(run.output == "record 0\nrecord 1\nrecord 2\n")
    #expect(try print(option).output == "")
    archive(3..<5)
    run = try print("\(option) -m 1")
    #expect(run.output == "record 3\n")
    run = try print(option)
    #expect(run.output == "record 4\n")
    #expect(try kept.names() == ["cursor"])
  }

  @Test("what was printed into a file the last time is not replaced by what came since")
  func outputOfTheLastTime() throws {
    let kept = TemporaryDirectory()
    let option = "--cursor-file '\(kept("cursor"))' -o '\(kept("out"))'"
    archive(0..<2)
    kept.put("out", "what was there before there was a cursor")
    #expect(try print(option).status == 0)
    #expect(try kept.bytes("out") == Array("record 0\nrecord 1\n".utf8))
    archive(2..<3)
    let cursor = try kept.bytes("cursor")
    let run = try print(option)
    #expect(run.status == 2 && run.errors.contains("use >> FILE, or another name"), "\(run.errors)")
    #expect(try kept.bytes("out") == Array("record 0\nrecord 1\n".utf8))
    #expect(try kept.bytes("cursor") == cursor && kept.names().sorted() == ["cursor", "out"])
    // A program that has read the output empties or removes the file.
    kept.put("out")
    #expect(try print(option).status == 0)
    #expect(try kept.bytes("out") == Array("record 2\n".utf8))
    #expect(try print("--cursor-file '\(kept("cursor"))' -o /dev/null").status == 0)
  }

  @Test("no file of a split is replaced that has what was printed the last time")
  func splitOfTheLastTime() throws {
    let kept = TemporaryDirectory()
    let option = "--cursor-file '\(kept("cursor"))' --split-by session -o '\(kept("out"))'"
    archive(0..<2)
    #expect(try print(option).status == 0)
    let name = try #require(try Folder.names(kept("out")).first)
    let before = try kept.bytes("out/\(name)")
    archive(2..<3)
    let cursor = try kept.bytes("cursor")
    let run = try print(option)
    #expect(
      run.status == 2 && run.errors.contains("out/\(name)' would be replaced"), "\(run.errors)")
    #expect(try kept.bytes("out/\(name)") == before && kept.bytes("cursor") == cursor)
    #expect(try Folder.names(kept("out")) == [name])
    Folder.remove(kept("out/\(name)"))
    #expect(try print(option).status == 0)
    #expect(try kept.bytes("out/\(name)") == Array("record 2\n".utf8))
  }

  @Test("a cursor that is printed is one to go on behind") func shownCursor() throws {
    archive(0..<2)
    let lines = try print("--show-cursor").output.split(separator: "\n")
    #expect(lines.prefix(2) == ["record 0", "record 1"] && lines.count == 3)
    let cursor = try #require(lines.last?.split(separator: " ").last)
    archive(2..<3)
    #expect(try print("--after \(cursor)").output == "record 2\n")
    #expect(try print("--after \(cursor) --exit-code --level error").status == 4)
  }

  @Test("a cursor goes into a regular file alone, and nothing else is replaced")
  func cursorInOtherFiles() throws {
    archive(0..<2)
    let kept = TemporaryDirectory()
    try #require(mkfifo(kept("pipe"), 0o600) == 0)
    try #require(symlink(kept("file"), kept("link")) == 0)
    for (name, words) in [("pipe", "no regular file"), ("link", "symbolic link")] {
      let run = try print("--cursor-file '\(kept(name))'")
      #expect(run.status == 2 && run.output.isEmpty && run.errors.contains(words), "\(run)")
    }
    #expect(try kept.names().sorted() == ["link", "pipe"])
    #expect(try File.status(ofPath: kept("pipe")).isRegularFile == false)
  }

  @Test("a cursor does not go into what is read, or where it would be read as a log")
  func cursorAmongLogs() throws {
    archive(0..<2)
    let name = try #require(try folder.names(ending: ".mmlog").first)
    let before = try folder.bytes(name)
    for other in [name, "new.mmlog", "new.ring"] {
      let run = try print("--cursor-file '\(folder(other))'")
      #expect(run.status == 2 && run.output.isEmpty, "\(run)")
      #expect(run.errors.contains("; name another"), "\(run)")
    }
    #expect(try folder.bytes(name) == before)
    #expect(try !folder.names().contains("new.mmlog") && !folder.names().contains("new.ring"))
  }

  @Test("a cursor does not replace what was just printed, however the output names its file")
  func cursorInTheOutput() throws {
    let kept = TemporaryDirectory()
    archive(0..<2)
    let session = "\(log.identity.session).log"
    let split = try print("--cursor-file '\(kept(session))' --split-by session -o '\(kept.path)'")
    #expect(split.status == 2 && split.errors.contains("would get the cursor"), "\(split.errors)")
    #expect(try kept.names().isEmpty)
    #expect(try print("--cursor-file '\(kept("cursor"))'").status == 0)
    archive(2..<3)
    let before = try kept.bytes("cursor")
    let appended = try shell(
      "'\(tool)' --cursor-file '\(kept("cursor"))' '\(folder.path)' >> '\(kept("cursor"))'",
      folder: folder)
    #expect(appended.status == 2, "\(appended.errors)")
    #expect(appended.errors.contains("standard output is the file of the cursor"))
    #expect(try kept.bytes("cursor") == before)
  }

  @Test("output that could not be written is printed again") func failedOutput() throws {
    let kept = TemporaryDirectory()
    archive(0..<3)
    let run = try shell(
      "'\(tool)' --cursor-file '\(kept("cursor"))' '\(folder.path)' > /dev/full", folder: kept)
    #expect(run.status == 1 && run.errors.contains("No space left on device"))
    #expect(try !kept.names().contains("cursor"))
  }

  /// /proc/self/comm can be written, but not be synced.
  @Test("a cursor moves only once standard output is on the disk, where that is a file")
  func outputThatIsNotSafe() throws {
    let kept = TemporaryDirectory()
    archive(0..<1)
    let run = try shell(
      "'\(tool)' --cursor-file '\(kept("cursor"))' --format message '\(folder.path)'"
        + " > /proc/self/comm", folder: kept)
    #expect(run.status == 1 && run.errors.contains("fdatasync"), "\(run.errors)")
    #expect(try !kept.names().contains("cursor"))
  }

  #if DEBUG
    @Test("a cursor moves only once the output and its name are on the disk")
    func outputThatCannotBeMadeSafe() async {
      await #expect(processExitsWith: .success) {
        let (kept, output) = (TemporaryDirectory(), TemporaryDirectory())
        let log = TestLog.closed("one")
        log.save()
        let nowhere = StandardOutput(to: try File.open("/dev/null", .write))
        func run(_ options: [String]) throws -> Program.Status? {
          let line = options + ["--cursor-file", kept("cursor"), log.folder.path]
          guard case .run(let arguments) = try Command.print.parse(line) else { return nil }
          return try Command.print.body?(arguments, nowhere)
        }
        for options in [["-o", output("out")], ["-o", output.path, "--split-by", "session"]] {
          for call in [.fdatasync, .fsync] as [SystemCall] {
            ForcedFault.force(call, errno: EIO, under: output.path)
            let status = try? run(options)
            let names = try kept.names()
            precondition(status == nil && names.isEmpty, "\(options), \(call)")
          }
          let status = try run(options)
          let names = try kept.names()
          precondition(status == .success && names == ["cursor"], "\(options)")
          Folder.remove(kept("cursor"))
        }
      }
    }
  #endif

  @Test(
    "what cannot be a cursor is refused",
    arguments: [
      ("--after yesterday", "--after has no cursor in it"),
      ("--cursor-file FILE", "' has no cursor in it"),
      ("--after mmlog1: --cursor-file FILE", "give one"),
      ("--after mmlog1: --tail 3", "--after reads from a place on, so it does not go with --tail"),
      ("--follow --after mmlog1:", "--after has no meaning with --follow"),
      ("--follow --cursor-file FILE", "--cursor-file has no meaning with --follow"),
      ("--follow --show-cursor", "--show-cursor has no meaning with --follow"),
      ("--cursor-file ''", "--cursor-file needs the name of a file"),
      ("--cursor-file NEW -o NEW", "new' would get the cursor and records"),
      ("--cursor-file NEW -o FOLDER/./new", "new' would get the cursor and records"),
      ("--count --jobs 0", "--jobs"),
      ("--follow --jobs 2", "--jobs has no meaning with --follow"),
    ])
  func refused(options: String, reason: String) throws {
    let kept = TemporaryDirectory()
    kept.put("cursor", Array("\u{1}\n".utf8))
    archive(0..<1)
    let line = options.replacing("FILE", with: "'\(kept("cursor"))'")
      .replacing("NEW", with: "'\(kept("new"))'").replacing("FOLDER", with: kept.path)
    let run = try print(line)
    #expect(run.status == 2 && run.errors.contains(reason), "\(run.errors)")
    #expect(try kept.names() == ["cursor"])
  }
}
