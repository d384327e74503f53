import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// Changes that may happen to a file.
private func corruption(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
  guard !bytes.isEmpty else { return }
  let place = Int.random(in: 0..<bytes.count, using: &generator)
  switch Int.random(in: 0..<6, using: &generator) {
  case 0, 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
  case 2: bytes[place] = UInt8.random(in: 0...255, using: &generator)
  case 3:
    let end = min(bytes.count, place + Int.random(in: 1...600, using: &generator))
    for index in place..<end { bytes[index] = 0 }
  case 4:
    let end = min(bytes.count, place + Int.random(in: 1...64, using: &generator))
    for index in place..<end { bytes[index] = UInt8.random(in: 0...255, using: &generator) }
  default:
    if Int.random(in: 0..<4, using: &generator) == 0 { bytes.removeLast(bytes.count - place) }
  }
}

/// A log with records of every shape, in the ring and in an archive.
private func busyLog() -> TestLog {
  let log = TestLog(bootID: Host.bootID())
  let long = String(repeating: "long ", count: 300)
  for index in 0..<40 {
    let ticks = UInt64(index * 10)
    log.write("record \(index)", ticks: ticks, thread: UInt32(index % 3 + 1))
    if index % 10 == 3 {
      log.writeFragments(
        TestRecord(
          ticks: ticks + 1, site: log.textSite, words: ValueWords.argument(.text("\(index)\(long)"))
        ),
        thread: UInt32(index % 3 + 1), partWords: 60)
    }
    if index % 9 == 8 { log.archive(isPublished: index < 35) }
  }
  return log
}

@Suite struct RandomCorruptionTests {
  /// A failure reports the seed of its round.
  @Test("nothing wrong is ever given", arguments: 0..<4) func nothingWrongIsEverGiven(part: Int) {
    let log = busyLog()
    let whole = log.read()
    let (ring, archives) = (log.ring, log.archives)
    let known = Set(whole.messages)
    #expect(whole.corruption.isEmpty && known.count == 44 && whole.messages.count == 44)
    for seed in (part * 150)..<(part * 150 + 150) {
      var generator = SeededGenerator(seed: UInt64(seed))
      (log.ring, log.archives) = (ring, archives)
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        if Bool.random(using: &generator) { corruption(&log.ring, &generator) }
        if Bool.random(using: &generator) { corruption(&log.archives[0], &generator) }
      }
      check(log.read(), known, seed)
    }
  }

  private func check(_ reading: Reading, _ known: Set<String>, _ seed: Int) {
    let messages = reading.messages
    #expect(Set(messages).isSubset(of: known), "seed \(seed)")
    #expect(Set(messages).count == messages.count, "seed \(seed): a record came twice")
    // If the end of a segment is zeroed, its records look as if they had never been written.
    let lost = known.subtracting(messages).subtracting((36..<40).map { "record \($0)" })
    let isReported =
      !reading.corruption.isEmpty || !reading.unreadable.isEmpty || !reading.unfinished.isEmpty
    #expect(lost.isEmpty || isReported, "seed \(seed): \(lost)")
  }

  @Test("garbage is refused") func garbageIsRefused() {
    let folder = TemporaryDirectory()
    var generator = SeededGenerator(seed: 1)
    folder.put("garbage.ring", (0..<5000).map { _ in UInt8.random(in: 0...255, using: &generator) })
    folder.put("empty.mmlog", [])
    folder.put("short.mmlog", Array("MMLOGARC".utf8))
    let reading = Reading([folder.path])
    #expect(reading.unreadable.map(\.code) == [.foreignFile, .foreignFile, .corruptedFile])
    #expect(reading.trace.isEmpty)
  }

  @Test("what is not there is reported once") func whatIsNotThereIsReportedOnce() {
    let folder = TemporaryDirectory()
    #expect(Reading([folder("nothing")]).unreadable.map(\.systemErrorNumber) == [2])
    #expect(Reading([folder.path]).unreadable.count == 1)
  }
}
