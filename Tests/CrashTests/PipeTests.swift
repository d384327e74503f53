import Foundation
import Glibc
import TestSupport
import MMLogSystem
import Testing

@Suite("mmlog-pipe")
struct PipeTests {
  @Test("what mmlog-decode prints is what came in, byte for byte", arguments: Input.all)
  func roundTrip(_ name: Input) throws {
    let input = name.make()
    let pipe = PipeRun()
    try Folder.write(input, to: pipe.folder("in"))
    let ending = try pipe.start(input: pipe.folder("in"), ["--tee"]).wait()
    #expect(ending == .exited(0))
    let passedOn = isEqual(try Folder.read(pipe.folder("out")), input)
    #expect(passedOn)
    try pipe.expectDecoded(input)
  }

  @Test("what the environment says of levels and rates is for services, and costs no line")
  func ignoresTheEnvironment() throws {
    let input = logText(lines: 1000, seed: 3)
    let pipe = PipeRun()
    try Folder.write(input, to: pipe.folder("in"))
    let child = try pipe.start(
      by: ["/usr/bin/env", "MMLOG_LEVEL=*=10/1h,*=off,web=loud"], input: pipe.folder("in"))
    let ending = child.wait()
    #expect(ending == .exited(0) && child.complaints.isEmpty, "\(child.complaints)")
    try pipe.expectDecoded(input)
  }

  @Test("killed while its input stands still, it has kept the lines that it read, and no more")
  func killed() throws {
    for (seed, count) in [1, 2, 3, 1000, 30_000].enumerated() {
      let pipe = PipeRun()
      let child = try pipe.start(["--tee", "--ring-size", "1"])
      let input = logText(lines: count, seed: UInt64(seed))
      // The beginning of a line is no line.
      try pipe.feed(input + Array("beginning".utf8), child)
      child.signal(SIGKILL)
      let ending = child.wait()
      #expect(ending == .killed(SIGKILL), "\(count) lines")
      #expect(try pipe.passedOn() == input.count, "what is passed on is recorded")
      try pipe.expectDecoded(input, "\(count) lines")
      // The next start moves them to an archive.
      pipe.endInput()
      let next = try pipe.start(input: "/dev/null").wait()
      #expect(next == .exited(0))
      try pipe.expectDecoded(input, "\(count) lines, recovered")
    }
  }

  @Test("a line that it has passed on is kept, whenever it is killed")
  func killedAtAnyInstant() throws {
    var (random, rounds, kills) = (SeededGenerator(seed: 7), 0, 0)
    // On a busy machine, it has often ended before this test can kill it.
    while rounds < 20 || (kills <= 5 && rounds < 1000) {
      let input = logText(lines: 60_000, seed: UInt64(rounds))
      if try PipeRun.killAnywhere(in: input, [], &random) { kills += 1 }
      rounds += 1
    }
    #expect(kills > 5)
  }

  @Test(
    "SIGTERM and SIGINT end it in order; everything read is kept", arguments: [SIGTERM, SIGINT])
  func stopped(_ signal: CInt) throws {
    let pipe = PipeRun()
    let child = try pipe.start(["--tee"])
    let input = logText(lines: 500, seed: 8) + Array("and a beginning".utf8)
    try pipe.feed(input, child)
    child.signal(signal)
    let ending = child.wait()
    #expect(ending == .exited(0), "\(child.complaints)")
    try pipe.expectDecoded(input, "signal \(signal)")
    let rings = try Directory.open(pipe.store).names().filter { $0.hasSuffix(".ring") }
    #expect(rings.isEmpty)
  }

  @Test("a signal stays ignored that who started it ignores, as a shell does in the background")
  func ignored() throws {
    let pipe = PipeRun()
    let child = try pipe.start(
      by: ["/bin/sh", "-c", "trap '' INT TERM; exec \"$@\"", "sh"], ["--tee"])
    try pipe.feed(Array("one\n".utf8), child)
    child.signal(SIGINT)
    child.signal(SIGTERM)
    let status = try String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
    let mask = try #require(UInt64(line.dropFirst(7).drop { $0 == "\t" }, radix: 16))
    #expect(mask & (1 << (SIGINT - 1)) != 0 && mask & (1 << (SIGTERM - 1)) != 0)
    try pipe.feedAll(Array("two\n".utf8), child)
    pipe.endInput()
    let ending = child.wait()
    #expect(ending == .exited(0), "\(child.complaints)")
    try pipe.expectDecoded(Array("one\ntwo\n".utf8))
  }

  @Test("what the service had written when SIGTERM came is kept, though nobody had read it yet")
  func stoppedBehindItsInput() throws {
    let pipe = PipeRun()
    let child = try pipe.start(["--tee"])
    let (first, rest) = (logText(lines: 1, seed: 10), logText(lines: 4000, seed: 11))
    try pipe.feed(first, child)
    child.signal(SIGSTOP)
    try pipe.enlargeInput()
    try pipe.feedAll(rest, child)
    child.signal(SIGTERM)
    child.signal(SIGCONT)
    let ending = child.wait()
    #expect(ending == .exited(0), "\(child.complaints)")
    try pipe.expectDecoded(first + rest)
  }

  @Test("it goes on recording when nobody reads what it passes on, or that cannot be written")
  func brokenTee() throws {
    for output in ["/dev/full", "pipe"] {
      let pipe = PipeRun()
      let input = logText(lines: 5000, seed: 9)
      try Folder.write(input, to: pipe.folder("input"))
      let path = output == "pipe" ? pipe.folder("unread") : output
      if output == "pipe" { mkfifo(path, 0o600) }
      // Somebody who opens it and goes away.
      let reader = output == "pipe" ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1
      let child = try pipe.start(["--tee"], output: path)
      if reader >= 0 { close(reader) }
      try pipe.feedAll(input, child)
      pipe.endInput()
      let ending = child.wait()
      #expect(ending == .exited(output == "pipe" ? 0 : 1), "\(output): \(child.complaints)")
      try pipe.expectDecoded(input, "\(output)")
    }
  }

  @Test(
    "it keeps what its limits say, and everything below 1 GiB without one",
    arguments: [(limits: [], kept: 4), (["--count", "2"], 2), (["--count=0"], 4)])
  func limits(_ limits: [String], kept: Int) throws {
    let pipe = PipeRun()
    for number in 1...4 {
      try Folder.write(Array("\(number)\n".utf8), to: pipe.folder("in"))
      let ending = try pipe.start(input: pipe.folder("in"), limits).wait()
      #expect(ending == .exited(0))
    }
    let archives = try Directory.open(pipe.store).names().filter { $0.hasSuffix(".mmlog") }
    #expect(archives.count == kept)
    try pipe.expectDecoded(Array((5 - kept...4).map { "\($0)\n" }.joined().utf8))
  }

  @Test("what is wrong is said on standard error, with an exit status")
  func complaints() throws {
    let pipe = PipeRun()
    try Folder.write(Array("a file".utf8), to: pipe.folder("file"))
    let cases: [([String], CInt, String)] = [
      ([], 2, "--directory"), (["--directory", pipe.store], 2, "--name"),
      (["-d", pipe.store, "-n", "a/b"], 2, "slash"),
      (["-d", pipe.store, "-n", "a", "-l", "loud"], 2, "loud"),
      (["-d", pipe.store, "-n", "a", "--ring-size", "0"], 2, "--ring-size"),
      (["-d", pipe.store, "-n", "a", "--total-size", "much"], 2, "--total-size"),
      (["-d", pipe.folder("file"), "-n", "a"], 1, pipe.folder("file")),
      (["-d", "/proc/nowhere", "-n", "a"], 1, "/proc/nowhere"),
    ]
    for (arguments, status, text) in cases {
      let child = try ChildProcess(
        ChildProcess.path(of: "mmlog-pipe"), arguments, errors: pipe.folder("errors"))
      let ending = child.wait()
      #expect(ending == .exited(status), "\(arguments): \(child.complaints)")
      #expect(child.complaints.contains(text), "\(arguments): \(child.complaints)")
      #expect(child.complaints.hasPrefix("mmlog-pipe: "), "\(arguments): \(child.complaints)")
    }
  }

  @Test("a directory that others may write to is refused with what can be done about it here")
  func untrustedDirectory() throws {
    let pipe = PipeRun()
    mkdir(pipe.store, 0o700)
    chmod(pipe.store, 0o777)
    let child = try pipe.start(input: "/dev/null")
    let ending = child.wait()
    #expect(ending == .exited(1))
    let advice = "take that right away (chmod o-w), or make it sticky (chmod +t).\n"
    #expect(child.complaints.hasSuffix(advice), "\(child.complaints)")
  }

  @Test("an input that cannot be read is an error")
  func unreadableInput() throws {
    let pipe = PipeRun()
    let child = try pipe.start(input: "/")
    let ending = child.wait()
    #expect(ending == .exited(1))
    #expect(child.complaints.contains("standard input"), "\(child.complaints)")
    try pipe.expectDecoded([], "a directory for input")
  }
}

/// Something to pass through it.
struct Input: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable () -> [UInt8]

  init(_ name: String, _ make: @escaping @Sendable () -> [UInt8]) {
    (testDescription, self.make) = (name, make)
  }

  static let all = [
    Input("nothing") { [] },
    Input("an empty line") { [10] },
    Input("empty lines") { Array("\n\n\na\n\n".utf8) },
    Input("no final line end") { Array("one\ntwo".utf8) },
    Input("one byte") { [0] },
    Input("ends of other kinds") { Array("a\r\nb\rc\u{2028}d\0e\n".utf8) },
    Input("no UTF-8") { [255, 10, 128, 10, 192] },
    Input("text of a log") { logText(lines: 20_000, seed: 1) },
    Input("random bytes") { random(1 << 20, seed: 2) },
    Input("random bytes, many lines") { random(1 << 18, seed: 3).map { $0 < 60 ? 10 : $0 } },
    Input("a line of 16 MiB") { random(16 << 20, seed: 4, withLineEnds: false) + [10] },
    Input("a line of hardly more") {
      random((16 << 20) + 30_000, seed: 7, withLineEnds: false) + [10]
    },
    Input("a line of 20 MiB") { random(20 << 20, seed: 5, withLineEnds: false) + [10] },
    Input("33 MiB without a line end") { random(33 << 20, seed: 6, withLineEnds: false) },
  ]
}

/// Lines such as services print, and now and then an odd one.
private func logText(lines: Int, seed: UInt64) -> [UInt8] {
  var random = SeededGenerator(seed: seed)
  var bytes: [UInt8] = []
  for line in 0..<lines {
    switch random.next() % 16 {
    case 0: break
    case 1: bytes += Array(repeating: UInt8(ascii: "="), count: Int(random.next() % 3000))
    case 2: bytes += Array("\tat Orders.swift:\(line) 「注文」\u{1b}[0m".utf8)
    default:
      bytes += Array(
        "2025-11-21T09:00:00 INFO order \(line) accepted in \(random.next() % 1000) ms".utf8)
    }
    bytes.append(10)
  }
  return bytes
}

/// Random bytes; without line ends, those above 127.
private func random(_ count: Int, seed: UInt64, withLineEnds: Bool = true) -> [UInt8] {
  var random = SeededGenerator(seed: seed)
  let high: UInt64 = withLineEnds ? 0 : 0x8080_8080_8080_8080
  var bytes = [UInt8](repeating: 0, count: (count + 7) & ~7)
  bytes.withUnsafeMutableBytes { bytes in
    for offset in stride(from: 0, to: bytes.count, by: 8) {
      bytes.storeBytes(of: random.next() | high, toByteOffset: offset, as: UInt64.self)
    }
  }
  return Array(bytes.prefix(count))
}
