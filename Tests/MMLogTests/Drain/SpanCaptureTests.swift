import Foundation
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@testable import MMLog

/// Flight records of spans: captured when the span ends badly, erased when it ends well.
@Suite("Flight records of spans")
struct SpanCaptureTests {
  private func recorder(
    _ capture: SpanCapture? = SpanCapture(),
    _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> TestStore {
    try TestStore {
      $0.archiveLevel = .info
      $0.captureLevel = nil
      $0.spanCapture = capture
      change(&$0)
    }
  }

  /// Whether a text stands in a ring of a folder.
  private func isInRing(_ text: String, _ folder: TemporaryDirectory) throws -> Bool {
    try folder.names(ending: ".ring").contains {
      Data(try folder.bytes($0)).range(of: Data(text.utf8)) != nil
    }
  }

  private func recovered(_ dead: TemporaryDirectory) throws -> Contents {
    _ = try LogRecovery.recover(dead.path) { Issue.record("\($0)") }
    let contents = Contents(dead.path)
    let isWhole = contents.isWhole
    #expect(isWhole)
    return contents
  }

  /// Blocks, even in an asynchronous test.
  private func flush(_ test: TestStore) throws { try test.store.flush(.archive) }

  private func flight(_ contents: Contents) -> [String] {
    contents.records.filter(\.isFlight).map(\.message)
  }

  @Test(
    "of spans that have ended, the flight records of those that failed are archived, and no others")
  func failedSpan() async throws {
    let test = try recorder()
    var events = test.store.events.makeAsyncIterator()
    let (good, bad, open) = (test.log.begin("good"), test.log.begin("bad"), test.log.begin("open"))
    for number in 0..<3 {
      // Not as a literal, which would be in the dictionary.
      test.log.with(span: good)
        .debug("of the \("good", privacy: .public) one \(number), \("4711-4711", privacy: .public)")
      test.log.with(span: bad).debug("of the bad one \(number)")
      test.log.with(span: open).debug("of the open one \(number)")
      test.log.debug("of none \(number)")
    }
    good.end()
    bad.end(failed: true)
    try flush(test)
    while let event = await events.next() {
      guard case .captured(let count, let reason) = event else { continue }
      #expect("\(count) \(reason)" == "3 spans")
      break
    }
    #expect(try !isInRing("4711-4711", test.folder))
    let counts = test.store.flightCounts
    #expect(counts.captured == 3 && counts.forgotten == 3)
    let left = ["bad", "open", "none"]
    let expected = (0..<3).flatMap { number in
      left.map { $0 == "none" ? "of none \(number)" : "of the \($0) one \(number)" }
    }
    let dead = try test.copy()
    #expect(flight(Contents(test.folder.path)) == expected)
    #expect(flight(Contents(dead.path)) == expected)
    #expect(flight(try recovered(dead)) == expected)
    let contents = try test.closeAndRead()
    let isClean = contents.isClean
    #expect(isClean)
    #expect(flight(contents) == (0..<3).map { "of the bad one \($0)" })
  }

  @Test(
    "a span that takes longer than its limit, or asks for it, is captured though it did not fail")
  func slowSpan() throws {
    let test = try recorder(SpanCapture(slowerThan: .milliseconds(20)))
    let (slow, quick, asking) = (
      test.log.begin("slow"), test.log.begin("quick"), test.log.begin("asking")
    )
    test.log.with(span: quick).debug("of the quick one")
    quick.end()
    test.log.with(span: asking).debug("of the asking one")
    asking.end(captures: true)
    test.log.with(span: slow).debug("of the slow one")
    // Longer than the limit.
    Sleep.nanoseconds(50_000_000)
    slow.end()
    let contents = try test.closeAndRead()
    let found = flight(contents)
    #expect(found.contains("of the slow one") && found.contains("of the asking one"))
    let isClean = contents.isClean
    #expect(isClean)
  }

  @Test("of a span that lives long, what is not in the ring any more is forgotten")
  func longSpan() throws {
    let test = try recorder()
    test.log.with(span: test.log.begin("long")).debug("of it")
    let ring = try #require(test.store.core.openSession?.ring)
    let headers = (0..<ring.pool.count).compactMap { index in
      ring.openHeader(ofSegment: index).map { (index, $0) }
    }
    let (index, header) = try #require(headers.first)
    var table = try #require(SpanTable(ring))
    var scanner = ring.scanner(ofSegment: index, header, from: SegmentLayout.size)
    var noted = 0
    while let item = scanner.next() {
      guard case .record(let record, let offset) = item else { continue }
      for generation in 1...10_000 as ClosedRange<UInt64> {
        for _ in 0..<2 { table.note(record, at: offset, .clear, isFlight: true, in: generation) }
        table.forgetEvicted()
        if table.placeCount > noted { noted = table.placeCount }
      }
    }
    try test.store.close()
    #expect(noted > 0 && noted <= 1025, "\(noted)")
  }

  @Test("a span's flight records are captured over all threads, with those that begin and end it")
  func threads() throws {
    let test = try recorder()
    let spans = (0..<8).map { test.log.begin("span \($0)", level: .debug) }
    let threads = try (0..<4).map { thread in
      try MMLogSystem.Thread(name: "thread") {
        for number in 0..<200 {
          let span = number % 8
          test.log.with(["thread": .int(Int64(thread))], span: spans[span])
            .debug("\(span) of \(thread)", metadata: ["number": .int(Int64(number))])
        }
      }
    }
    for thread in threads { thread.join() }
    for (number, span) in spans.enumerated() { span.end("end \(number)", failed: number == 3) }
    try test.store.flush(.archive)
    let dead = try test.copy()
    for contents in [try test.closeAndRead(), try recovered(dead)] {
      let found = flight(contents)
      #expect(found.count == 102 && found.first == "span 3" && found.last == "end 3")
      #expect(found.dropFirst().dropLast().allSatisfy { $0.hasPrefix("3 of ") })
      let isClean = contents.isClean
      #expect(isClean)
    }
  }

  @Test(
    "what spans captured is skipped by later captures and recoveries, also if a limit deleted it")
  func once() throws {
    let test = try recorder { $0.captureLevel = .error }
    let (bad, open) = (test.log.begin("bad"), test.log.begin("open"))
    for number in 0..<50 {
      test.log.with(span: bad).debug("bad \(number)")
      test.log.with(span: open).debug("open \(number)")
    }
    bad.end(failed: true)
    _ = try test.store.rotate(within: .seconds(300))
    let old = try test.folder.names(ending: ".mmlog")
    let dead = try test.copy()
    for name in old { try FileManager.default.removeItem(atPath: dead(name)) }
    #expect(flight(try recovered(dead)) == (0..<50).map { "open \($0)" })
    test.log.error("captures all that is left")
    try test.store.flush(.archive)
    open.end()
    let contents = try test.closeAndRead()
    let isClean = contents.isClean
    #expect(isClean)
    #expect(flight(contents) == (0..<50).flatMap { ["bad \($0)", "open \($0)"] })
  }

  @Test("what spans captured behind corrupted bytes is skipped by later captures, too")
  func corruption() throws {
    let test = try recorder { $0.drainInterval = .seconds(3600) }
    let bad = test.log.begin("bad")
    for number in 0..<10 {
      test.log.with(span: bad).debug("\("record number \(number)", privacy: .public)")
    }
    let ring = try #require(try test.folder.names(ending: ".ring").first)
    let text = Data("record number 5".utf8)
    let place = try #require(Data(try test.folder.bytes(ring)).range(of: text)?.lowerBound)
    let file = try File.open(test.folder(ring), [.write])
    try Array("corrupted bytes".utf8).withUnsafeBytes { try file.writeFully($0, at: place) }
    bad.end(failed: true)
    try flush(test)
    try test.store.capture(reason: "a test")
    let dead = try test.copy()
    let sessions = try LogRecovery.recover(dead.path) { Issue.record("\($0)") }
    // The drainer counts the loss.
    #expect(sessions.map { $0.losses.total(.corrupted) } == [1])
    let expected = (0..<10).filter { $0 != 5 }.map { "record number \($0)" }
    #expect(flight(Contents(dead.path)) == expected)
    #expect(flight(try test.closeAndRead()) == expected)
  }

  @Test("who follows a store is given each record once, captured for a span or not")
  func following() throws {
    let test = try recorder()
    let follower = LogFollower(paths: [test.folder.path])
    let (bad, open) = (test.log.begin("bad"), test.log.begin("open"))
    let expected = (0..<20).flatMap { ["open \($0)", "bad \($0)"] }
    for number in 0..<20 {
      test.log.with(span: open).debug("open \(number)")
      test.log.with(span: bad).debug("bad \(number)")
    }
    #expect(follower.newMessages() == ["bad", "open"] + expected)
    bad.end("bad ended", failed: true)
    try test.store.flush(.archive)
    #expect(follower.newMessages() == ["bad ended"])
    try test.store.capture(reason: "a test")
    #expect(follower.newMessages() == ["captured: a test"])
    try test.store.close()
    #expect(follower.newMessages() == [])
  }

  @Test("who follows a store is given a flight record though as many were erased as it lacks")
  func followingErased() throws {
    let test = try recorder()
    let follower = LogFollower(paths: [test.folder.path])
    test.log.debug("first")
    let good = test.log.begin("good")
    test.log.with(span: good).debug("erased")
    #expect(follower.newMessages() == ["first", "good", "erased"])
    good.end("good ended")
    try flush(test)
    test.log.debug("second")
    try test.store.capture(reason: "a test")
    #expect(follower.newMessages().sorted() == ["captured: a test", "good ended", "second"])
    try test.store.close()
    #expect(follower.newMessages() == [])
  }

  @Test("recovery passes over what belongs to a span whose end nobody has taken in yet")
  func endsInTheRing() throws {
    let test = try recorder { $0.drainInterval = .seconds(3600) }
    let (good, bad) = (test.log.begin("good"), test.log.begin("bad"))
    test.log.with(span: good).debug("of the good one")
    test.log.with(span: bad).debug("of the bad one")
    good.end()
    bad.end(failed: true)
    let dead = try test.copy()
    #expect(flight(Contents(dead.path)) == ["of the bad one"])
    #expect(flight(try recovered(dead)) == ["of the bad one"])
    try test.store.close()
  }

  @Test("after a power cut, a span has ended whose end stands behind a lost page")
  func lostPage() throws {
    let test = try recorder { $0.drainInterval = .seconds(3600) }
    let good = test.log.begin("good")
    for number in 0..<3 { test.log.with(span: good).debug("of the good one \(number)") }
    good.end()
    let dead = try test.copy()
    try test.store.close()
    let name = try #require(dead.names(ending: ".ring").first)
    var ring = try dead.bytes(name)
    let image = try RingImage(File.open(dead(name), .read))
    for segment in image.segments {
      var scanner = image.scanner(of: segment, zeros: .end)
      while case .record(let record, let offset) = scanner.next() {
        guard image.isFlight(record) else { continue }
        // The first record of the span: all others stand behind what is lost.
        let place = image.fileHeader.geometry.offset(ofSegment: segment.index) + offset
        ring.replaceSubrange(
          place..<place + record.bytes.count, with: repeatElement(0, count: record.bytes.count))
        break
      }
    }
    var header = image.fileHeader
    header.identity.bootID = [UInt8](repeating: 9, count: 16)
    let bytes = header.encoded(pageSize: UInt32(Host.pageSize))
    ring.replaceSubrange(0..<bytes.count, with: bytes)
    dead.put(name, ring)
    _ = try LogRecovery.recover(dead.path) { Issue.record("\($0)") }
    let contents = Contents(dead.path)
    #expect(contents.records.map(\.message).contains("good") && flight(contents) == [])
  }

  @Test("without a rule for spans, flight records stay as they were")
  func undecided() throws {
    let test = try recorder(nil)
    let span = test.log.begin("bad")
    test.log.with(span: span).debug("of the bad one")
    span.end(failed: true, captures: true)
    try test.store.flush(.archive)
    #expect(test.store.flightCounts.captured == 0)
    #expect(flight(try recovered(test.copy())) == ["of the bad one"])
    #expect(flight(try test.closeAndRead()) == [])
  }

  @Test(
    "many spans over a small ring: none that ended well is found, and no other is lost or there twice",
    arguments: [1, 2], [LogStore.FullRingPolicy.wait(upTo: .seconds(60)), .overwriteOldest])
  func small(_ drainThreads: Int, _ policy: LogStore.FullRingPolicy) throws {
    let test = try recorder {
      $0.makeTiny()
      $0.drainThreads = drainThreads
      $0.fullRing = policy
      $0.drainInterval = .milliseconds(10)
      $0.captureTime = .seconds(86400)
    }
    let threads = try (0..<4).map { thread in
      try MMLogSystem.Thread(name: "thread") {
        for number in 0..<3000 {
          let span = test.log.begin("span")
          test.log.with(span: span).debug("\(thread) \(number)")
          span.end(failed: number % 10 == 0)
        }
      }
    }
    for thread in threads { thread.join() }
    try test.store.flush(.archive)
    let dead = try test.copy()
    for contents in [try recovered(dead), try test.closeAndRead()] {
      let isWhole = contents.isWhole
      let found = flight(contents)
      #expect(isWhole && Set(found).count == found.count && !found.isEmpty)
      // An end that was overwritten before the drainer saw it ended nothing.
      if policy != .overwriteOldest { #expect(found.allSatisfy { $0.hasSuffix("0") }) }
    }
  }
}
