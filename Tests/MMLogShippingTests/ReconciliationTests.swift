import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogShipping

/// Each test removes one record from one place. The balance has to show that.
@Suite struct ReconciliationTests {
  /// A closed store with 300 records in three archives. One record was refused.
  private func shipped() async throws -> ShippedStore {
    let test = try ShippedStore()
    for first in [1, 101, 201] {
      try test.log(first...first + 99)
      _ = try await test.store.rotate()
    }
    try await test.store.close()
    let receiver = Receiver { delivery, _ in
      let index = delivery.messages.firstIndex(of: "record 150")
      return LogBatch.Answer(refused: index.map { [.init(index: $0, reason: "no")] } ?? [])
    }
    try await test.ship(to: receiver)
    return test
  }

  private func problems(_ test: ShippedStore, received: Int? = nil) throws -> [String] {
    var counts: [SessionID: Int]?
    if let received {
      let archives = try Catalog(of: test.folder.path, store: nil).scan()
      counts = archives.first.map { [$0.session: received] }
    }
    return try Reconciliation(of: test.folder.path, consumer: "test", received: counts).problems
  }

  @Test("with all records, it is even")
  func even() async throws {
    let test = try await shipped()
    #expect(try problems(test, received: 299) == [])
    let session = try #require(
      try Reconciliation(of: test.folder.path, consumer: "test").sessions.first)
    #expect(session.acknowledged == 299 && session.refused == 1 && session.waiting == 0)
    #expect(session.archived == 300)
    #expect(session.threads.reduce(0) { $0 + $1.numbered } == 300)
    #expect(session.threads.reduce(0) { $0 + $1.present } == 300)
  }

  @Test("one that the receiver does not have")
  func atTheReceiver() async throws {
    #expect(try problems(try await shipped(), received: 298).count == 1)
  }

  @Test("one that is not among what was put aside")
  func putAside() async throws {
    let test = try await shipped()
    try FileManager.default.removeItem(atPath: test.folder("test.refused"))
    #expect(try problems(test).count == 1)
  }

  @Test("one that was not acknowledged")
  func acknowledged() async throws {
    let test = try await shipped()
    try changeState(in: test.folder) { state in
      let session = try #require(state.balances.keys.first)
      state.balances[session]?.acknowledged -= 1
    }
    #expect(try problems(test).count == 1)
  }

  @Test("one that the cursor has passed without shipping it")
  func cursorMoved() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    try await test.ship(to: Receiver()) { $0.maximumRecords = 5 }
    try test.log(11...20)
    try changeState(in: test.folder) { state in
      let session = try #require(state.cursor.sessions.keys.first)
      let queue = ArchiveQueue(of: test.folder.path, filter: .init(), after: state.cursor)
      try queue.scan()
      let queued = try #require(queue.sessions[session])
      _ = try queued.nextChunk(atMost: 1)
      state.cursor.sessions[session] = queued.given
    }
    #expect(try problems(test).isEmpty == false)
  }

  @Test("one whose bytes are corrupted in an archive")
  func corrupted() async throws {
    let test = try await shipped()
    let name = try #require(try test.folder.names(ending: "-000002.mmlog").first)
    let files = try ArchiveFile.all(in: File.open(test.folder(name), .read))
    let frame = try #require(files.first?.frames.first { $0.header.type == .records })
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: test.folder(name))))
    bytes[frame.offset + frame.header.headerSize + 5] ^= 1
    try Data(bytes).write(to: URL(fileURLWithPath: test.folder(name)))
    #expect(try problems(test).isEmpty == false)
  }

  @Test("an archive that was not shipped, and that nobody noted")
  func removed() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    try await test.ship(to: Receiver())
    for first in [11, 21] {
      try test.log(first...first + 9)
      _ = try await test.store.rotate()
    }
    try await test.store.close()
    let name = try #require(try test.folder.names(ending: "-000002.mmlog").first)
    try FileManager.default.removeItem(atPath: test.folder(name))
    #expect(try problems(test).isEmpty == false)
  }

  @Test("archives that are not there are one problem where they follow one another")
  func severalRemoved() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    try await test.ship(to: Receiver())
    for first in stride(from: 11, through: 51, by: 10) {
      try test.log(first...first + 9)
      _ = try await test.store.rotate()
    }
    try await test.store.close()
    for archive in try Catalog(of: test.folder.path, store: nil).scan()
    where [2, 3, 5].contains(archive.number) {
      try FileManager.default.removeItem(atPath: archive.path)
    }
    let found = try problems(test).filter { $0.contains("no limit has ") }
    #expect(found.count == 2)
    #expect(found.first?.contains("archives 2 to 3 are not there") == true)
    #expect(found.last?.contains("archive 5 is not there") == true)
  }

  @Test("numbers of entries that cannot be are a problem, and no trap")
  func impossibleNumbers() async throws {
    let (log, folder) = (TestLog(session: 1), TemporaryDirectory())
    log.write("a record", ticks: 100)
    log.archive()
    let ranges = (11...12 as ClosedRange<UInt32>).map { writer in
      RingRange(
        generation: 9, from: 64, to: 128, segment: writer,
        numbers: NumberRange(writer: writer, thread: writer, first: 1 << 63, count: 1))
    }
    log.addFrame(.records, [], RecordSummary(), ranges)
    log.close()
    folder.put(TestLog.sealedName(), log.archives[0])
    let shipper = try Shipper(
      of: folder.path, as: "test", to: Receiver(), configuration: .quick())
    #expect(try await shipper.shipAll())
    let balance = try Reconciliation(of: folder.path, consumer: "test")
    #expect(balance.sessions.first?.threads.map(\.numbered).max() == .max)
    #expect(!balance.problems.isEmpty)
  }

  /// An archive with frames of these records. Unless `isClosed`, it is not complete.
  private func undone(_ folder: TemporaryDirectory, _ frames: [ClosedRange<Int>], isClosed: Bool) {
    let log = TestLog(session: 7)
    for frame in frames {
      for number in frame { log.write("record \(number)", ticks: UInt64(number)) }
      log.archive()
    }
    if isClosed { log.close() }
    folder.put(TestLog.sealedName(session: 7), log.archives[0])
  }

  @Test("after a power cut, an archive is shipped again, with a batch on its way or without")
  func undoneFrames() async throws {
    let folder = TemporaryDirectory()
    undone(folder, (1...9).map { $0...$0 }, isClosed: false)
    let receiver = Receiver()
    func shipper() throws -> Shipper {
      try Shipper(
        of: folder.path, as: "test", to: receiver, configuration: .quick { $0.maximumRecords = 10 })
    }
    #expect(try await shipper().shipAll())
    #expect(receiver.messages == records(1...9))
    undone(folder, [101...125, 126...130], isClosed: true)
    receiver.change { _, number in
      if number > 2 { try await Task.sleep(nanoseconds: 3_600_000_000_000) }
      return .accepted
    }
    let first = try shipper()
    try first.start()
    try await wait { receiver.tryCount == 3 }
    await first.stop()
    receiver.change { _, _ in .accepted }
    #expect(try await shipper().shipAll())
    #expect(receiver.messages == records(1...9) + records(101...130))
    let balance = try Reconciliation(of: folder.path, consumer: "test")
    let session = try #require(balance.sessions.first)
    #expect(session.passed == 30 && session.shippedRows == 30 && session.acknowledged == 39)
    #expect(balance.problems.count == 1 && balance.problems[0].contains("39 are acknowledged"))
  }

  @Test("after a power cut of which nothing is left, nothing counts as shipped")
  func allUndone() async throws {
    let folder = TemporaryDirectory()
    undone(folder, [1...9], isClosed: false)
    let receiver = Receiver()
    for _ in 1...2 {
      let shipper = try Shipper(
        of: folder.path, as: "test", to: receiver, configuration: .quick())
      #expect(try await shipper.shipAll())
      let log = TestLog(session: 7)
      log.beginArchive()
      log.close()
      folder.put(TestLog.sealedName(session: 7), log.archives[0])
    }
    #expect(receiver.messages == records(1...9))
    let session = try Reconciliation(of: folder.path, consumer: "test").sessions.first
    #expect(session?.shippedRows == 0 && session?.acknowledged == 9)
  }

  @Test("a state is read again, whatever its numbers are")
  func impossibleState() throws {
    let session = SessionID(words: (7, 0))
    var state = try #require(
      ConsumerState("mmlog-consumer 1\nsession \(session) 1 2 3 4 5 6 7 8 9\n"))
    state.balances[session]?.rows = -1
    state.balances[session]?.missed = .max
    let read = try #require(ConsumerState(state.text)).balances[session]
    #expect(read?.rows == 0 && read?.missed == 1 << 56)
  }

  @Test("a line of what was put aside that stands for more than a batch can have is corrupted")
  func impossibleCount() async throws {
    let test = try await shipped()
    let directory = try Directory.open(test.folder.path)
    var entries = try RefusedRecords.read(of: "test", in: directory).entries
    let session = try #require(entries.first?.session)
    for batch in ["a", "b"] {
      entries.append(
        RefusedRecords.Entry(
          time: .now, batch: batch, record: "\(session).*", reason: "no", content: "\(Int.max)"))
    }
    try RefusedRecords.replace(with: entries, of: "test", in: directory)
    #expect(try RefusedRecords.read(of: "test", in: directory).corrupted.count == 2)
    #expect(try problems(test).count == 1)
  }

  #if DEBUG
    @Test("what was put aside stays as it was where the disk is full, with nothing beside it")
    func fullDisk() async throws {
      let test = try await shipped()
      let directory = try Directory.open(test.folder.path)
      let entries = try RefusedRecords.read(of: "test", in: directory).entries
      let names = try directory.names().sorted()
      for call in [SystemCall.pwrite, .fdatasync, .renameat] {
        ForcedFault.force(call, errno: ENOSPC, under: test.folder.path)
        #expect(throws: SystemError.self, "\(call)") {
          try RefusedRecords.replace(with: entries + entries, of: "test", in: directory)
        }
        #expect(try directory.names().sorted() == names, "\(call)")
        #expect(try RefusedRecords.read(of: "test", in: directory).entries == entries, "\(call)")
      }
    }

    @Test("a write that fails leaves no part of a line among what was put aside")
    func fullDiskWhileAppending() async throws {
      let test = try await shipped()
      let directory = try Directory.open(test.folder.path)
      let before = try RefusedRecords.read(of: "test", in: directory)
      var others = before.entries
      for index in others.indices { others[index].batch = "other" }
      ForcedFault.forceShort(.pwrite, count: 10, under: test.folder.path)
      ForcedFault.force(.pwrite, errno: ENOSPC, onCall: 2, under: test.folder.path)
      #expect(throws: LogError.self) {
        try RefusedRecords.append(others, of: "test", in: directory)
      }
      let after = try RefusedRecords.read(of: "test", in: directory)
      #expect(after.corrupted.isEmpty && after.entries == before.entries)
    }

    @Test("the name of what is put aside is on the disk, too, also after that has failed once")
    func nameOnTheDisk() throws {
      let folder = TemporaryDirectory()
      let directory = try Directory.open(folder.path)
      let entry = RefusedRecords.Entry(
        time: 1, batch: "b", record: "r", reason: "no", content: "{}")
      ForcedFault.force(.fsync, errno: EIO, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      #expect(throws: LogError.self) {
        try RefusedRecords.append([entry], of: "test", in: directory)
      }
      ForcedFault.force(.fsync, errno: EIO, onCall: .max, under: folder.path)
      try RefusedRecords.append([entry], of: "test", in: directory)
      #expect(ForcedFault.passed(.fsync, under: folder.path) == 1)
      #expect(try RefusedRecords.read(of: "test", in: directory).entries == [entry])
    }
  #endif

  @Test("what was refused is not put into what others may write, nor into a pipe")
  func plantedAside() throws {
    let folder = TemporaryDirectory()
    try #require(mkfifo(folder("pipe.refused"), 0o600) == 0)
    folder.put("planted.refused")
    try #require(chmod(folder("planted.refused"), 0o666) == 0 && chmod(folder.path, 0o1777) == 0)
    let directory = try Directory.open(folder.path)
    for (consumer, code) in [("pipe", LogError.Code.foreignFile), ("planted", .foreignOwner)] {
      let error = #expect(throws: LogError.self) {
        try RefusedRecords.append([], of: consumer, in: directory)
      }
      #expect(error?.code == code && error?.path == folder(consumer + ".refused"))
    }
  }

  @Test("what was refused is not read from what others may have written, nor from a pipe")
  func plantedRefusals() throws {
    let folder = TemporaryDirectory()
    try #require(mkfifo(folder("pipe.refused"), 0o600) == 0)
    folder.put("planted.refused")
    try #require(chmod(folder("planted.refused"), 0o666) == 0 && chmod(folder.path, 0o1777) == 0)
    let directory = try Directory.open(folder.path)
    for (consumer, code) in [("pipe", LogError.Code.foreignFile), ("planted", .foreignOwner)] {
      let error = #expect(throws: LogError.self) {
        try RefusedRecords.read(of: consumer, in: directory)
      }
      #expect(error?.code == code && error?.path == folder(consumer + ".refused"))
    }
    #expect(try RefusedRecords.read(of: "none", in: directory).entries.isEmpty)
  }

  @Test("what was put aside is sent again, and then the balance has it")
  func retried() async throws {
    let test = try await shipped()
    let receiver = Receiver()
    let results = try await test.shipper(to: receiver).retryRefused()
    #expect(results.acknowledged == 1 && results.refused == 0 && results.missing == 0)
    #expect(receiver.messages == ["record 150"])
    #expect(try problems(test, received: 300) == [])
    #expect(try await test.shipper(to: receiver).retryRefused().acknowledged == 0)
  }

  @Test("what a stopped shipper has not sent again is not missing, and stays aside")
  func stoppedRetry() async throws {
    let test = try await shipped()
    let shippers = LockedValue<[Shipper]>([])
    let receiver = Receiver { _, _ in
      for shipper in shippers.withLock({ $0 }) { shipper.cancel() }
      throw DeliveryError.unavailable("down")
    }
    let shipper = try test.shipper(to: receiver)
    shippers.withLock { $0 = [shipper] }
    let results = try await shipper.retryRefused()
    shippers.withLock { $0 = [] }
    #expect(results.acknowledged == 0 && results.refused == 0 && results.missing == 0)
    let aside = try RefusedRecords.read(of: "test", in: Directory.open(test.folder.path))
    #expect(aside.entries.count == 1)
  }

  @Test("what is sent again goes in batches of no more bytes than others")
  func retriedInBatches() async throws {
    let test = try ShippedStore()
    for number in 1...6 { test.log.info("\(number) \(String(repeating: "x", count: 600))") }
    try await test.store.flush(.archive)
    let receiver = Receiver { delivery, _ in
      LogBatch.Answer(refused: delivery.ids.indices.map { .init(index: $0, reason: "no") })
    }
    try await test.ship(to: receiver)
    let taking = Receiver()
    let shipper = try test.shipper(to: taking) { $0.maximumBytes = 1024 }
    #expect(try await shipper.retryRefused().acknowledged == 6)
    #expect(taking.deliveries.map(\.messages.count) == [2, 2, 2])
  }

  /// A directory with sessions of one record each, which a receiver has refused.
  private func refusedSessions(_ count: Int) async throws -> TemporaryDirectory {
    let folder = TemporaryDirectory()
    for number in 1...count {
      let store = try LogStore(directory: folder.path, name: "store\(number)")
      store.logger(label: "test").info("record \(number)")
      try await store.close()
    }
    let refusing = Receiver { _, _ in throw DeliveryError.refused("no") }
    let shipper = try Shipper(
      of: folder.path, as: "test", to: refusing, configuration: .quick())
    #expect(try await shipper.shipAll())
    return folder
  }

  @Test("what is in an archive that cannot be read is not missing, and others are sent again")
  func unreadableSession() async throws {
    let folder = try await refusedSessions(3)
    let archives = try Catalog(of: folder.path, store: nil).scan()
    let path = try #require(archives.first?.path)
    // The version of another program.
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 8)
    try file.write(contentsOf: [9])
    let taking = Receiver()
    let shipper = try Shipper(of: folder.path, as: "test", to: taking, configuration: .quick())
    let results = try await shipper.retryRefused()
    #expect(results.acknowledged == 2 && results.missing == 0 && results.waiting == 1)
    #expect(shipper.statistics.lastError?.contains(path) == true)
    let aside = try RefusedRecords.read(of: "test", in: Directory.open(folder.path))
    #expect(aside.entries.count == 1)
    try file.seek(toOffset: 8)
    try file.write(contentsOf: [2])
    #expect(try await shipper.retryRefused().acknowledged == 1)
    #expect(Set(taking.messages) == Set(records(1...3)))
  }

  #if DEBUG
    @Test("what is left aside is not written anew for each session that is sent again")
    func leftOnce() async throws {
      let count = 100
      let folder = try await refusedSessions(count)
      // This fault never comes: it only counts the calls.
      let path = folder("test.refused")
      ForcedFault.force(.unlinkat, errno: EIO, onCall: .max, under: path)
      ForcedFault.force(.renameat, errno: EIO, onCall: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      let taking = Receiver()
      let shipper = try Shipper(of: folder.path, as: "test", to: taking, configuration: .quick())
      #expect(try await shipper.retryRefused().acknowledged == count)
      let changes = [SystemCall.unlinkat, .renameat].map { ForcedFault.passed($0, under: path) }
      #expect((1...count / 2).contains(changes.reduce(0, +)), "\(changes)")
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(try Reconciliation(of: folder.path, consumer: "test").problems == [])
    }
  #endif

  @Test("lines of what was put aside that cannot be read stay, as they are, and are counted")
  func unreadableLines() async throws {
    let test = try ShippedStore()
    try test.log(1...3)
    let receiver = Receiver { _, _ in
      LogBatch.Answer(refused: (0..<3).map { .init(index: $0, reason: "no") })
    }
    let shipper = try await test.ship(to: receiver)
    let path = test.folder("test.refused")
    var lines = try Folder.read(path).split(separator: UInt8(ascii: "\n")).map(Array.init)
    try #require(lines.count == 3)
    lines[1][20] ^= 1
    let unreadable = [lines[1], [0xFF, 0x00, 0x20]]
    try Folder.write(Array((lines + [unreadable[1]]).joined(separator: [10])), to: path)
    receiver.change { _, _ in .accepted }
    let results = try await shipper.retryRefused()
    #expect(results.acknowledged == 2 && results.refused == 0 && results.missing == 0)
    #expect(results.unreadable == 2)
    #expect(try Folder.read(path) == Array(unreadable.joined(separator: [10])) + [10])
    let again = try await shipper.retryRefused()
    #expect(again.acknowledged == 0 && again.unreadable == 2)
    #expect(try Folder.read(path) == Array(unreadable.joined(separator: [10])) + [10])
  }

  @Test("what the largest record makes as JSON can be read again when it was put aside")
  func largestLine() throws {
    let folder = TemporaryDirectory()
    let directory = try Directory.openForItsUser(folder.path)
    // The JSON of a text of 16 MiB, in which each byte takes six.
    let entry = RefusedRecords.Entry(
      time: .now, batch: "b", record: "r", reason: "no",
      content: String(repeating: "\\u0001", count: 16 << 20))
    try RefusedRecords.replace(with: [entry], of: "test", in: directory)
    let read = try RefusedRecords.read(of: "test", in: directory)
    #expect(read.entries == [entry] && read.corrupted.isEmpty)
  }

  @Test("what is refused again without a name stays aside, and counts", arguments: [1, 4])
  func refusedAgainUnnamed(count: Int) async throws {
    let test = try ShippedStore()
    try test.log(1...20)
    let refusing = Receiver { delivery, _ in
      LogBatch.Answer(refused: (0..<count).map { .init(index: $0, reason: "no") })
    }
    try await test.ship(to: refusing)
    let unnamed = Receiver { _, _ in LogBatch.Answer(refusedUnnamed: 1, reason: "full") }
    let results = try await test.shipper(to: unnamed).retryRefused()
    #expect(results.acknowledged == count - 1 && results.refused + results.missing == 1)
    let aside = try RefusedRecords.read(of: "test", in: Directory.open(test.folder.path))
    #expect(aside.entries.reduce(0) { $0 + $1.count } == 1)
    #expect(try problems(test, received: 19) == [])
  }
}
