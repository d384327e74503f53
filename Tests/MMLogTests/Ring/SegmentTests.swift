import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@Suite("Segments and large records")
struct SegmentTests {
  /// Returns `count` bytes that differ from place to place.
  private func pattern(_ count: Int) -> [UInt8] {
    // Words, since debug builds are slow.
    let words = (0..<UInt64(count / 8 + 1)).map { $0 &* 0x9E37_79B9_7F4A_7C15 }
    return words.withUnsafeBytes { Array($0.prefix(count)) }
  }

  @Test("values of every size around a segment's end come back whole")
  func aroundTheEnd() throws {
    let test = try TestStore { $0.makeTiny() }
    let all = pattern(9000)
    let sizes = Array(3800...4200) + Array(7900...8300)
    for size in sizes { test.log.info("\(Array(all[..<size]), name: "v") \(size)") }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.records.count == sizes.count)
    for (record, size) in zip(contents.records, sizes) {
      #expect(record.fields[0].value == .bytes(Array(all[..<size])), "\(size)")
    }
  }

  @Test("a record that begins anywhere in a segment is moved, with what it has, to the next")
  func moving() throws {
    let test = try TestStore { $0.makeTiny() }
    let seed: UInt64 = 7
    var random = SeededGenerator(seed: seed)
    let letters = String(decoding: pattern(6000).map { 97 + $0 % 26 }, as: UTF8.self)
    var expected: [String] = []
    for index in 0..<1500 {
      let parts = (0..<3).map { _ in
        String(letters.prefix(Int.random(in: 0...(index % 10 == 0 ? 6000 : 300), using: &random)))
      }
      test.log.info(
        "\(index) \(parts[0]) \(1.5) \(parts[1]) \(index) \(parts[2])",
        metadata: ["m": .string(parts[1])])
      expected.append("\(index) \(parts[0]) 1.5 \(parts[1]) \(index) \(parts[2])")
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean, "seed \(seed)")
    #expect(contents.messages == expected, "seed \(seed)")
  }

  @Test(
    "records larger than a segment, and than the ring, come back whole",
    arguments: [100_000, 1 << 20, (16 << 20) - 1, 16 << 20])
  func large(size: Int) throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.fullRing = .wait(upTo: .seconds(60))
    }
    let value = pattern(size)
    test.log.info("before")
    test.log.info("\(1) \(value, name: "v") \(2)", metadata: ["after": 3])
    test.log.info("after")
    let contents = try test.closeAndRead()
    #expect(contents.corruption.isEmpty && contents.unfinished.isEmpty && contents.losses.isEmpty)
    #expect(contents.records.count == 3)
    let record = try #require(contents.records.dropFirst().first)
    #expect(record.fields.first?.value == .bytes(value))
    #expect(record.fields.last?.value == .int(3))
    #expect(!record.isCut)
  }

  @Test("a value longer than 16 MiB is cut, flagged and counted")
  func cut() throws {
    let test = try TestStore { $0.fullRing = .wait(upTo: .seconds(60)) }
    let value = pattern((16 << 20) + 1)
    test.log.warning("\(value, name: "v") \(7, name: "n")")
    #expect(test.store.losses[.cut, .warning] == 1)
    let contents = try test.closeAndRead()
    let record = try #require(contents.records.first)
    #expect(record.isCut)
    #expect(record.fields[0].value == .bytes(Array(value.dropLast())))
    #expect(record.fields[1].value == .int(7))
    #expect(contents.losses.map { $0[.cut, .warning] } == [1])
  }

  @Test("several values that are together too long are cut to what a record may hold")
  func cutTogether() throws {
    let test = try TestStore { $0.fullRing = .wait(upTo: .seconds(60)) }
    let value = pattern(16 << 20)
    test.log.error("\(value, name: "a")\(value, name: "b")\(value, name: "c") end")
    test.log.info("next")
    let contents = try test.closeAndRead()
    // Not all messages are compared: they would be very long.
    #expect(contents.records.last?.message == "next")
    let record = try #require(contents.records.first)
    #expect(contents.records.count == 2)
    #expect(record.isCut)
    #expect(record.fields.first?.value == .bytes(value))
    #expect(test.store.losses[.cut, .error] == 1)
  }

  @Test("metadata beyond what a record may hold drop it, counted, and what follows is kept")
  func tooLarge() throws {
    let test = try TestStore()
    let value = String(repeating: "v", count: 16 << 20)
    var metadata = Logger.Metadata()
    for _ in 0..<3 { metadata.append(.string(value), for: "k") }
    for _ in 0..<50_000 { metadata.append(1, for: "k") }
    test.log.error("huge", metadata: metadata)
    test.log.info("next")
    let contents = try test.closeAndRead()
    #expect(contents.messages == ["next"])
    #expect(test.store.losses.total(.tooLarge) == 1)
    #expect(contents.corruption.isEmpty)
  }

  @Test("names of metadata that a record has no room for drop it, counted, and the next is kept")
  func tooLongNames() throws {
    let test = try TestStore()
    let text = String(repeating: "t", count: 16 << 20)
    // The names come last: ten words are left for them, of 17 MiB.
    let value = String(repeating: "v", count: (1 << 20) - 128)
    test.log.error(
      "\(text)",
      metadata: [
        "a name that takes more words than are left of the record, which are ten, with its type":
          .string(value)
      ])
    test.log.info("next")
    let losses = test.store.losses
    #expect(losses.total(.tooLarge) == 1 && losses.total == 1, "\(losses)")
    let contents = try test.closeAndRead()
    #expect(contents.records.count == 1 && contents.records.last?.message == "next")
    #expect(contents.isWhole, "\(contents.corruption)")
  }

  @Test("a dropped large record leaves nothing that looks like corruption")
  func droppedInPlace() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.fullRing = .dropNewest
    }
    let text = String(repeating: "f", count: 3000)
    let huge = pattern(400_000)
    for index in 0..<200 {
      // The record is begun in the segment, then moved to private memory, then dropped: it is
      // larger than the ring.
      test.log.info("big \(text) \(huge, name: "huge")")
      test.log.info("\(index)")
    }
    let contents = try test.closeAndRead()
    #expect(contents.corruption.isEmpty && contents.unreadable.isEmpty)
    let big = contents.records.filter { $0.fields.count == 1 }.count
    #expect(contents.records.count + Int(test.store.losses.total(.ringFull)) == 400)
    #expect(big < 200)
  }

  // One of these numbers leaves 24 bytes in the segment, which a lost record takes.
  @Test(
    "a record that is lost at its segment's end leaves the next segment alone",
    arguments: 160...165)
  func lostAtTheEnd(fillers: Int) throws {
    // The next segment stays as it is until the store is closed.
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
    }
    let log = test.log
    var kept: LogLiteral?
    func keep(_ literal: LogLiteral) -> LogLiteral {
      kept = literal
      return literal
    }
    log.info(keep("kept \(1)"))
    try onThreads(1) { _ in log.info("neighbor") }
    for _ in 0..<fillers { log.info("filler") }
    let literal = try #require(kept)
    // The literal has outlived its call.
    log.error(literal, metadata: ["number": 7, "text": "more than fits into a word"])
    log.info("after")
    let losses = test.store.losses
    #expect(losses[.corrupted, .error] == 1 && losses.total == 1, "\(losses)")
    let contents = try test.closeAndRead()
    #expect(contents.isWhole, "\(contents.corruption)")
    #expect(Set(contents.messages) == ["kept 1", "neighbor", "filler", "after"])
    #expect(contents.records.count == fillers + 3)
  }

  @Test("a thread's segment is sealed when it ends, for others to have")
  func threadExit() throws {
    let test = try TestStore { $0.makeTiny() }
    let log = test.log
    for index in 0..<400 { try onThreads(1) { _ in log.info("\(index)") } }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.messages == (0..<400).map { "\($0)" })
    #expect(contents.records.map(\.thread.ordinal) == (1...400).map { UInt32($0) })
  }

  @Test("three hundred threads at once keep all records, each thread's in order")
  func manyThreads() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.fullRing = .wait(upTo: .seconds(60))
    }
    let log = test.log
    // All threads have a writer before any ends.
    let barrier = Barrier(300)
    try onThreads(300) { thread in
      log.info("\(thread) 0")
      barrier.wait()
      for index in 1..<100 { log.info("\(thread) \(index)") }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(test.store.losses.isEmpty)
    #expect(contents.records.count == 30_000)
    let threads = contents.messagesByThread
    #expect(threads.count == 300)
    for messages in threads.values {
      let thread = messages[0].split(separator: " ")[0]
      #expect(messages == (0..<100).map { "\(thread) \($0)" })
    }
  }

  @Test("large records of many threads that share a segment are whole, each thread's in order")
  func largeFromManyThreads() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.fullRing = .wait(upTo: .seconds(60))
    }
    let log = test.log
    let barrier = Barrier(80)
    try onThreads(80) { thread in
      log.info("\(thread) 0 ")
      barrier.wait()
      for index in 1..<20 {
        let text = String(
          repeating: Character(Unicode.Scalar(UInt8(97 + index))), count: index * 600)
        log.info("\(thread) \(index) \(text)")
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    for messages in contents.messagesByThread.values {
      let thread = messages[0].split(separator: " ")[0]
      let expected = (0..<20).map { index in
        "\(thread) \(index) "
          + String(repeating: Character(Unicode.Scalar(UInt8(97 + index))), count: index * 600)
      }
      #expect(messages == expected)
    }
    #expect(contents.records.count == 1600)
  }

  @Test("records name their thread: its ordinal, its id and its name")
  func threadNames() throws {
    let test = try TestStore()
    let log = test.log
    try onThreads(1) { _ in log.info("\(CurrentProcess.threadID(), name: "id")") }
    let record = try #require(try test.closeAndRead().records.first)
    #expect(record.thread.name == "worker 0")
    #expect(record.fields[0].value == .int(Int64(record.thread.id)))
    #expect(record.thread.ordinal == 1)
  }

  #if DEBUG
    @Test(
      "without memory for a record that needs some, it is dropped or cut, counted, and nothing else happens"
    )
    func noMemory() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.makeTiny() }
        let text = String(repeating: "t", count: 9000)
        test.log.info("one")
        ForcedFault.force(.mmap, errno: ENOMEM, times: .max, under: "")
        ForcedFault.force(.mremap, errno: ENOMEM, times: .max, under: "")
        test.log.error("\(text)")
        test.log.info("two \(1)")
        ForcedFault.clear(under: "")
        test.log.info("three \(text)")
        let losses = test.store.losses
        require(losses.total(.cut) + losses.total(.tooLarge) == 1, "\(losses)")
        let contents = try test.closeAndRead()
        let kept = contents.messages.filter { !$0.allSatisfy { $0 == "t" } }
        require(kept == ["one", "two 1", "three \(text)"], "\(kept.map { $0.prefix(20) })")
        require(contents.corruption.isEmpty && contents.unfinished.isEmpty)
      }
    }
  #endif

  #if DEBUG
    @Test("without memory for the names of metadata, their record is dropped, and no other harmed")
    func noMemoryForNames() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.makeTiny() }
        let text = String(repeating: "t", count: 9000)
        test.log.info("before")
        ForcedFault.force(.mmap, errno: ENOMEM, times: .max, under: "")
        ForcedFault.force(.mremap, errno: ENOMEM, times: .max, under: "")
        // The text is cut to the size of the built-in memory, and the names come last.
        test.log.error(
          "\(text)",
          metadata: [
            "the first name of metadata, which is long": 1,
            "the second name of metadata, which is long": 2,
            "the third name of metadata, which is long": 3,
          ])
        ForcedFault.clear(under: "")
        // Calls inside others write with the memory behind it.
        func inner() -> Int {
          test.log.info("inner")
          return 1
        }
        test.log.info("outer \(inner())")
        let losses = test.store.losses
        require(losses.total(.tooLarge) == 1 && losses.total == 1, "\(losses)")
        let contents = try test.closeAndRead()
        require(contents.messages == ["before", "inner", "outer 1"], "\(contents.messages)")
        require(contents.isWhole, "\(contents.corruption)")
      }
    }
  #endif
}

/// Holds threads back until all have come.
final class Barrier: @unchecked Sendable {
  // Sendable: the C object behind the pointer is made for it.
  private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)

  init(_ count: Int) { pthread_barrier_init(barrier, nil, UInt32(count)) }

  deinit {
    pthread_barrier_destroy(barrier)
    barrier.deallocate()
  }

  func wait() { pthread_barrier_wait(barrier) }
}
