import Foundation
import Glibc
import MMLog
import MMLogTaps
import MMLogReader
import MMLogSystem
import Synchronization
import Testing
import TestSupport

@Suite("Records on a console")
struct ConsoleTests {
  /// What the console shows of what `body` logs, if it is a file.
  private func shown(
    from level: Logger.Level = .warning, as format: LineFormat = .text(),
    _ change: (inout LogStore.Configuration) -> Void = { _ in },
    _ body: (TestStore) throws -> Void
  ) throws -> String {
    let folder = TemporaryDirectory()
    let file = open(folder("console"), O_WRONLY | O_CREAT, 0o600)
    defer { close(file) }
    let test = try TestStore {
      $0.taps = [LogTap(Console(as: format, to: file, zone: .utc), from: level)]
      change(&$0)
    }
    try body(test)
    try test.store.close()
    return String(decoding: try folder.bytes("console"), as: UTF8.self)
  }

  @Test(
    "records from a level on are shown as text, in the order of their thread, with controls escaped"
  )
  func text() throws {
    let text = try shown { test in
      for number in 0..<100 {
        test.log.info("not shown \(number)")
        test.log.warning("shown \(number) \u{1b}[31m\nred")
        if number % 20 == 0 { try test.store.flush(.archive) }
      }
    }
    let lines = text.split(separator: "\n")
    #expect(lines.count == 100)
    for (number, line) in lines.enumerated() {
      #expect(
        line.contains(
          #" WARNING  test: shown \#(number) \u{1b}[31m\nred (MMLogTests/ConsoleTests"#),
        "\(line)")
    }
  }

  @Test("as JSON, each line is an object with all that belongs to a record, spans too")
  func json() throws {
    let text = try shown(from: .notice, as: .json) { test in
      test.log.error("order \(7, name: "id")", metadata: ["venue": "XETR"])
      let span = test.log.begin("work", level: .notice)
      span.end()
    }
    let objects = try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(objects.count == 3)
    #expect(objects.map { $0["body"] as? String } == ["order 7", "work", ""])
    let attributes = objects[0]["attributes"] as? [String: Any]
    #expect(attributes?["id"] as? Int == 7 && attributes?["venue"] as? String == "XETR")
    #expect(objects[0]["scope_name"] as? String == "test")
    #expect(objects[1]["span_id"] as? String == objects[2]["span_id"] as? String)
    #expect(objects[2]["duration_nano"] as? Int ?? -1 >= 0)
  }

  @Test("colors are for terminals, unless they are asked for")
  func colors() throws {
    let log = { (test: TestStore) in test.log.error("red") }
    let automatic = try shown { log($0) }
    let always = try shown(as: .text(colors: .always)) { log($0) }
    #expect(automatic.contains("red") && !automatic.contains("\u{1b}"))
    #expect(always.contains("\u{1b}[31mERROR\u{1b}[0m"))
  }

  @Test("a terminal gets colors, and none with NO_COLOR")
  func terminal() async {
    await #expect(processExitsWith: .success) {
      for value in ["", "1"] {
        setenv("NO_COLOR", value, 1)
        setenv("TERM", "xterm", 1)
        let (terminal, end) = openTerminal()
        let test = try TestStore { $0.taps = [LogTap(Console(to: end), from: .warning)] }
        test.log.error("red")
        try test.store.close()
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(terminal, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        require(text.contains("red") && text.contains("\u{1b}[31m") == value.isEmpty, text)
      }
    }
  }

  @Test("long records, call sites without a number and many threads are shown")
  func rarePlaces() throws {
    let long = String(repeating: "x", count: 20_000)
    let text = try shown(from: .info, { $0.makeTiny() }) { test in
      test.log.info("\(long, privacy: .public)")
      for index in 0..<200 {
        let place = Logger.SourceLocation(
          file: "F/\(index)", function: "a function of some length", line: 1)
        test.log.log(level: .info, text: "site \(index)", at: place)
      }
      let log = test.log
      try onThreads(80) { log.info("thread \($0)") }
    }
    let lines = text.split(separator: "\n")
    #expect(lines.count == 281)
    #expect(lines[0].contains(" test: \(long) "))
    for index in 0..<200 { #expect(lines[index + 1].contains("site \(index) ")) }
  }

  @Test("whoever does not read keeps nobody waiting, and is notified how much is missing")
  func blocked() throws {
    let ends = try makePipe()
    var tap = LogTap(Console(to: ends.writing), from: .info)
    tap.capacity = 64 << 10
    let test = try TestStore { $0.taps = [tap] }
    let total = 5000
    for number in 0..<total {
      test.log.info("number \(number)")
      // Nobody reads, so the pipe gets full, and then the tap's queue.
      if number % 50 == 0 { try test.store.flush(.archive) }
    }
    try test.store.flush(.archive)
    let reader = try PipeReader(ends.reading)
    // From here on, there will be room again.
    test.log.info("last")
    try test.store.flush(.archive)
    try test.store.close()
    close(ends.writing)
    let lines = reader.text().split(separator: "\n")
    let shown = lines.filter { $0.contains(" test: ") }.count
    let missing = lines.compactMap { line -> Int? in
      line.hasPrefix("mmlog: ") ? Int(line.dropFirst(7).prefix { $0.isNumber }) : nil
    }
    #expect(!missing.isEmpty && shown > 0)
    #expect(shown + missing.reduce(0, +) == total + 1)
    #expect(Contents(test.folder.path).records.count == total + 1)
  }

  @Test("a process that has no free descriptor shows its records")
  func withoutDescriptors() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      let file = open(folder("console"), O_WRONLY | O_CREAT, 0o600)
      let test = try TestStore { $0.taps = [LogTap(Console(to: file))] }
      test.log.info("first")
      try test.store.flush(.archive)
      while folder.contents("console")?.isEmpty != false { Sleep.nanoseconds(1_000_000) }
      var taken: [CInt] = []
      var limit = rlimit(rlim_cur: 256, rlim_max: 256)
      require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      while case let number = dup(file), number >= 0 { taken.append(number) }
      var status = stat()
      let size = { fstat(file, &status) == 0 ? status.st_size : 0 }
      let before = size()
      test.log.info("second")
      try test.store.flush(.archive)
      while size() == before { Sleep.nanoseconds(1_000_000) }
      for number in taken { close(number) }
      try test.store.close()
      let text = String(decoding: folder.contents("console") ?? [], as: UTF8.self)
      require(text.split(separator: "\n").count == 2 && text.contains("second"), text)
    }
  }

  @Test("a pipe without a reader and a closed descriptor harm nobody")
  func broken() throws {
    let ends = try makePipe()
    close(ends.reading)
    for descriptor in [ends.writing, -1] {
      let test = try TestStore { $0.taps = [LogTap(Console(to: descriptor), from: .warning)] }
      for number in 0..<100 {
        test.log.error("\(number)")
        if number % 10 == 0 { try test.store.flush(.archive) }
      }
      #expect(try test.closeAndRead().messages == (0..<100).map { "\($0)" })
    }
    close(ends.writing)
  }
}

/// Both ends of a new terminal: the user's, and the one that is printed on.
private func openTerminal() -> (CInt, CInt) {
  let master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
  var (isLocked, number): (CInt, CInt) = (0, 0)
  // TIOCSPTLCK and TIOCGPTN, which are macros.
  require(master >= 0 && ioctl(master, 0x4004_5431, &isLocked) == 0)
  require(ioctl(master, 0x8004_5430, &number) == 0)
  let end = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
  require(end >= 0)
  return (master, end)
}

/// Reads a pipe to its end on a thread of its own.
private final class PipeReader: @unchecked Sendable {
  // The thread writes these, and they are read after its end.
  private var bytes: [UInt8] = []
  private var thread: MMLogSystem.Thread?

  init(_ descriptor: CInt) throws {
    thread = try Thread(name: "pipe reader") { [unowned self] in
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count <= 0 { break }
        bytes += buffer.prefix(count)
      }
      close(descriptor)
    }
  }

  func text() -> String {
    thread?.join()
    return String(decoding: bytes, as: UTF8.self)
  }
}
