import Foundation
import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// What a shipper does if something that it needs is missing.
@Suite struct BadWorldTests {
  @Test("of two shippers for one consumer, one waits")
  func twoShippers() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    let first = try test.shipper(to: receiver)
    let second = try test.shipper(to: receiver)
    try first.start()
    try test.log(1...10)
    try await wait { receiver.messages.count == 10 }
    let error = await #expect(throws: LogError.self) { try await second.shipAll() }
    #expect(error?.code == .archiveInUse)
    let events = second.events
    try second.start()
    for await event in events { if case .waitingForAnother = event { break } }
    await first.stop()
    try test.log(11...20)
    try await wait { receiver.messages.count == 20 }
    await second.stop()
    #expect(receiver.messages == records(1...20))
  }

  @Test("events that are asked for after the end have an end")
  func lateEvents() async throws {
    let test = try ShippedStore()
    let shipper = try test.shipper(to: Receiver())
    try shipper.start()
    await shipper.stop()
    for await event in shipper.events { Issue.record("\(event)") }
  }

  @Test("an archive with a number that no other can follow is reported, and others are shipped")
  func greatestNumber() async throws {
    let (log, receiver) = (TestLog(), Receiver())
    (log.writesRing, log.firstArchive) = (false, .max - 1)
    for text in ["a", "b"] {
      log.write(text, ticks: 1)
      log.beginArchive()
      log.archive()
      log.close(text == "a" ? nil : .closed)
    }
    log.save()
    let shipper = try Shipper(
      of: log.folder.path, as: "test", to: receiver, configuration: .quick())
    #expect(try await shipper.shipAll() == false)
    #expect(receiver.messages == ["a"])
    #expect(shipper.statistics.lastError?.contains("archive number") == true)
  }

  @Test("a relative directory stays where it was, wherever the process goes")
  func relativeDirectories() async {
    await #expect(processExitsWith: .success) {
      let (folder, other) = (TemporaryDirectory(), TemporaryDirectory())
      require(chdir(folder.path) == 0)
      let store = try LogStore(directory: "logs", name: "orders")
      let receiver = Receiver()
      let shipper = try Shipper(of: "logs", as: "test", to: receiver, configuration: .quick())
      let archives = try ArchiveShipper(of: "logs", to: ArchiveShippingTests.Shelf())
      require(chdir(other.path) == 0)
      store.logger(label: "l").info("record")
      try await store.close()
      require(shipper.directory == folder("logs") && archives.directory == folder("logs"))
      require(try await shipper.shipAll())
      require(receiver.messages == ["record"])
      require(try await archives.shipAll() == 1)
      require(try other.names().isEmpty)
    }
  }

  @Test("a directory that is taken away is waited for, and nothing is shipped twice")
  func directoryTakenAway() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver)
    try shipper.start()
    try test.log(1...10)
    try await wait { shipper.statistics.records == 10 }
    // An open store would make the directory again, and archive there what its ring has.
    try await test.store.close()
    let away = test.folder.path + ".away"
    try FileManager.default.moveItem(atPath: test.folder.path, toPath: away)
    try await wait { shipper.statistics.lastError != nil }
    try await bringBack(away, test)
    try logMore(11...20, test)
    try await wait { receiver.messages.count == 20 }
    await shipper.stop()
    #expect(receiver.messages == records(1...20))
  }

  private func logMore(_ numbers: ClosedRange<Int>, _ test: ShippedStore) throws {
    let store = try LogStore(directory: test.folder.path, name: "test")
    let log = store.logger(label: "test")
    for number in numbers { log.info("record \(number)") }
    try store.close()
  }

  private func bringBack(_ away: String, _ test: ShippedStore) async throws {
    try await wait {
      try? FileManager.default.removeItem(atPath: test.folder.path)
      return (try? FileManager.default.moveItem(atPath: away, toPath: test.folder.path)) != nil
    }
  }

  @Test("an empty directory in its place is no reason to ship anything again")
  func otherDirectory() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver)
    try shipper.start()
    try test.log(1...10)
    try await wait { shipper.statistics.records == 10 }
    // An open store would make the directory again, and archive there what its ring has.
    try await test.store.close()
    let away = test.folder.path + ".away"
    try FileManager.default.moveItem(atPath: test.folder.path, toPath: away)
    try FileManager.default.createDirectory(
      atPath: test.folder.path, withIntermediateDirectories: true)
    // The shipper works in the empty directory, too.
    try await wait { try test.folder.names(ending: ".consumer").count == 1 }
    try await bringBack(away, test)
    try logMore(11...20, test)
    try await wait { receiver.messages.count == 20 }
    await shipper.stop()
    #expect(receiver.messages == records(1...20))
  }

  @Test("where so much was refused that nobody can have meant it, nothing more is sent")
  func refusedTooMuch() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try test.log(1...10)
    do {
      let file = try File.open(test.folder("test.refused"), [.write, .create])
      // The file is a hole, and takes no space.
      try file.truncate(to: 300 << 20)
    }
    let error = await #expect(throws: LogError.self) {
      try await test.shipper(to: receiver).shipAll()
    }
    #expect(error?.path == test.folder("test.refused") && receiver.tryCount == 0)
    try FileManager.default.removeItem(atPath: test.folder("test.refused"))
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...10))
  }

  @Test("what was taken of a batch does not go again while the rest finds no place aside")
  func noPlaceAside() async throws {
    let test = try ShippedStore()
    try test.log(1...3)
    let receiver = Receiver { _, _ in .init(refused: [.init(index: 1, reason: "no")]) }
    let aside = test.folder("test.refused")
    try FileManager.default.createDirectory(atPath: aside, withIntermediateDirectories: false)
    let shipper = try test.shipper(to: receiver)
    try shipper.start()
    try await wait { shipper.statistics.lastError != nil }
    try FileManager.default.removeItem(atPath: aside)
    try await wait { shipper.statistics.refused == 1 }
    await shipper.stop()
    #expect(receiver.tryCount == 1 && shipper.statistics.records == 2)
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
  }

  @Test("a cursor that is of another destination is not gone on with")
  func otherTarget() async throws {
    let test = try ShippedStore()
    try test.log(1...3)
    let receiver = Receiver()
    // A shipper of an earlier version has noted no target.
    try await test.ship(to: receiver)
    try await test.ship(to: receiver) { $0.target = "a" }
    let other = try test.shipper(to: receiver) { $0.target = "b" }
    await #expect(throws: LogError.self) { try await other.shipAll() }
    #expect(throws: LogError.self) { try other.waiting() }
    // A shipper that names no target may send elsewhere.
    try test.log(4...4)
    try await test.ship(to: receiver)
    try await test.ship(to: receiver) { $0.target = "a" }
    await #expect(throws: LogError.self) { try await other.shipAll() }
    #expect(receiver.messages == records(1...4))
  }

  @Test("what was put aside is read in lines of any size, and what is no record is kept")
  func linesOfRefused() throws {
    let folder = TemporaryDirectory()
    let directory = try Directory.open(folder.path)
    let entries = [1, 1 << 20, 2, 1 << 18].map { size in
      RefusedRecords.Entry(
        time: .zero, batch: "b", record: "r\(size)", reason: "r",
        content: String(repeating: "x", count: size))
    }
    try RefusedRecords.replace(with: entries, of: "test", in: directory)
    let whole = try RefusedRecords.read(of: "test", in: directory)
    #expect(whole.entries == entries && whole.corrupted.isEmpty)
    // Appends bytes without a line end. What follows belongs to the same line.
    let file = try directory.openFile("test.refused", [.read, .write])
    let long = [UInt8](repeating: 0x78, count: 21 << 20)
    try long.withUnsafeBytes { try file.writeFully($0, at: file.status().size) }
    let cut = try RefusedRecords.read(of: "test", in: directory)
    #expect(cut.entries == entries && cut.corrupted == [long])
  }

  @Test("a state that is corrupted is reported, and not taken for none")
  func corruptedState() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try test.log(1...10)
    try await test.ship(to: receiver)
    let path = test.folder("test.consumer")
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    for index in bytes.indices where bytes[index] == UInt8(ascii: "m") { bytes[index] = 0 }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let error = await #expect(throws: LogError.self) {
      try await test.shipper(to: receiver).shipAll()
    }
    #expect(error?.code == .corruptedFile && receiver.messages.count == 10)
  }

  @Test("of a state that cannot be read, nobody is told that everything waits")
  func waitingBehindUnreadableState() throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let shipper = try test.shipper(to: Receiver())
    #expect(try shipper.waiting().map(\.records) == [10])
    test.folder.put("test.consumer", String(repeating: "x", count: 3 << 14))
    let corrupted = #expect(throws: LogError.self) { try shipper.waiting() }
    #expect(corrupted?.code == .corruptedFile)
    try FileManager.default.removeItem(atPath: test.folder("test.consumer"))
    try #require(mkfifo(test.folder("test.consumer"), 0o600) == 0)
    let foreign = #expect(throws: LogError.self) { try shipper.waiting() }
    #expect(foreign?.code == .foreignFile)
  }

  @Test("a file with larger slots than any state has is reported, and not taken for none")
  func tooLargeState() throws {
    let folder = TemporaryDirectory()
    let file = try File.open(folder("test.consumer"), [.write, .create])
    try file.truncate(to: 3 * ((16 << 20) + 8))
    let directory = try Directory.open(folder.path)
    var consumer = try consumerFile(in: directory)
    let error = #expect(throws: LogError.self) { _ = try consumer.read() }
    #expect(error?.code == .corruptedFile)
  }

  @Test("a state that is torn is the one before it, whatever bytes are wrong", arguments: 0..<40)
  func tornState(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let folder = TemporaryDirectory()
    var texts: [String] = []
    do {
      let directory = try Directory.open(folder.path)
      var file = try consumerFile(in: directory)
      for number in 0..<5 {
        let text = "state \(number)\n" + String(repeating: "x", count: random.scaled(0...40_000))
        texts.append(text)
        try file.write(text, isSafe: Bool.random(using: &random), in: directory)
      }
    }
    let path = folder("test.consumer")
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    // The slot of the last state, which is the fifth.
    let slot = bytes.count / 3 * 2
    let size = texts[4].utf8.count + 24
    bytes[slot + Int.random(in: 0..<size, using: &random)] ^=
      1 << UInt8.random(in: 0..<8, using: &random)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let directory = try Directory.open(folder.path)
    var file = try consumerFile(in: directory)
    let state = try file.read()
    #expect(state == texts[3] || state == texts[2], "seed \(seed)")
  }

  @Test(
    "text that is no state is none",
    arguments: [
      "", "mmlog-consumer 2\n", "mmlog-consumer 1\ncreated x\n", "mmlog-consumer 1\ncursor x\n",
      "mmlog-consumer 1\nbatch 1 2 3 4 5\n",
      "mmlog-consumer 1\nsession 00010203040506070809000a0b0c0d0e 1 2 3\n",
      "mmlog-consumer 1\nsession 00010203040506070809000a0b0c0d0e 1 2 3 4 5 6 7 -8 9\n",
      "mmlog-consumer 1\nsession 00010203040506070809000a0b0c0d0e 1 2 3 4 5 6 7 8 \(Int.max)\n",
    ])
  func noState(text: String) {
    if text.contains("batch") { return #expect(ConsumerState(text)?.batches == [:]) }
    #expect(ConsumerState(text) == nil)
  }

  /// The state as the independent reader prints it.
  private struct FoundState: Decodable {
    struct Batch: Decodable {
      let id, idOfRange, session, start, end: String
      let records, gone: Int
      let maybeSent: Bool
    }
    let sequence: UInt64
    let created: Int64
    let cursor: String
    let batches: [Batch]
    let sessions: [String: [Int]]
  }

  @Test("the independent reader reads a consumer's state, and finds the batch's id from its range")
  func independentReader() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try test.log(1...10)
    try await test.ship(to: receiver)
    try test.log(11...20)
    try await test.shipWithoutAnswer(to: receiver)
    let reader = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("IndependentReader/mmlog_reader.py")
    let output = try #require(
      PipedProgram.output(of: [
        "python3", "-B", reader.path, "--consumer", test.folder("test.consumer"),
      ]))
    let found = try JSONDecoder().decode(FoundState.self, from: Data(output.utf8))
    var file = try consumerFile(in: Directory.open(test.folder.path))
    let state = try state(in: &file)
    #expect(found.created == state.created.nanosecondsSince1970 && found.sequence > 1)
    #expect(found.cursor == state.cursor.description)
    let note = try #require(state.batches.values.first)
    let batch = try #require(found.batches.first)
    #expect(state.batches.count == 1 && found.batches.count == 1)
    #expect(batch.id == note.id && batch.idOfRange == note.id)
    #expect(batch.session == note.session.description && !batch.maybeSent && batch.gone == 0)
    #expect(batch.records == 10 && batch.start == found.cursor && batch.end != batch.start)
    #expect(found.sessions[note.session.description]?.prefix(3) == [10, 10, 0])
  }

  #if DEBUG
    @Test(
      "a state that is on the disk outlives others that fail to get there",
      arguments: [SystemCall.pwrite, .fdatasync])
    func failedWrites(call: SystemCall) throws {
      let folder = TemporaryDirectory()
      let directory = try Directory.open(folder.path)
      let path = folder("test.consumer")
      var file = try consumerFile(in: directory)
      for number in 1...3 {
        try file.write("state \(number), and more", isSafe: true, in: directory)
      }
      for number in 4...7 {
        // The write fails in the middle of the state.
        if call == .pwrite { ForcedFault.forceShort(.pwrite, count: 40, under: path) }
        ForcedFault.force(call, errno: EIO, onCall: call == .pwrite ? 2 : 1, under: path)
        #expect(throws: LogError.self) {
          try file.write("state \(number), and more", isSafe: true, in: directory)
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(bytes.range(of: Data("state 3, and more".utf8)) != nil, "\(number)")
      }
      try file.write("state 8", isSafe: false, in: directory)
      #expect(try file.read() == "state 8")
    }

    @Test("a state that moves to larger slots outlives the one behind it that fails")
    func failedGrowth() throws {
      let folder = TemporaryDirectory()
      let directory = try Directory.open(folder.path)
      let path = folder("test.consumer")
      var file = try consumerFile(in: directory)
      try file.write("state 1", isSafe: true, in: directory)
      ForcedFault.force(.fdatasync, errno: EIO, under: path)
      #expect(throws: LogError.self) {
        try file.write("state 2", isSafe: true, in: directory)
      }
      // The first of these writes moves the old state.
      ForcedFault.forceShort(.pwrite, count: 40, onCall: 2, under: path)
      ForcedFault.force(.pwrite, errno: EIO, onCall: 3, under: path)
      #expect(throws: LogError.self) {
        try file.write(String(repeating: "x", count: 20_000), isSafe: true, in: directory)
      }
      #expect(try file.read() == "state 2")
    }

    @Test("a state of which nobody knows whether it is on the disk does not count as there")
    func unsyncedState() throws {
      let folder = TemporaryDirectory()
      let directory = try Directory.open(folder.path)
      let path = folder("test.consumer")
      func write(_ texts: [(text: String, isSafe: Bool)]) throws {
        var file = try consumerFile(in: directory)
        _ = try file.read()
        for (text, isSafe) in texts { try file.write(text, isSafe: isSafe, in: directory) }
      }
      try write([("a", true), ("b", false)])
      ForcedFault.force(.fdatasync, errno: EIO, onCall: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      // Without this sync, the next state would overwrite "a".
      try write([("c", false)])
      #expect(ForcedFault.passed(.fdatasync, under: path) == 1)
    }

    @Test("what the disk does not give now is shipped when it does, and other sessions meanwhile")
    func failingReads() async throws {
      let test = try ShippedStore()
      // The archive is not complete, and so stays open: opening it does not fail.
      try test.log(1...10)
      let path = test.folder(try #require(try test.folder.names(ending: ".mmlog").first))
      try await test.logAnotherSession()
      let receiver = Receiver()
      let shipper = try test.shipper(to: receiver)
      shipper.suspend()
      try shipper.start()
      try await wait { shipper.statistics.waiting == 11 }
      ForcedFault.force(.pread, errno: EIO, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      shipper.resume()
      try await wait { shipper.statistics.lastError != nil && !receiver.messages.isEmpty }
      #expect(receiver.messages == ["another session"])
      ForcedFault.clear(under: path)
      try await wait { receiver.messages.count == 11 }
      await shipper.stop()
      #expect(receiver.messages == ["another session"] + records(1...10) && receiver.gaps.isEmpty)
    }

    @Test("a batch that has to be sent again waits for the disk, and other sessions do not")
    func failingRepeat() async throws {
      let test = try ShippedStore()
      try test.log(1...10)
      let path = test.folder(try #require(try test.folder.names(ending: ".mmlog").first))
      let (receiver, first) = (Receiver(), LockedValue(""))
      try await test.shipWithoutAnswer(to: receiver) { sent in first.withLock { $0 = sent.id } }
      receiver.change { _, _ in .accepted }
      try await test.logAnotherSession()
      ForcedFault.force(.pread, errno: EIO, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      let shipper = try test.shipper(to: receiver)
      #expect(try await shipper.shipAll() == false)
      #expect(receiver.messages == ["another session"] && shipper.statistics.lastError != nil)
      let running = try test.shipper(to: receiver)
      try running.start()
      #expect(await running.flush(within: .milliseconds(500)) == false)
      await running.stop()
      // Now two batches are known that nobody has answered.
      try await test.logAnotherSession()
      try await test.shipWithoutAnswer(to: receiver)
      ForcedFault.clear(under: path)
      receiver.change { _, _ in .accepted }
      try await test.ship(to: receiver)
      #expect(receiver.deliveries.count == 3 && receiver.gaps.isEmpty)
      #expect(receiver.messages.filter { $0 != "another session" } == records(1...10))
      let repeated = receiver.deliveries.first { $0.messages == records(1...10) }
      #expect(repeated?.id == first.withLock { $0 })
      #expect(receiver.deliveries.map(\.mayBeRepeat) == [false, true, true])
    }

    @Test("what can be read before a place where the disk fails is shipped, and the rest later")
    func failingPlace() async throws {
      var received: [[String]] = []
      for call in 1...30 where received.last?.count != 2 {
        let log = TestLog.archived(["a", "b"])
        let path = log.save()[0]
        let receiver = Receiver()
        func shipper() throws -> Shipper {
          try Shipper(
            of: log.folder.path, as: "test", to: receiver, configuration: .quick())
        }
        ForcedFault.force(.pread, errno: EIO, onCall: call, times: .max, under: path)
        defer { ForcedFault.clear(under: path) }
        #expect(try await shipper().shipAll() == (ForcedFault.struckPaths.contains(path) == false))
        received.append(receiver.messages)
        ForcedFault.clear(under: path)
        #expect(try await shipper().shipAll())
        #expect(receiver.messages == ["a", "b"] && receiver.gaps.isEmpty, "call \(call)")
      }
      #expect(received.contains(["a"]) && received.last == ["a", "b"])
    }

    @Test("a disk that is full under the cursor stops shipping, and it goes on by itself")
    func fullDisk() async throws {
      let test = try ShippedStore()
      let receiver = Receiver()
      let shipper = try test.shipper(to: receiver)
      try shipper.start()
      try test.log(1...10)
      try await wait { receiver.messages.count == 10 }
      ForcedFault.force(
        .pwrite, errno: 28, times: 4, under: test.folder("test.consumer"))
      try test.log(11...20)
      try await wait { receiver.messages.count >= 20 }
      await shipper.stop()
      ForcedFault.clear(under: test.folder("test.consumer"))
      try await test.ship(to: receiver)
      var seen: Set<String> = []
      let once = receiver.deliveries.filter { seen.insert($0.id).inserted }.flatMap(\.messages)
      #expect(once == records(1...20))
    }
  #endif

  @Test("records of a process that died are recovered and shipped, and come first")
  func orphans() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    for number in 11...20 { test.log.info("record \(number)") }
    // These are the files that the process would leave if it were killed now.
    let left = TemporaryDirectory()
    try Folder.copy(test.folder.path, to: left.path) { !$0.hasPrefix(".") }
    let receiver = Receiver()
    let shipper = try Shipper(
      of: left.path, as: "test", to: receiver, configuration: .quick())
    let events = shipper.events
    #expect(try await shipper.shipAll())
    #expect(receiver.messages == records(1...20))
    for await event in events { if case .recovered = event { break } }
    #expect(try left.names(ending: ".ring").isEmpty)
    #expect(try Reconciliation(of: left.path, consumer: "test").problems == [])
  }

  /// Moves the ring of a dead process to a folder.
  private func moveDeadRing(
    of message: String, store name: String = "test", to folder: TemporaryDirectory
  ) throws {
    let (living, copy) = (TemporaryDirectory(), TemporaryDirectory())
    let store = try LogStore(directory: living.path, name: name)
    store.logger(label: "test").info("\(message)")
    try Folder.copy(living.path, to: copy.path) { !$0.hasPrefix(".") }
    try store.close()
    let name = try #require(try copy.names(ending: ".ring").first)
    try FileManager.default.moveItem(atPath: copy(name), toPath: folder(name))
  }

  @Test("where stores share a directory of rings, a shipper leaves the ring of another store")
  func sharedRings() async throws {
    let rings = TemporaryDirectory()
    try moveDeadRing(of: "of another store", store: "billing", to: rings)
    let test = try ShippedStore { $0.ringDirectory = rings.path }
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver) { $0.ringDirectory = rings.path }
    let events = shipper.events
    try shipper.start()
    // The store has archived nothing yet.
    try await wait { shipper.statistics.lastError?.contains("'billing'") == true }
    try test.log(1...10)
    try await wait { receiver.messages.count == 10 }
    // What has this is another recovery.
    try moveDeadRing(of: "of the store itself", to: rings)
    try await wait { receiver.messages.count == 11 }
    await shipper.stop()
    #expect(receiver.messages == records(1...10) + ["of the store itself"])
    #expect(try rings.names(ending: ".ring").contains { $0.hasPrefix("billing.") })
    #expect(try test.folder.names().allSatisfy { !$0.hasPrefix("billing") })
    var failures: [LogError] = []
    for await event in events { if case .failed(let error) = event { failures.append(error) } }
    #expect(failures.map(\.code) == [.unsupported])
    #expect(failures.first?.path.hasPrefix(rings("billing.")) == true)
  }

  @Test("an empty directory does not get the only ring, which is of another store")
  func onlyRingOfAnother() async throws {
    let (rings, logs) = (TemporaryDirectory(), TemporaryDirectory())
    try moveDeadRing(of: "of another store", store: "billing", to: rings)
    let receiver = Receiver()
    let shipper = try Shipper(
      of: logs.path, as: "test", to: receiver,
      configuration: .quick { $0.ringDirectory = rings.path })
    #expect(try await shipper.shipAll())
    #expect(receiver.messages.isEmpty)
    #expect(shipper.statistics.lastError?.contains("'billing'") == true)
    #expect(try rings.names(ending: ".ring").count == 1 && logs.names(ending: ".mmlog").isEmpty)
  }

  @Test("the ring of a store that has archived nothing is shipped from among those of others")
  func firstRingAmongOthers() async throws {
    let left = (rings: TemporaryDirectory(), logs: TemporaryDirectory())
    let test = try ShippedStore { $0.ringDirectory = left.rings.path }
    test.log.info("record 1")
    // These are the files that the process would leave if it were killed now.
    try Folder.copy(test.folder.path, to: left.logs.path) { !$0.hasPrefix(".") }
    let name = try #require(try left.rings.names(ending: ".ring").first)
    let ring = try left.rings.bytes(name)
    try await test.store.close()
    left.rings.put(name, ring)
    try moveDeadRing(of: "of another store", store: "billing", to: left.rings)
    let receiver = Receiver()
    let shipper = try Shipper(
      of: left.logs.path, as: "test", to: receiver,
      configuration: .quick { $0.ringDirectory = left.rings.path })
    #expect(try await shipper.shipAll())
    #expect(receiver.messages == ["record 1"])
  }

  @Test("a ring that cannot be recovered is reported once, and what is archived is shipped")
  func unrecoverable() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let left = TemporaryDirectory()
    try Folder.copy(test.folder.path, to: left.path) { !$0.hasPrefix(".") }
    let ring = left(try #require(try left.names(ending: ".ring").first))
    // The ring is of a newer version.
    let file = try FileHandle(forUpdating: URL(filePath: ring))
    try file.seek(toOffset: UInt64(FileHeaderLayout.version))
    try file.write(contentsOf: [9])
    let receiver = Receiver()
    let shipper = try Shipper(of: left.path, as: "test", to: receiver, configuration: .quick())
    let events = shipper.events
    try shipper.start()
    try await wait { receiver.messages.count == 10 }
    // Another recovery archives this record.
    try moveDeadRing(of: "another session", to: left)
    try await wait { receiver.messages.count == 11 }
    await shipper.stop()
    #expect(receiver.messages == records(1...10) + ["another session"])
    var failures: [LogError] = []
    for await event in events { if case .failed(let error) = event { failures.append(error) } }
    #expect(failures.map(\.code) == [.newerFormat] && failures.first?.path == ring)
  }

  @Test(
    "after an upgrade, what was on its way goes again under its id, also where less of it is sent")
  func upgrade() async throws {
    let test = try ShippedStore()
    let other = test.store.logger(label: "other")
    for number in 1...10 { (number % 2 == 0 ? other : test.log).info("record \(number)") }
    try await test.store.flush(.archive)
    let receiver = Receiver()
    let sent = LockedValue<[String]>([])
    try await test.shipWithoutAnswer(to: receiver) { delivery in
      sent.withLock { $0.append(delivery.id) }
    }
    receiver.change { delivery, _ in
      sent.withLock { $0.append(delivery.id) }
      return .accepted
    }
    var filter = LogReader.Filter()
    filter.labels = ["other"]
    let shipper = try test.shipper(to: receiver) {
      $0.filter = filter
      $0.edits = [.add("version", .string(Array("2".utf8)))]
    }
    let events = shipper.events
    #expect(try await shipper.shipAll())
    #expect(receiver.messages == [2, 4, 6, 8, 10].map { "record \($0)" } && receiver.gaps.isEmpty)
    #expect(receiver.deliveries.first?.fields.first?["version"] == .string(Array("2".utf8)))
    #expect(sent.withLock { $0.count == 2 && $0[0] == $0[1] })
    for await event in events { if case .changedBatch = event { break } }
    let balance = try Reconciliation(of: test.folder.path, consumer: "test", filter: filter)
    #expect(balance.problems == [])
  }

  @Test("of what was on its way, a filter that lets more pass makes batches within the limits")
  func widenedFilter() async throws {
    let limits: [@Sendable (inout Shipper.Configuration) -> Void] = [
      { $0.maximumRecords = 64 }, { $0.maximumBytes = 4096 },
    ]
    for limit in limits {
      let test = try ShippedStore()
      for number in 1...1000 {
        if number % 50 == 0 {
          test.log.error("record \(number)")
        } else {
          test.log.info("record \(number)")
        }
      }
      try await test.store.flush(.archive)
      let receiver = Receiver()
      let onItsWay = LockedValue(0)
      try await test.shipWithoutAnswer(to: receiver) { delivery in
        onItsWay.withLock { $0 = delivery.messages.count }
      } configured: {
        limit(&$0)
        $0.filter.minimumLevel = .error
      }
      #expect((10...64).contains(onItsWay.withLock { $0 }))
      receiver.change { _, _ in .accepted }
      let shipper = try test.shipper(to: receiver, limit)
      let events = shipper.events
      #expect(try await shipper.shipAll())
      #expect(receiver.messages == records(1...1000) && receiver.gaps.isEmpty)
      #expect(receiver.deliveries.allSatisfy { $0.messages.count <= 64 })
      for await event in events { if case .changedBatch = event { break } }
      #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
    }
  }

  @Test("a wider filter does not change the name of a batch that it does not fill")
  func widenedFilterBeforeOthers() async throws {
    let test = try ShippedStore()
    for number in 1...10 { test.log.error("record \(number)") }
    for number in 11...20 { test.log.info("record \(number)") }
    for number in 21...30 { test.log.debug("record \(number)") }
    try await test.store.flush(.archive)
    let receiver = Receiver()
    let id = LockedValue("")
    try await test.shipWithoutAnswer(to: receiver) { delivery in
      id.withLock { $0 = delivery.id }
    } configured: {
      $0.filter.minimumLevel = .error
    }
    try test.log(31...40)
    receiver.change { _, _ in .accepted }
    try await test.ship(to: receiver) { $0.filter.minimumLevel = .info }
    #expect(receiver.messages == records(1...20) + records(31...40))
    #expect(receiver.deliveries.first?.id == id.withLock { $0 })
  }

  @Test("a clock that is set back does not stop anything")
  func clockSetBack() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try test.log(1...10)
    try await test.ship(to: receiver)
    // By the clock, the consumer began in the future.
    try changeState(in: test.folder) { $0.created = Timestamp.now - .seconds(-86_400 * 365) }
    try test.log(11...20)
    let shipper = try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...20) && shipper.statistics.lag == .zero)
  }
}
