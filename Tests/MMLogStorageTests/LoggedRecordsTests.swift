import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// What a real store wrote, read by ``LogReader`` and by the independent reader in Python.
@Suite struct LoggedRecordsTests {
  private let folder = TemporaryDirectory()

  /// Small, so that segments, the dictionary and archives fill up and end.
  private func openStore(
    _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogStore {
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    (configuration.segmentSize, configuration.dictionarySize) = (4096, 4096)
    (configuration.rotation.size, configuration.level) = (16 << 10, .trace)
    change(&configuration)
    return try LogStore(directory: folder("log"), name: "test", configuration: configuration)
  }

  private struct Point: CustomStringConvertible {
    var description: String { "(1, 2)" }
  }

  private struct Failure: Error {}

  /// - Returns: The messages, in order.
  private func logValues(_ log: Logger) -> [String] {
    let (none, some, long): (Int?, String?, Int128?) = (nil, "some", -7)
    log.trace("plain")
    log.debug(
      "\(-5, name: "i") \(UInt8(200), name: "u") \(UInt64.max) \(Int8(-1), format: .hex(includePrefix: true, uppercase: true))"
    )
    log.info(
      "\(0.1, name: "d") \(Float(0.1)) \(1e300) \(2.5, format: .fixed(2)) \(1234.5, format: .exponential(precision: 1))"
    )
    log.notice(
      "\(true) \(false, align: .right(columns: 7))| \("é😀", name: "s", align: .left(columns: 4))|")
    log.warning(
      "\("abcdef".dropFirst(2)) \(StaticString("static")) \([UInt8]([104, 105]), name: "b")")
    log.error(
      "\(Int128.min) \(UInt128.max) \(UInt16(5), format: .binary(minDigits: 8)) \(8, format: .octal(includePrefix: true))"
    )
    log.critical("\(none) \(some) \(long, name: "long") \(Double?.none) \(Bool?(true))")
    log.info(
      "\("secret", privacy: .private) \(17, name: "p", privacy: .private) \(Point()) \(Failure())")
    return [
      "plain", "-5 200 18446744073709551615 0xFF", "0.1 0.1 1e+300 2.50 1.2e+03",
      "true   false| é😀  |", "cdef static hi",
      "-170141183460469231731687303715884105728 340282366920938463463374607431768211455 00000101 0o10",
      "nil some -7 nil true", "<private> <private> (1, 2) Failure()",
    ]
  }

  private func logMetadata(_ log: Logger) -> [String] {
    log.info(
      "metadata \(1, name: "twice")",
      metadata: [
        "twice": 2, "venue": "XETR", "ratio": 0.5, "ok": true, "list": [1, "two", [3]],
        "map": ["a": ["b": "c"], "a": 1], "point": .stringConvertible(Point()), "": "",
      ])
    let message: LogMessage = "kept \(4, name: "n") \("on the heap")"
    log.notice(message)
    let long = String(repeating: "0123456789abcdef\n", count: 5000)
    log.info("long \(long)", metadata: ["after": "the long one"])
    log.info("\(long.prefix(9000))")
    return ["metadata 1", "kept 4 on the heap", "long " + long, String(long.prefix(9000))]
  }

  private func logHashes(_ log: Logger) {
    for value in ["a", "b", "a"] { log.info("\(value, name: "hash", privacy: .hash)") }
  }

  @Test("everything that was logged is read alike by both readers")
  func everythingThatWasLoggedIsReadAlikeByBothReaders() throws {
    let store = try openStore()
    let log = store.logger(label: "tests.main")
    let expected = logValues(log) + logMetadata(log)
    logHashes(log)
    try store.close()
    let result = readHere([folder("log")])
    #expect(result.records.dropLast(3).map(\.message) == expected)
    let hashes = result.records.suffix(3).map(\.message)
    #expect(hashes[0] == hashes[2] && hashes[0] != hashes[1] && hashes[0].hasPrefix("<hash:"))
    #expect(Set(result.records.map(\.label)) == ["tests.main"])
    let difference = try readInPython([folder("log")]).difference(from: result)
    #expect(difference == nil)
  }

  @Test("threads keep their order in both readers")
  func threadsKeepTheirOrderInBothReaders() throws {
    let store = try openStore()
    let threads = 4
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      let log = store.logger(label: "thread.\(thread)")
      for index in 0..<200 {
        log.info("\(index) of \(thread)")
        if index % 50 == 0 { log.info("\(String(repeating: "x", count: 5000))") }
      }
    }
    try store.close()
    let result = readHere([folder("log")])
    #expect(result.records.count == threads * 204)
    for thread in 0..<threads {
      let messages = result.records.filter {
        $0.label == "thread.\(thread)" && $0.message.count < 99
      }
      #expect(messages.map(\.message) == (0..<200).map { "\($0) of \(thread)" }, "thread \(thread)")
    }
    let difference = try readInPython([folder("log")]).difference(from: result)
    #expect(difference == nil)
  }

  @Test("spans are read alike by both readers") func spansAreReadAlikeByBothReaders() throws {
    let store = try openStore()
    let log = store.logger(label: "tests.spans")
    let outer = log.begin("outer \(1)", metadata: ["k": "v"])
    for index in 0..<300 {
      let long = index % 100 == 0 ? String(repeating: "long ", count: 2000) : "short"
      log.begin("\(index) \(long)", in: outer).end("\(index)", metadata: ["n": .int(Int64(index))])
    }
    outer.end()
    outer.end("again")
    try store.close()
    let result = readHere([folder("log")])
    #expect(result.records.count == 603 && result.records.allSatisfy { $0.span != nil })
    let difference = try readInPython([folder("log")]).difference(from: result)
    #expect(difference == nil)
  }

  @Test("what is captured and erased by span is read alike by both readers, in rings and archives")
  func spanCaptureIsReadAlikeByBothReaders() throws {
    let store = try openStore {
      $0.archiveLevel = .info
      $0.captureLevel = nil
      $0.spanCapture = SpanCapture()
    }
    let log = store.logger(label: "tests.spans")
    let (open, quick) = (log.begin("open"), log.begin("quick"))
    for index in 0..<40 {
      let span = log.begin("\(index)")
      for (name, span) in [("open", open), ("quick", quick), ("number \(index)", span)] {
        log.with(span: span).debug("of \(name, privacy: .public)")
      }
      span.end(failed: index % 4 == 1, captures: index % 4 == 2)
    }
    quick.end()
    try store.flush(.archive)
    let erased = try copyOfOpenStore()
    let flight = readHere([erased.path]).records.map(\.message).filter { $0.hasPrefix("of ") }
    let captured = (0..<40).filter { [1, 2].contains($0 % 4) }.map { "of number \($0)" }
    #expect(flight.filter { $0 != "of open" } == captured)
    #expect(flight.count == captured.count + 40)
    open.end(captures: true)
    try store.close()
    for folder in [erased.path, folder("log")] {
      let difference = try readInPython([folder]).difference(from: readHere([folder]))
      #expect(difference == nil)
    }
  }

  /// Rings before archives, as FORMAT.md, 5 asks for.
  private func copyOfOpenStore() throws -> TemporaryDirectory {
    let copy = TemporaryDirectory()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder("log"))
    for name in names.filter({ $0.hasSuffix(".ring") }) + names.filter({ $0.hasSuffix(".mmlog") }) {
      try FileManager.default.copyItem(atPath: folder("log/\(name)"), toPath: copy(name))
    }
    return copy
  }

  @Test("a copy taken while the store is open is read alike")
  func aCopyTakenWhileTheStoreIsOpenIsReadAlike() throws {
    let store = try openStore()
    let log = store.logger(label: "tests.main")
    var expected = logValues(log)
    try store.flush(.archive)
    expected += logMetadata(log)
    let copy = try copyOfOpenStore()
    try store.close()
    let result = readHere([copy.path])
    #expect(result.records.map(\.message) == expected)
    let difference = try readInPython([copy.path]).difference(from: result)
    #expect(difference == nil)
  }
}
