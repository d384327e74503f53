import TestSupport
import Glibc
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import Testing

/// A process that no signal ends by its default action.
@Suite("The first process of a container")
struct ContainerTests {
  @Test(
    "a signal that it outlives is not its end, and is noted again the next time",
    .enabled(if: getuid() == 0, "unshare(1) makes a process of number 1 for root only"),
    .disabled(if: hasThreadSanitizer, "no signal is handled under it"))
  func outlived() throws {
    let pipe = PipeRun()
    let child = try pipe.start(
      by: ["unshare", "--pid", "--fork", "--kill-child"], ["--tee"])
    var input = Array("a line\n".utf8)
    try pipe.feed(input, child)
    let first = try #require(Self.child(of: child.id))
    for _ in 0..<2 {
      try child.wait {
        if try mark(pipe)?.how == .terminated { return true }
        // mmlog-pipe handles SIGTERM and SIGINT itself, and this not. It takes the mark away within
        // a second, perhaps before anybody has seen it.
        kill(first, SIGHUP)
        return false
      }
      let noted = try mark(pipe)
      #expect(noted == nil || noted?.signal == SIGHUP)
      try child.wait { try mark(pipe) == nil }
    }
    let more = Array("another\n".utf8)
    try pipe.feedAll(more, child)
    input += more
    try child.wait { try pipe.passedOn() == input.count }
    kill(first, SIGKILL)
    child.wait()
    try pipe.expectDecoded(input)
    let overview = LogFiles([.path(pipe.store)]).overview()
    #expect(overview.map(\.ending.how) == [.killed])
  }

  @Test(
    "a SIGBUS that it outlives does not end the containment of faults",
    .enabled(if: getuid() == 0, "unshare(1) makes a process of number 1 for root only"),
    .disabled(if: hasThreadSanitizer, "no signal is handled under it"))
  func outlivedFault() throws {
    let pipe = PipeRun()
    let child = try pipe.start(by: ["unshare", "--pid", "--fork", "--kill-child"], ["--tee"])
    let input = Array("a line\n".utf8)
    try pipe.feed(input, child)
    let first = try #require(Self.child(of: child.id))
    for _ in 0..<2 {
      try child.wait { Self.handlesFaults(first) }
      try child.wait {
        if !Self.handlesFaults(first) { return true }
        // It handles faults again within a second, perhaps before anybody has seen this.
        kill(first, SIGBUS)
        return false
      }
    }
    try child.wait { Self.handlesFaults(first) }
    kill(first, SIGKILL)
    child.wait()
    try pipe.expectDecoded(input)
  }

  /// Whether a process has a handler for SIGBUS.
  private static func handlesFaults(_ process: pid_t) -> Bool {
    guard let file = fopen("/proc/\(process)/status", "r") else { return false }
    defer { fclose(file) }
    var text = [UInt8](repeating: 0, count: 4096)
    let count = fread(&text, 1, text.count, file)
    let lines = String(decoding: text.prefix(count), as: UTF8.self).split(separator: "\n")
    let mask = lines.first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t").last
    return UInt64(mask ?? "", radix: 16).map { $0 >> UInt64(SIGBUS - 1) & 1 == 1 } ?? false
  }

  /// The process that another one has started.
  private static func child(of process: pid_t) -> pid_t? {
    // It has no size: it is made while it is read.
    guard let file = fopen("/proc/\(process)/task/\(process)/children", "r") else { return nil }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 64)
    let count = fread(&line, 1, line.count, file)
    return pid_t(String(decoding: line.prefix(count).prefix { $0 != 32 }, as: UTF8.self))
  }

  /// What stands in the ring of how its process ended.
  private func mark(_ pipe: PipeRun) throws -> SessionEnd? {
    let name = try Folder.names(pipe.store).first { $0.hasSuffix(".ring") }
    let ring = try Folder.read("\(pipe.store)/\(try #require(name))")
    return ring.withUnsafeBytes {
      SessionEnd($0.slice(RingLayout.ending, SessionEndLayout.size))
    }
  }
}
