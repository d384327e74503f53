import MMLog
import MMLogReader
import Testing
import WrapperLibrary

@Suite("A library that forwards messages")
struct WrapperTests {
  @Test("records are as if the caller had logged them, with its file and line")
  func forwarding() throws {
    let test = try TestStore()
    let audit = AuditLog(test.log)
    let line = #line
    for number in 0..<3 { audit.record("number \(number, name: "number")", by: "ann") }
    audit.recordAndRepeat("twice \(7) \("text")")
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(
      contents.messages
        == ["number 0", "number 1", "number 2", "before", "twice 7 text", "twice 7 text"])
    #expect(contents.records.map { $0.line } == [1, 1, 1, 2, 2, 2].map { line + $0 })
    #expect(contents.records.allSatisfy { $0.file == #fileID })
    #expect(contents.records[0].fields.map(\.name) == ["number", "user"])
  }

  @Test("nothing of a message is evaluated whose level is off")
  func levelOff() throws {
    let test = try TestStore()
    test.log.level = .error
    func never() -> Int {
      Issue.record("evaluated")
      return 0
    }
    AuditLog(test.log).record("\(never())", by: "ann")
    AuditLog(test.log).recordAndRepeat("\(never())")
    #expect(try test.closeAndRead().messages.isEmpty)
  }

  @Test("calls within calls, on many threads, in small segments: every record, in order")
  func threads() throws {
    // Room for all records: a call inside another waits for no room.
    let test = try TestStore { ($0.segmentSize, $0.ringSize) = (4 << 10, 64 << 20) }
    let audit = AuditLog(test.log)
    let count = 2000
    @Sendable func inner(_ number: Int) -> Int {
      audit.recordValue("value \(number) \(String(repeating: "x", count: number % 300))")
      return number
    }
    try onThreads(4) { _ in
      for number in 0..<count {
        audit.record("outer \(inner(number))", by: "bob")
        audit.recordAndRepeat("again \(number)")
      }
    }
    let losses = test.store.losses
    #expect(losses.isEmpty, "\(losses)")
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let expected = (0..<count).flatMap {
      [
        "before", "value \($0) \(String(repeating: "x", count: $0 % 300))", "outer \($0)",
        "before", "again \($0)", "again \($0)",
      ]
    }
    #expect(contents.messagesByThread.count == 4)
    for messages in contents.messagesByThread.values { #expect(messages == expected) }
  }
}
