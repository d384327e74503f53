import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem
import Testing
import TestSupport

/// A literal that another thread logs, although the compiler would not allow it.
private final class Parcel: @unchecked Sendable {
  let literal: LogLiteral
  init(_ literal: LogLiteral) { self.literal = literal }
}

/// Something whose description evaluates a literal that no call asks for.
private struct Describer: CustomStringConvertible {
  var description: String {
    let literal: LogLiteral = "while describing \(1)"
    return withExtendedLifetime(literal) { "described" }
  }
}

extension LogInterpolation {
  /// A program's own interpolation, which adds any number of arguments for one.
  fileprivate mutating func appendInterpolation(list numbers: [Int]) {
    for number in numbers {
      appendInterpolation(number)
      appendLiteral(" ")
    }
  }

  fileprivate mutating func appendInterpolation(list texts: [String?]) {
    for text in texts {
      appendInterpolation(text)
      appendLiteral(" ")
    }
  }
}

@Suite("Literals that are evaluated before their log call, or beside it")
struct LiteralTests {
  /// The mistake that wrappers make: the literal is evaluated before the function begins.
  @discardableResult
  private func audit(_ literal: LogLiteral, _ log: Logger) -> Int {
    log.info("first")
    log.notice(literal)
    log.info("last")
    return 7
  }

  private func forward(
    _ message: @autoclosure () -> LogLiteral, _ log: Logger, times: Int = 1
  ) {
    for _ in 0..<times { log.info(message()) }
  }

  private func evaluateTwice(_ message: () -> LogLiteral) -> LogLiteral {
    _ = message()
    return message()
  }

  /// Reads everything back, and expects exactly these messages.
  private func expect(
    _ messages: [String], _ test: TestStore, _ location: Testing.SourceLocation = #_sourceLocation
  ) throws {
    let losses = test.store.losses
    #expect(losses.isEmpty, "\(losses)", sourceLocation: location)
    let contents = try test.closeAndRead()
    #expect(contents.messages == messages, sourceLocation: location)
    #expect(contents.isClean, "\(contents.corruption)", sourceLocation: location)
  }

  @Test("a function's parameter is logged after what the function logs first")
  func parameter() throws {
    let test = try TestStore()
    test.log.info("before")
    for number in 0..<3 { audit("number \(number) \("text")", test.log) }
    try expect(["before"] + (0..<3).flatMap { ["first", "number \($0) text", "last"] }, test)
  }

  @Test("the same inside the message of another log call")
  func nested() throws {
    let test = try TestStore()
    for number in 0..<3 {
      test.log.info("outer \(number) \(audit("inner \(number)", test.log)) \("end")")
    }
    try expect(
      (0..<3).flatMap { ["first", "inner \($0)", "last", "outer \($0) 7 end"] }, test)
  }

  @Test("the same on a thread that has never logged, and on one that goes to another store")
  func freshThreads() throws {
    let (one, two) = (try TestStore(), try TestStore())
    try onThreads(1) { _ in
      audit("one \(1)", one.log)
      audit("two \(2)", two.log)
    }
    try expect(["first", "one 1", "last"], one)
    try expect(["first", "two 2", "last"], two)
  }

  @Test("a variable's literal can be logged any number of times, by any thread")
  func variable() throws {
    let test = try TestStore { $0.makeTiny() }
    let literal: LogLiteral = "kept \(1) \("text") \(2.5, format: .fixed(1)) \(nil as Int?)"
    for _ in 0..<500 {
      test.log.info("between")
      test.log.info(literal, metadata: ["key": 3])
    }
    let parcel = Parcel(literal)
    let log = test.log
    try onThreads(1) { _ in log.info(parcel.literal) }
    let kept = "kept 1 text 2.5 nil"
    try expect(Array(repeating: ["between", kept], count: 500).joined() + [kept], test)
  }

  @Test("a literal that nobody logs disturbs nothing")
  func thrownAway() throws {
    let test = try TestStore()
    test.log.info("before")
    let literal: LogLiteral = "never \(1)"
    test.log.info("after")
    withExtendedLifetime(literal) {}
    test.log.level = .error
    audit("off \(1)", test.log)
    try expect(["before", "after"], test)
  }

  @Test("a function that returns a literal, and may log itself")
  func returned() throws {
    let test = try TestStore()
    func make(_ number: Int) -> LogLiteral {
      test.log.debug("making \(number)")
      return "made \(number)"
    }
    func makeAndAudit(_ number: Int) -> LogLiteral {
      audit("audited \(number)", test.log)
      return "made \(number)"
    }
    test.log.info(make(1))
    test.log.info(makeAndAudit(2))
    let later = make(3)
    test.log.info(later)
    try expect(
      ["making 1", "made 1", "first", "audited 2", "last", "made 2", "making 3", "made 3"], test)
  }

  @Test("of two literals that a message evaluates, the one is logged that it gives")
  func several() throws {
    let test = try TestStore()
    let stored: LogLiteral = "stored \(1)"
    let long = String(repeating: "x", count: 300)
    test.log.info(evaluateTwice { "twice \(long)" })
    test.log.info("a")
    test.log.info(
      { () -> LogLiteral in
        let first: LogLiteral = "abandoned \(long) \(long)"
        withExtendedLifetime(first) {}
        return stored
      }())
    test.log.info("b")
    test.log.info(
      { () -> LogLiteral in
        let first: LogLiteral = "first \(1)"
        withExtendedLifetime("second \(2)" as LogLiteral) {}
        return first
      }())
    try expect(["twice \(long)", "a", "stored 1", "b", "first 1"], test)
  }

  @Test("wrappers that forward an autoclosure: plain, repeated, rate limited and in spans")
  func forwarded() throws {
    let test = try TestStore()
    func inSpan(_ message: @autoclosure () -> LogLiteral) {
      let span = test.log.begin(message())
      span.end(message())
      test.log.every(2)?.info(message())
    }
    var number = 0
    func next() -> Int {
      number += 1
      return number
    }
    forward("forwarded \(next())", test.log, times: 3)
    inSpan("span \(next())")
    try expect(["forwarded 1", "forwarded 2", "forwarded 3", "span 4", "span 5", "span 6"], test)
  }

  @Test("spans whose messages were evaluated before")
  func spans() throws {
    let test = try TestStore()
    let (begin, end): (LogLiteral, LogLiteral) = ("begin \(1)", "end \(2)")
    let span = test.log.begin(begin)
    test.log.info("within")
    span.end(end)
    try expect(["begin 1", "within", "end 2"], test)
  }

  @Test("long texts and many arguments keep their values outside a call, too")
  func large() throws {
    let test = try TestStore()
    let text = String(repeating: "0123456789", count: 10_000)
    let long: LogLiteral = "long \(text) \(1)"
    let many: LogLiteral =
      "\(1)a\(2)a\(3)a\(4)a\(5)a\(6)a\(7)a\(8)a\(9)a\(10)a\(11)a\(12)a\(13)a\(14)"
    for literal in [long, many, long, many] { test.log.info(literal) }
    let numbers = (1...14).map { "\($0)" }.joined(separator: "a")
    try expect(["long \(text) 1", numbers, "long \(text) 1", numbers], test)
  }

  @Test("private values of a literal that no call asked for are in no file")
  func privacy() throws {
    let test = try TestStore { $0.autoPrivacy = .public }
    let literal: LogLiteral =
      "\("secret", privacy: .private) \("which store?", privacy: .auto) \("open")"
    test.log.info(literal)
    try expect(["<private> <private> open"], test)
  }

  @Test("a closed store counts them, and so does one that was never opened")
  func closed() throws {
    let test = try TestStore()
    let literal: LogLiteral = "late \(1)"
    try test.store.close()
    test.log.info(literal)
    #expect(test.store.losses[.noRing, .info] == 1)
  }

  @Test("a literal that outlives the call in which it was evaluated is a loss, and counted")
  func outlived() throws {
    let test = try TestStore()
    var kept: LogLiteral?
    func keep(_ literal: LogLiteral) -> LogLiteral {
      kept = literal
      return literal
    }
    test.log.info(keep("kept \(1)"))
    test.log.info("between")
    let literal = try #require(kept)
    test.log.error(literal)
    test.log.info("after")
    #expect(test.store.losses[.corrupted, .error] == 1)
    let contents = try test.closeAndRead()
    #expect(contents.messages == ["kept 1", "between", "after"])
    #expect(contents.isWhole)
  }

  /// Lets `body` log a literal that has outlived its call on many threads: a loss on each. Some of
  /// the threads have no segment and build all their records in the same memory.
  ///
  /// - Parameter records: How many other calls each thread makes.
  private func outliveOnThreads(
    _ records: Int, _ body: @escaping @Sendable (Logger, LogLiteral, Int) -> Void
  ) throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.fullRing = .wait(upTo: .seconds(60))
    }
    let log = test.log
    let barrier = Barrier(80)
    try onThreads(80) { thread in
      var kept: LogLiteral?
      func keep(_ literal: LogLiteral) -> LogLiteral {
        kept = literal
        return literal
      }
      // After this, each thread that can have a segment has one.
      log.info("first")
      barrier.wait()
      log.info(keep("kept \(thread)"))
      if let kept { body(log, kept, thread) }
    }
    #expect(test.store.losses[.corrupted, .error] == 80)
    let contents = try test.closeAndRead()
    #expect(contents.records.count == 80 * records)
    #expect(contents.isWhole)
  }

  @Test("the same of a thread without a segment of its own, which builds all in the same memory")
  func outlivedInScratchMemory() throws {
    try outliveOnThreads(2) { log, literal, _ in log.error(literal) }
  }

  @Test("within a message in scratch memory, one that outlived its call is a loss, too")
  func outlivedWithinScratchMemory() throws {
    try outliveOnThreads(3) { log, literal, thread in
      func inner() -> Int {
        log.error(literal)
        return thread
      }
      log.info("outer \(inner())")
    }
  }

  @Test("one that is evaluated within a call's metadata leaves the metadata alone")
  func withinMetadata() throws {
    let test = try TestStore()
    let metadata: Logger.Metadata = ["a": .stringConvertible(Describer()), "b": 1]
    test.log.info("plain", metadata: metadata)
    test.log.with(["bound": 2]).info("bound", metadata: metadata)
    test.log.begin("span", metadata: metadata).end("end \(2)", metadata: metadata)
    let contents = try test.closeAndRead()
    #expect(contents.messages == ["plain", "bound", "span", "end 2"])
    #expect(contents.isClean)
    for record in contents.records {
      #expect(record.fields.map(\.name).filter { $0 != "bound" } == ["a", "b"], "\(record)")
    }
  }

  @Test("one that is evaluated behind a value that is cut leaves the record known as cut")
  func behindCutValue() throws {
    let test = try TestStore { $0.ringSize = 64 << 20 }
    let long = [UInt8](repeating: 7, count: 16 << 20 + 1)
    #expect(!test.log.append(level: .info, "\(long) \(Describer())"))
    test.log.info("\(long) \(Describer())")
    #expect(test.store.losses[.tooLarge, .info] == 1 && test.store.losses[.cut, .info] == 1)
    #expect(try test.closeAndRead().records.map(\.isCut) == [true])
  }

  @Test("names and formats of many arguments are kept, in a call and outside of one")
  func manyNames() throws {
    let test = try TestStore()
    let outside: LogLiteral =
      "a\(1, name: "n1", format: .hex)b\(2, name: "n2", format: .hex)c\(3, name: "n3", format: .hex)d\(4, name: "n4", format: .hex)e\(5, name: "n5", format: .hex)f\(6, name: "n6", format: .hex)g\(7, name: "n7", format: .hex)h\(8, name: "n8", format: .hex)i\(9, name: "n9", format: .hex)j\(10, name: "n10", format: .hex)k\(11, name: "n11", format: .hex)l\(12, name: "n12", format: .hex)m\(13, name: "n13", format: .hex)n\(14, name: "n14", format: .hex)o"
    test.log.info(outside)
    test.log.info(
      "a\(1, name: "n1", format: .hex)b\(2, name: "n2", format: .hex)c\(3, name: "n3", format: .hex)d\(4, name: "n4", format: .hex)e\(5, name: "n5", format: .hex)f\(6, name: "n6", format: .hex)g\(7, name: "n7", format: .hex)h\(8, name: "n8", format: .hex)i\(9, name: "n9", format: .hex)j\(10, name: "n10", format: .hex)k\(11, name: "n11", format: .hex)l\(12, name: "n12", format: .hex)m\(13, name: "n13", format: .hex)n\(14, name: "n14", format: .hex)o"
    )
    let contents = try test.closeAndRead()
    let text = "a1b2c3d4e5f6g7h8i9jakblcmdneo"
    #expect(contents.messages == [text, text])
    for record in contents.records {
      #expect(record.fields.map(\.name) == (1...14).map { "n\($0)" })
      #expect(record.fields.map(\.value) == (1...14).map { .int($0) })
    }
  }

  @Test("a message with more arguments than a call site may have is a loss, and counted")
  func tooManyArguments() throws {
    func message(_ count: Int) -> LogMessage {
      var message = LogMessage.StringInterpolation(
        literalCapacity: 0, interpolationCount: count)
      for _ in 0..<count { message.appendInterpolation(7) }
      return LogMessage(stringInterpolation: message)
    }
    let test = try TestStore()
    test.log.info(message(CallSite.maximumParts))
    test.log.info(message(CallSite.maximumParts + 1))
    test.log.info("after")
    #expect(test.store.losses[.tooLarge, .info] == 1)
    let contents = try test.closeAndRead()
    #expect(
      contents.messages == [String(repeating: "7", count: CallSite.maximumParts), "after"])
    #expect(contents.isWhole)
  }

  #if DEBUG
    @Test("a statement with more arguments than there is memory for is a loss, and counted")
    func manyArgumentsWithoutMemory() async {
      await #expect(processExitsWith: .success) {
        // The ring's records are too small for it, so that it needs memory.
        let test = try TestStore { $0.makeTiny() }
        let log = test.log
        log.info("before")
        ForcedFault.force(.mmap, errno: ENOMEM, times: .max, under: "")
        logTwoHundred(log)
        ForcedFault.clear(under: "")
        logTwoHundred(log)
        require(test.store.losses[.tooLarge, .info] == 1, "\(test.store.losses)")
        let contents = try test.closeAndRead()
        let digits = (0..<200).map { "\($0 % 10)" }.joined()
        require(contents.messages == ["before", digits], "\(contents.messages)")
        require(contents.isWhole, "\(contents.corruption)")
      }
    }
  #endif

  @Test("an interpolation that a program has added may add more arguments than it is one")
  func manyForOne() throws {
    let test = try TestStore { $0.makeTiny() }
    var messages: [String] = []
    for start in 0..<500 {
      // Records begin at any distance from the end of their segment.
      let numbers = Array(start..<start + start % 120)
      let texts = numbers.map { $0 % 3 == 0 ? nil : String(repeating: "x", count: $0 % 16) }
      test.log.info("\(list: numbers)\(start)\("text")")
      test.log.info("\(list: texts)\(start)\("text")")
      let literal: LogLiteral = "\(list: numbers)\(list: texts)\(start)"
      test.log.info(literal)
      let first = numbers.map { "\($0) " }.joined()
      let second = texts.map { "\($0 ?? "nil") " }.joined()
      messages += ["\(first)\(start)text", "\(second)\(start)text", "\(first)\(second)\(start)"]
    }
    try expect(messages, test)
  }

  @Test(
    "literals with many arguments, logged or not, leave no memory behind",
    .disabled(if: isSanitized, "A sanitizer keeps memory that is freed."))
  func memory() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore()
      let log = test.log
      func logMany(_ n: Int) {
        log.info("\(n)a\(2)a\(3)a\(4)a\(5)a\(6)a\(7)a\(8)a\(9)a\(10)a\(11)a\(12)a\(13)a\(14)")
        let literal: LogLiteral = "thrown \(n)"
        withExtendedLifetime(literal) {}
      }
      func residentPages() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(
          separator: " ")
        return Int(fields[1]) ?? 0
      }
      for number in 0..<20_000 { logMany(number) }
      let before = try residentPages()
      for number in 0..<100_000 { logMany(number) }
      let growth = try residentPages() - before
      require(growth < 1000, "\(growth) pages more")
    }
  }
}

private func logTwoHundred(_ log: Logger) {
  // swift-format-ignore
  log.info("\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)\(0)\(1)\(2)\(3)\(4)\(5)\(6)\(7)\(8)\(9)")
}
