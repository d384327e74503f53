import MMLogFormat
import Testing

@testable import MMLogReader

/// Values that are stacks, and values that only look like stacks.
@Suite struct LoggedStackTests {
  private func text(_ text: String) -> Value { .string(Array(text.utf8)) }

  private func stack(_ frames: [String], _ builds: [(key: String, value: Value)] = []) -> Value {
    .dictionary([("frames", .array(frames.map(text))), ("builds", .dictionary(builds))])
  }

  @Test("a stack whose programs are gone has places in their files")
  func aStackWithoutPrograms() throws {
    let value = stack(
      ["/no/such/a+b+0x1e10", "0x2a", "/no/such/a+b+0x0"], [("/no/such/a+b", text("00ff"))])
    #expect(
      try #require(LoggedStack(value)).lines == [
        "   0  /no/such/a+b + 0x1e10", "   1  0x2a", "   2  /no/such/a+b + 0x0",
      ])
    #expect(LoggedStack(stack([]))?.lines == [])
  }

  @Test("a value that only looks like a stack is none") func noStacks() {
    let values: [Value] = [
      .int(1), .array([]), .dictionary([]), stack(["here"]), stack(["/a+0x"]), stack(["/a+0xg"]),
      stack(Array(repeating: "/a+0x1", count: 129)),
      stack([], (0..<17).map { ("/\($0)", text("00")) }),
      .dictionary([("frames", .array([.int(1)])), ("builds", .dictionary([]))]),
      .dictionary([("frames", text("/a+0x1")), ("builds", .dictionary([]))]),
      .dictionary([("builds", .dictionary([])), ("frames", .array([]))]),
    ]
    for value in values { #expect(LoggedStack(value) == nil, "\(value)") }
  }

  @Test("build ids that are none, and files that are no programs, disturb nobody")
  func wrongBuilds() throws {
    for id in ["", "0", "zz", "00"] {
      for path in ["/etc/passwd", "/dev/zero", "/", ""] {
        let value = stack(["\(path)+0x10"], [(path, text(id)), (path, .int(3))])
        #expect(
          try #require(LoggedStack(value)).lines == [
            "   0  \(path.isEmpty ? "" : "\(path) + ")0x10"
          ])
      }
    }
  }
}
