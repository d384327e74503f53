import Glibc
import MMLogSystem
import TestSupport
import Testing

@testable import CommandLineTool

/// A pipe that closes its ends when it is destroyed. It holds 64 KiB before a write waits.
private struct Pipe: ~Copyable {
  let reading: CInt
  let writing: CInt

  init() throws { (reading, writing) = try makePipe() }

  func output() throws -> StandardOutput {
    StandardOutput(to: try File.duplicate(writing, path: "pipe"))
  }

  /// All bytes that were written so far.
  func contents() -> [UInt8] {
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    var bytes = [UInt8](repeating: 0, count: 128 * 1024)
    let count = read(reading, &bytes, bytes.count)
    return Array(bytes.prefix(max(count, 0)))
  }

  deinit {
    close(reading)
    close(writing)
  }
}

@Suite struct StandardOutputTests {
  @Test("nothing is written before a flush") func nothingIsWrittenBeforeAFlush() throws {
    let pipe = try Pipe()
    let output = try pipe.output()
    try output.append("größe ")
    let bytes: [UInt8] = [0, 0xff, 10]
    try output.append(bytes.span.bytes)
    #expect(pipe.contents() == [])
    try output.flush()
    #expect(pipe.contents() == Array("größe ".utf8) + bytes)
    try output.flush()
    #expect(pipe.contents() == [])
  }

  @Test("a full buffer is written before more is added")
  func aFullBufferIsWrittenBeforeMoreIsAdded() throws {
    let pipe = try Pipe()
    let output = try pipe.output()
    let full = String(repeating: "x", count: StandardOutput.capacity)
    try output.append(full)
    #expect(pipe.contents() == [])
    try output.append("y")
    #expect(pipe.contents() == Array(full.utf8))
    try output.flush()
    #expect(pipe.contents() == Array("y".utf8))
  }

  @Test("what is larger than the buffer keeps its place")
  func whatIsLargerThanTheBufferKeepsItsPlace() throws {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let path = "\(folder)/mmlog-output-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    defer { unlink(path) }
    let output = StandardOutput(to: try File.open(path, [.write, .create, .exclusive]))
    let large = [UInt8](repeating: 7, count: StandardOutput.capacity + 1)
    try output.append("a")
    try output.append(large.span.bytes)
    try output.append("b")
    try output.flush()
    var bytes = [UInt8](repeating: 0, count: large.count + 100)
    let count = try bytes.withUnsafeMutableBytes { buffer in
      try File.open(path, .read).readFully(into: buffer, at: 0)
    }
    #expect(Array(bytes.prefix(count)) == Array("a".utf8) + large + Array("b".utf8))
  }

  @Test("an error is thrown once and drops the buffer")
  func anErrorIsThrownOnceAndDropsTheBuffer() throws {
    let output = StandardOutput(to: try File.open("/dev/full", .write))
    try output.append("x")
    let error = #expect(throws: SystemError.self) { try output.flush() }
    #expect(error?.errno == ENOSPC)
    #expect(output.hasReader)
    try output.flush()
  }

  @Test("a pause ends where nobody reads any more") func aPauseEndsWhereNobodyReads() throws {
    let ends = try makePipe()
    defer { close(ends.writing) }
    let output = StandardOutput(to: try File.duplicate(ends.writing, path: "pipe"))
    try output.pause(milliseconds: 1)
    #expect(output.hasReader)
    close(ends.reading)
    try output.pause(milliseconds: -1)
    #expect(!output.hasReader)
  }
}
