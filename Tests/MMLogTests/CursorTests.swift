import Foundation
import MMLog
import MMLogReader
import MMLogSystem
import Testing
import TestSupport

/// Archives that are read on from where the last reader ended, while they grow.
@Suite struct CursorTests {
  /// What several readers were given, one after the other.
  private struct Readings {
    var messages: [UInt32: [String]] = [:]
    var ids: Set<LogReader.RecordID> = []
    var (recordCount, started, ended, gaps) = (0, 0, 0, 0)
    var cursor = LogReader.Cursor()

    /// Reads at most `limit` items.
    mutating func read(_ path: String, atMost limit: Int = .max) throws {
      let reader = LogReader(paths: [path], after: cursor)
      for _ in 0..<limit {
        guard let item = reader.next() else { break }
        switch item {
        case .record(let record):
          recordCount += 1
          ids.insert(try #require(record.id))
          messages[record.thread.ordinal, default: []].append(String(record.message.prefix(12)))
        case .sessionStarted: started += 1
        case .sessionEnded: ended += 1
        case .gap: gaps += 1
        default: Issue.record("\(item)")
        }
      }
      // Programs keep the cursor as text.
      cursor = try #require(LogReader.Cursor(reader.cursor.description))
    }
  }

  @Test("each record is given once, whenever readers stop", arguments: 1...6 as ClosedRange<UInt64>)
  func eachRecordOnce(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let test = try TestStore { $0.makeTiny() }
    let loggers = (0..<3).map { test.store.logger(label: "thread \($0)") }
    var logged: [String: [String]] = [:]
    var readings = Readings()
    for round in 0..<40 {
      for thread in 0..<3 {
        let texts = (0..<Int.random(in: 1...20, using: &random)).map {
          // Some records are in several fragments.
          let isLarge = Int.random(in: 0..<12, using: &random) == 0
          let start = "\(thread).\(round).\($0)          ".prefix(12)
          return start + String(repeating: "x", count: isLarge ? 20_000 : 10)
        }
        logged["\(thread)", default: []] += texts.map { String($0.prefix(12)) }
        let logger = loggers[thread]
        try MMLogSystem.Thread(name: "lane") { for text in texts { logger.info("\(text)") } }.join()
      }
      if Bool.random(using: &random) { try test.store.flush(.archive) }
      if Int.random(in: 0..<6, using: &random) == 0 { _ = try test.store.rotate() }
      try readings.read(test.folder.path, atMost: Int.random(in: 0...60, using: &random))
    }
    try test.store.close()
    try readings.read(test.folder.path)
    try readings.read(test.folder.path)
    let found = readings.messages.values.reduce(into: [String: [String]]()) {
      for text in $1 { $0[String(text.prefix(1)), default: []].append(text) }
    }
    for thread in 0..<3 {
      #expect(found["\(thread)"]?.sorted() == logged["\(thread)"]?.sorted(), "seed \(seed)")
    }
    #expect(readings.ids.count == readings.recordCount)
    #expect(readings.started == 1 && readings.ended == 1 && readings.gaps == 0)
  }

  @Test("what only the ring has is given when it is archived")
  func ringLater() throws {
    let test = try TestStore { $0.drainInterval = .seconds(3600) }
    var readings = Readings()
    test.log.info("archived")
    try test.store.flush(.archive)
    test.log.info("in the ring")
    try readings.read(test.folder.path)
    #expect(readings.messages[1] == ["archived"])
    try test.store.close()
    try readings.read(test.folder.path)
    #expect(readings.messages[1] == ["archived", "in the ring"] && readings.ended == 1)
  }

  @Test("what was deleted before it was read is a gap, and what was read is none")
  func deletedUnread() throws {
    let test = try TestStore()
    var readings = Readings()
    for number in 1...5 {
      test.log.info("record \(number)")
      _ = try test.store.rotate()
      if number == 2 { try readings.read(test.folder.path) }
    }
    try test.store.close()
    for name in try test.folder.names(ending: ".mmlog").sorted().prefix(3) {
      try FileManager.default.removeItem(atPath: test.folder(name))
    }
    try readings.read(test.folder.path)
    #expect(readings.gaps == 1)
    #expect(readings.messages[1] == ["record 1", "record 2", "record 4", "record 5"])
  }

  @Test("a filter's cursor passes over what it does not want")
  func filtered() throws {
    let test = try TestStore()
    for number in 0..<1000 { test.log.info("record \(number)") }
    try test.store.flush(.archive)
    var filter = LogReader.Filter()
    filter.minimumLevel = .error
    let reader = LogReader(
      LogFiles([.path(test.folder.path)]), filter: filter, after: LogReader.Cursor())
    while let item = reader.next() { if case .record = item { Issue.record("\(item)") } }
    var readings = Readings()
    readings.cursor = reader.cursor
    test.log.info("later")
    try test.store.close()
    try readings.read(test.folder.path)
    #expect(readings.messages[1] == ["later"])
  }

  @Test("a follower gives each archived record once, and its cursor goes on behind it")
  func followed() throws {
    let test = try TestStore()
    var (cursor, messages) = (LogReader.Cursor(), [String]())
    var (started, ended) = (0, 0)
    for round in 0..<10 {
      for number in 0..<20 { test.log.info("record \(20 * round + number)") }
      if round == 9 {
        try test.store.close()
      } else if round.isMultiple(of: 3) {
        _ = try test.store.rotate()
      } else {
        try test.store.flush(.archive)
      }
      let follower = ArchiveFollower(test.folder.path, after: cursor)
      // The follower stops in the middle, and another one goes on.
      for _ in 0..<(round == 9 ? .max : 15) {
        guard let item = try follower.next() else { break }
        switch item {
        case .record(let record): messages.append(record.message)
        case .sessionStarted: started += 1
        case .sessionEnded: ended += 1
        default: Issue.record("\(item)")
        }
      }
      cursor = try #require(LogReader.Cursor(follower.cursor.description))
    }
    #expect(messages == (0..<200).map { "record \($0)" })
    #expect(started == 1 && ended == 1)
    let rest = try ArchiveFollower(test.folder.path, after: cursor).next()
    #expect(rest == nil)
  }

  @Test("chunks move the cursor, too")
  func chunks() throws {
    let test = try TestStore()
    for number in 0..<1000 { test.log.info("record \(number)") }
    try test.store.flush(.archive)
    let reader = LogReader(paths: [test.folder.path], after: LogReader.Cursor())
    var count = 0
    while count < 300, let chunk = reader.nextChunk() {
      switch chunk {
      case .records(let records): count += records.count
      case .item(.record): count += 1
      case .item: continue
      }
    }
    var readings = Readings()
    readings.cursor = reader.cursor
    try test.store.close()
    try readings.read(test.folder.path)
    #expect(readings.messages[1]?.first == "record \(count)")
    #expect(readings.recordCount == 1000 - count)
  }

  @Test(
    "text that is no cursor is none",
    arguments: [
      "", "mmlog1", "mmlog2:", "mmlog1:x", "mmlog1:00010203040506070809000a0b0c0d0e.1.2.3.4",
      "mmlog1:00010203040506070809000a0b0c0d0e.1.2.00000003.99999999999",
      "mmlog1:00010203040506070809000a0b0c0d0e.1.2.00000003.4/1.2.5",
      "mmlog1:00010203040506070809000a0b0c0d0e.1.2.00000003.4,",
      "mmlog1:00010203040506070809000a0b0c0d0e.1.2.00000003.4 ",
    ])
  func noCursor(text: String) { #expect(LogReader.Cursor(text) == nil) }

  @Test(
    "text of a cursor is what was read",
    arguments: [
      "mmlog1:", "mmlog1:00010203040506070809000a0b0c0d0e.1.2.00000003.4",
      "mmlog1:00010203040506070809000a0b0c0d0e.1.2.00000003.4/1.1.7!",
    ])
  func cursorText(text: String) { #expect(LogReader.Cursor(text)?.description == text) }
}
