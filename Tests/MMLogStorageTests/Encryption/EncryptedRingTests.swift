#if Encryption
  import Foundation
  import MMLog
  import MMLogAnalysis
  import MMLogCrypto
  import MMLogFormat
  import MMLogReader
  import MMLogStorage
  import MMLogSystem
  import TestSupport
  import Testing

  /// Rings with encrypted records, written by a store, and what a recovery makes of them.
  @Suite struct EncryptedRingTests {
    private let folder = TemporaryDirectory()
    private let identities: LogIdentities
    private let recipient: Recipient
    private var logs: String { folder("logs") }
    private var left: String { folder("left") }

    init() throws {
      folder.put(
        "identity", try #require(PipedProgram.output(of: ["age-keygen"]), "age is missing"))
      identities = try LogIdentities(files: [folder("identity")])
      recipient = try #require(identities.all.first).recipient
      try Folder.make(logs)
      try Folder.make(left)
    }

    private func newIdentities() throws -> LogIdentities {
      try LogIdentities(Identity.all(in: #require(PipedProgram.output(of: ["age-keygen"]))))
    }

    private func store(
      _ change: (inout LogStore.Configuration) -> Void = { _ in }
    ) throws -> LogStore {
      var configuration = LogStore.Configuration()
      configuration.recipients = [recipient]
      configuration.ringSize = 1 << 20
      configuration.drainInterval = .seconds(3600)
      change(&configuration)
      return try LogStore(directory: logs, name: "test", configuration: configuration)
    }

    private func ringPath() throws -> String {
      let name = try #require(try Folder.names(logs).first { $0.hasSuffix(".ring") })
      return "\(logs)/\(name)"
    }

    /// Copies what the process would leave if it were killed now.
    private func leave() throws {
      for name in try Folder.names(logs) where name.hasSuffix(".ring") || name.hasSuffix(".mmlog") {
        try Folder.write(Folder.read("\(logs)/\(name)"), to: "\(left)/\(name)")
      }
    }

    #if DEBUG
      @Test("a ring for which there is no memory leaves no file")
      func noMemory() async {
        await #expect(processExitsWith: .success) {
          [path = logs as String, recipient = recipient.description as String] in
          var configuration = LogStore.Configuration()
          configuration.recipients = [try Recipient(recipient)]
          var failures = 0
          for call in 1...20 {
            ForcedFault.force(.mmap, errno: ENOMEM, onCall: call, under: "")
            let store = try? LogStore(directory: path, name: "test", configuration: configuration)
            ForcedFault.clear(under: "")
            if store == nil { failures += 1 }
            try store?.close()
            let rings = try Folder.names(path).filter { $0.hasSuffix(".ring") }
            require(rings.isEmpty, "call \(call): \(rings)")
          }
          require(failures > 0)
        }
      }
    #endif

    @Test("streams that take turns give each byte of theirs, also across their parts")
    func streamsTakeTurns() throws {
      let cipher = RingCipher(try SlottedKey(for: [recipient]))
      var generator = SeededGenerator(seed: 21)
      let size = 128 << 10
      let streams = [SegmentStream(7, of: cipher), SegmentStream(8, of: cipher)]
      let expected = try streams.map { stream in
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
        try cipher.fill(bytes, ofStream: stream.number)
        return bytes
      }
      defer { expected.forEach { $0.deallocate() } }
      for turn in 0..<2000 {
        let count = 8 * Int.random(in: 3...500, using: &generator)
        let offset = 8 * Int.random(in: 0...(size - count) / 8, using: &generator)
        let skipped = Int.random(in: 0...3, using: &generator)
        var record = [UInt8](repeating: 0, count: count)
        let which = turn % 2
        try record.withUnsafeMutableBytes {
          try streams[which].combine(with: $0, behind: skipped, at: offset)
        }
        let zeros = [UInt8](repeating: 0, count: 8 * skipped)
        let rest = expected[which][offset + 8 * skipped..<offset + count]
        #expect(record == zeros + rest, "turn \(turn): \(count) bytes at \(offset)")
      }
    }

    @Test("sealed rows are decrypted wherever in their streams they stood")
    func scatteredSealedRows() throws {
      let cipher = RingCipher(try SlottedKey(for: [recipient]))
      var generator = SeededGenerator(seed: 22)
      var payload: [UInt64] = [1 | 3 << 32, 1, 0, 0, 7, 0, 8]
      var rows: [UInt64] = [1, 1, 0, 0]
      for number in 0..<400 as Range<UInt64> {
        let stream = Int.random(in: 0...2, using: &generator)
        let isLong = Int.random(in: 0..<20, using: &generator) == 0
        let count = Int.random(in: isLong ? 3000...20_000 : 3...40, using: &generator)
        let offset = 128 + 8 * Int.random(in: 0...100_000, using: &generator)
        var row = (0..<UInt64(count)).map { $0 &* number }
        row[0] = UInt64(count) | RecordLayout.recordKind
        row[2] = 1
        rows += row
        let number: UInt64 = [7, 0, 8][stream]
        if number != 0 {
          try row.withUnsafeMutableBytes {
            try SegmentStream(number, of: cipher).combine(with: $0, behind: 3, at: offset)
          }
        }
        payload += [UInt64(stream) | UInt64(offset) << 32] + row
      }
      let size = rows.count * 8
      let read = try payload.withUnsafeBytes {
        try SealedRows.decrypt($0, size: size, with: cipher)
      }
      #expect(read == rows.withUnsafeBytes { Array($0) })
    }

    /// Logs one record of each kind that is built in a way of its own.
    private func logAll(_ store: LogStore) throws -> [String] {
      let log = store.logger(label: "l")
      var messages: [String] = []
      for round in 0..<3 {
        log.info("MARKED \(round)", metadata: ["key": "MARKEDVALUE\(round)"])
        log.warning("plain")
        let bound = log.with(["user": "MARKEDUSER\(round)"])
        bound.info("MARKED bound \(round) \(String(repeating: "x", count: 100), privacy: .public)")
        let large = String(repeating: "MARKED large ", count: 20_000)
        log.info("\(large, privacy: .public)")
        log.info("MARKED outer \(inner(log), privacy: .public)")
        messages += [
          "MARKED \(round)", "plain",
          "MARKED bound \(round) \(String(repeating: "x", count: 100))", large, "MARKED inner",
          "MARKED outer inner",
        ]
      }
      return messages
    }

    /// Compares with what the independent reader reads, if that can decrypt here.
    private func compareWithPython(_ path: String) throws {
      guard let other = try readEncryptedInPython([path], identity: folder("identity")) else {
        return
      }
      #expect(other.difference(from: readHere([path], identities: identities)) == nil)
    }

    private func inner(_ log: Logger) -> String {
      log.info("MARKED \("inner", privacy: .public)")
      return "inner"
    }

    @Test("records of the ring are read with the key, and stand nowhere in clear")
    func recordsAreReadWithTheKey() throws {
      let store = try store { $0.ringSize = 8 << 20 }
      let written = try logAll(store)
      let read = readHere([logs], identities: identities)
      #expect(read.records.map(\.message) == written && !read.hasTrouble)
      // Compares a copy: the clock of a ring in use goes on between two readers.
      try leave()
      try compareWithPython(left)
      let ring = try Folder.read(ringPath())
      for text in ["MARKEDVALUE", "MARKEDUSER", "xxxxxxxxxxxxxxxx", "MARKED large MARKED"] {
        #expect(ring.firstRange(of: Array(text.utf8)) == nil, "\(text)")
      }
      try store.close()
      let after = readHere([logs], identities: identities)
      #expect(after.records.map(\.message) == written && !after.hasTrouble)
    }

    @Test("others read no record of the ring, and are told so once, with how many there are")
    func othersReadNoRecord() throws {
      let store = try store()
      for number in 0..<10 { store.logger(label: "l").info("record \(number)") }
      let reader = LogReader(LogFiles([.path(logs)]))
      let items = Array(reader)
      #expect(!items.contains { if case .record = $0 { true } else { false } })
      #expect(!items.contains { if case .corruption = $0 { true } else { false } })
      #expect(reader.unreadable.map(\.code) == [.encrypted])
      #expect(reader.unreadable.first?.message.hasPrefix("10 records in ") == true)
      #expect(LogFiles([.path(logs)]).verify().flatMap(\.corruption).isEmpty)
      #expect(
        LogFiles([.path(logs)], identities: identities).verify().flatMap(\.corruption).isEmpty)
      let status = try #require(RingStatus.all(in: logs) { Issue.record("\($0)") }.first)
      #expect(status.waiting.count == 10)
      try store.close()
    }

    @Test("a recovery moves records as they stand there, without a key", arguments: [false, true])
    func aRecoveryNeedsNoKey(isChained: Bool) throws {
      let store = try store {
        $0.ringSize = 8 << 20
        $0.hashChain = isChained
      }
      store.logger(label: "l").info("MARKED \("archived", privacy: .public)")
      try store.flush(.archive)
      let written = ["MARKED archived"] + (try logAll(store))
      try leave()
      let sessions = try LogRecovery.recover(left) { Issue.record("\($0)") }
      #expect(sessions.count == 1 && sessions.allSatisfy(\.corruption.isEmpty))
      #expect(try Folder.names(left).allSatisfy { !$0.hasSuffix(".ring") })
      for name in try Folder.names(left) {
        let bytes = try Folder.read("\(left)/\(name)")
        #expect(bytes.firstRange(of: Array("MARKED".utf8)) == nil, "\(name)")
      }
      let read = readHere([left], identities: identities)
      #expect(read.records.map(\.message) == written && !read.hasTrouble)
      #expect(LogFiles([.path(left)]).verify().flatMap(\.corruption).isEmpty)
      #expect(
        LogFiles([.path(left)], identities: identities).verify().flatMap(\.corruption).isEmpty)
      #expect(readHere([left]).records.isEmpty)
      try compareWithPython(left)
      try store.close()
    }

    @Test("what a recovery has made gets other recipients with its archive")
    func aRecoveredArchiveGetsOtherRecipients() throws {
      let store = try store()
      store.logger(label: "l").info("record")
      try leave()
      try store.close()
      _ = try LogRecovery.recover(left) { Issue.record("\($0)") }
      let name = try #require(try Folder.names(left).first { $0.hasSuffix(".mmlog") })
      let new = try newIdentities()
      try Catalog(of: left, store: nil).rewrap(
        name, with: identities, for: new.all.map(\.recipient))
      let read = readHere([left], identities: new)
      #expect(read.records.map(\.message) == ["record"] && !read.hasTrouble)
      #expect(readHere([left], identities: identities).records.isEmpty)
    }

    @Test("a ring gets other recipients, also while its process goes on")
    func aRingGetsOtherRecipients() throws {
      let store = try store()
      store.logger(label: "l").info("record 1")
      let new = try newIdentities()
      let name = try #require(ringPath().split(separator: "/").last.map(String.init))
      let catalog = Catalog(of: logs, store: nil)
      try catalog.rewrap(name, with: identities, for: new.all.map(\.recipient))
      store.logger(label: "l").info("record 2")
      #expect(readHere([logs], identities: new).records.map(\.message) == ["record 1", "record 2"])
      #expect(readHere([logs], identities: identities).records.isEmpty)
      // Between the two writes, old and new recipients can read the ring.
      let path = try ringPath()
      let area = RingLayout.keySlots..<RingLayout.keySlots + KeySlotsLayout.areaSize
      let before = Array(try Folder.read(path)[area])
      try catalog.rewrap(name, with: new, for: identities.all.map(\.recipient))
      let after = Array(try Folder.read(path)[area])
      try leave()
      let copy = "\(left)/\(name)"
      for half in 0..<2 {
        var bytes = try Folder.read(copy)
        for place in 0..<2 {
          let part = place == half ? after : before
          let offset = place * KeySlotsLayout.placeSize
          bytes.replaceSubrange(
            area.lowerBound + offset..<area.lowerBound + offset + KeySlotsLayout.placeSize,
            with: part[offset..<offset + KeySlotsLayout.placeSize])
        }
        try Folder.write(bytes, to: copy)
        for identities in [identities, new] {
          #expect(readHere([left], identities: identities).records.count == 2)
        }
      }
      // One of the slots is corrupted.
      for place in [0, KeySlotsLayout.placeSize] {
        try leave()
        try Folder.write(
          Folder.read(copy).flipping(bit: (area.lowerBound + place) * 8 + 700), to: copy)
        try Catalog(of: left, store: nil).rewrap(
          name, with: identities, for: new.all.map(\.recipient))
        #expect(readHere([left], identities: new).records.count == 2)
        #expect(readHere([left], identities: identities).records.isEmpty)
      }
      try store.close()
    }

    /// What is done with a ring that a dead process left.
    enum Rescue: CaseIterable { case recovery, repair, repairWithTheKey }

    @Test(
      "what becomes of a ring that got other recipients is for those",
      arguments: Rescue.allCases, [false, true])
    func aRescueIsForTheNewRecipients(rescue: Rescue, keepsOld: Bool) throws {
      let store = try store()
      let written = ["record 1", "record 2"]
      for message in written { store.logger(label: "l").info("\(message, privacy: .public)") }
      let new = try newIdentities()
      let both = LogIdentities(identities.all + new.all)
      let name = try #require(ringPath().split(separator: "/").last.map(String.init))
      try Catalog(of: logs, store: nil).rewrap(
        name, with: identities, for: (keepsOld ? both : new).all.map(\.recipient))
      try leave()
      try store.close()
      let made = rescue == .recovery ? left : folder("out")
      if rescue == .recovery {
        _ = try LogRecovery.recover(left) { Issue.record("\($0)") }
      } else {
        let key = rescue == .repairWithTheKey ? new : LogIdentities()
        _ = try LogRepair.write(LogFiles([.path(left)], identities: key), to: made)
      }
      for (identities, isRecipient) in [(new, true), (both, true), (identities, keepsOld)] {
        let read = readHere([made], identities: identities)
        #expect(read.records.map(\.message) == (isRecipient ? written : []))
      }
    }

    @Test("archives that a process begins are for its own recipients, whoever reads its ring")
    func archivesAreForTheProcessesRecipients() throws {
      let store = try store()
      let new = try newIdentities()
      let name = try #require(ringPath().split(separator: "/").last.map(String.init))
      try Catalog(of: logs, store: nil).rewrap(
        name, with: identities, for: new.all.map(\.recipient))
      store.logger(label: "l").info("record")
      try store.close()
      #expect(readHere([logs], identities: identities).records.map(\.message) == ["record"])
      #expect(readHere([logs], identities: new).records.isEmpty)
    }

    @Test("a ring that ends within its key slots gets no other recipients")
    func aCutRing() throws {
      let store = try store()
      let name = try #require(ringPath().split(separator: "/").last.map(String.init))
      try leave()
      try store.close()
      let bytes = try Folder.read("\(left)/\(name)")
      for size in [0, 1, 16, 100, KeySlotsLayout.placeSize, KeySlotsLayout.placeSize + 20] {
        let cut = Array(bytes.prefix(RingLayout.keySlots + size))
        try Folder.write(cut, to: "\(left)/\(name)")
        #expect(throws: LogError.self) {
          try Catalog(of: left, store: nil).rewrap(name, with: identities, for: [recipient])
        }
        #expect(try Folder.read("\(left)/\(name)") == cut, "\(size)")
      }
    }

    @Test("a ring that nobody here opens gets no other recipients, and one that is clear none")
    func refusedRecipients() throws {
      let store = try store()
      let name = try #require(ringPath().split(separator: "/").last.map(String.init))
      let area = RingLayout.keySlots..<RingLayout.keySlots + KeySlotsLayout.areaSize
      let before = try Folder.read(ringPath())[area]
      let stranger = try newIdentities()
      let catalog = Catalog(of: logs, store: nil)
      #expect(throws: LogError.self) {
        try catalog.rewrap(name, with: stranger, for: [recipient])
      }
      #expect(try Folder.read(ringPath())[area] == before)
      try store.close()
      let clear = try LogStore(directory: logs, name: "clear")
      let other = try #require(ringPath().split(separator: "/").last.map(String.init))
      #expect(throws: LogError.self) {
        try catalog.rewrap(other, with: identities, for: [recipient])
      }
      try clear.close()
    }

    @Test(
      "a repair keeps the records of a ring, with the key and without", arguments: [true, false])
    func aRepairKeepsRecords(hasKey: Bool) throws {
      let store = try store { ($0.archiveLevel, $0.level) = (.info, .trace) }
      let log = store.logger(label: "l")
      log.info("archived")
      try store.flush(.archive)
      for number in 0..<5 {
        log.info("MARKED \(number)")
        log.debug("MARKED flight \(number)")
      }
      try leave()
      try store.close()
      let name = try #require(try Folder.names(left).first { $0.hasSuffix(".ring") })
      let path = "\(left)/\(name)"
      // The fifth of the records that are not archived.
      let image = try RingImage(File.open(path, .read))
      let segment = try #require(image.segments.last)
      var scanner = image.scanner(of: segment, zeros: .mayBeLost)
      var offsets: [Int] = []
      while let item = scanner.next() {
        if case .record(_, let offset) = item { offsets.append(offset) }
      }
      let start = image.fileHeader.geometry.offset(ofSegment: segment.index)
      try Folder.write(
        Folder.read(path).flipping(bit: (start + offsets[offsets.count - 6] + 24) * 8), to: path)
      let files = LogFiles([.path(left)], identities: hasKey ? identities : LogIdentities())
      let out = folder("out")
      let result = try #require(try LogRepair.write(files, to: out))
      #expect(result.recordCount == 10 && result.corruption.count == 1)
      let repaired = LogFiles([.path(out)], identities: identities)
      #expect(repaired.verify().flatMap(\.corruption).isEmpty)
      #expect(LogFiles([.path(out)]).verify().flatMap(\.corruption).isEmpty)
      let read = readHere([out], identities: identities)
      let wanted = ["archived"] + (0..<5).flatMap { ["MARKED \($0)", "MARKED flight \($0)"] }
      let messages = read.records.map(\.message)
      #expect(Set(messages.filter { !$0.hasPrefix("corrupted") }).isSubset(of: Set(wanted)))
      #expect(messages.count == 11 && messages.count { $0.hasPrefix("corrupted") } == 1)
      for name in try Folder.names(out) {
        #expect(!Folder.text("\(out)/\(name)").contains("MARKED"))
      }
    }

    @Test("a repair of a ring that has lost its keys writes nothing in clear that was not")
    func aRepairWithoutKeysWritesNothingInClear() throws {
      let store = try store()
      store.logger(label: "MARKED label").info("MARKED archived")
      try store.flush(.archive)
      store.logger(label: "MARKED label").info("MARKED")
      try leave()
      try store.close()
      let name = try #require(try Folder.names(left).first { $0.hasSuffix(".ring") })
      let path = "\(left)/\(name)"
      let geometry = try RingImage(File.open(path, .read)).fileHeader.geometry
      var bytes = try Folder.read(path)
      for place in [0, KeySlotsLayout.placeSize] { bytes[RingLayout.keySlots + place + 20] ^= 1 }
      // Only the archive still has the labels and the statements.
      for offset in 0..<geometry.dictionarySize { bytes[geometry.dictionaryOffset + offset] = 0 }
      try Folder.write(bytes, to: path)
      let out = folder("out")
      let files = LogFiles([.path(left)], identities: identities)
      _ = try #require(try LogRepair.write(files, to: out))
      let clear = try Folder.names(out).filter { $0.hasSuffix(".mmlog") }.flatMap { name in
        try ArchiveFile.all(in: File.open("\(out)/\(name)", .read)).flatMap { archive in
          try archive.frames.filter { !$0.header.isEncrypted && $0.header.type == .dictionary }
            .map { try archive.payload(of: $0) }
        }
      }
      #expect(clear.allSatisfy { $0.firstRange(of: Array("MARKED".utf8)) == nil })
      let read = readHere([out], identities: identities)
      #expect(read.records.contains { $0.message == "MARKED archived" })
    }

    @Test("the programs read a ring with an identity, and say that they need one")
    func programsReadARing() throws {
      let store = try store()
      let log = store.logger(label: "l")
      let span = log.begin("order \(7)")
      log.info("waiting")
      for command in [["mmlog-decode"], ["mmlogctl", "in-flight"]] {
        let program = [ChildProcess.path(of: command[0])] + command.dropFirst()
        let read = try #require(
          PipedProgram.output(of: program + ["--identity", folder("identity"), logs]))
        #expect(read.contains("order 7") && read.contains("waiting"), "\(command)")
        let locked = try ChildProcess(
          program[0], Array(program.dropFirst()) + [logs], output: folder("out"))
        #expect(locked.wait() != .success && locked.complaints.contains("--identity"))
      }
      span.end()
      try store.close()
    }

    @Test("flight records of an encrypted ring are captured, read and recovered")
    func flightRecords() throws {
      let store = try store { ($0.archiveLevel, $0.level) = (.info, .trace) }
      let log = store.logger(label: "l")
      log.debug("MARKED \("before", privacy: .public)")
      log.info("kept")
      try store.capture(reason: "test")
      log.debug("MARKED \("after", privacy: .public)")
      try leave()
      let read = readHere([logs], identities: identities)
      #expect(
        read.records.map(\.message).sorted()
          == ["captured: test", "MARKED after", "MARKED before", "kept"].sorted()
          && !read.hasTrouble)
      try store.close()
      _ = try LogRecovery.recover(left) { Issue.record("\($0)") }
      let recovered = readHere([left], identities: identities)
      #expect(
        recovered.records.map(\.message).sorted() == read.records.map(\.message).sorted()
          && !recovered.hasTrouble)
    }

    @Test("spans decide about flight records of an encrypted ring, until it is recovered")
    func spansDecide() throws {
      let store = try store {
        ($0.archiveLevel, $0.level, $0.captureLevel) = (.info, .trace, nil)
        $0.spanCapture = SpanCapture()
      }
      let log = store.logger(label: "l")
      func flight(_ path: String) -> [String] {
        let read = readHere([path], identities: identities)
        #expect(!read.hasTrouble)
        return read.records.map(\.message).filter { $0.hasPrefix("of ") }.sorted()
      }
      let (good, bad, open) = (log.begin("good"), log.begin("bad"), log.begin("open"))
      for number in 0..<2 {
        log.with(span: good).debug("of the good one \(number)")
        log.with(span: bad).debug("of the bad one \(number)")
        log.with(span: open).debug("of the open one \(number)")
      }
      good.end()
      bad.end(failed: true)
      try store.flush(.archive)
      #expect(store.flightCounts.captured == 2)
      let kept = [0, 1].flatMap { ["of the bad one \($0)", "of the open one \($0)"] }.sorted()
      #expect(flight(logs) == kept)
      // Only a reader with the key can see yet that this span has ended.
      let last = log.begin("last")
      log.with(span: last).debug("of the last one")
      last.end()
      try leave()
      #expect(flight(left) == kept)
      _ = try LogRecovery.recover(left) { Issue.record("\($0)") }
      #expect(flight(left) == (kept + ["of the last one"]).sorted())
      open.end()
      try store.close()
      #expect(flight(logs) == ["of the bad one 0", "of the bad one 1"])
    }

    @Test("a ring is followed with the key")
    func aRingIsFollowed() throws {
      let store = try store()
      let follower = LogFollower([.path(logs)], identities: identities)
      var messages: [String] = []
      for number in 0..<3 {
        store.logger(label: "l").info("record \(number)")
        if number == 1 { try store.flush(.archive) }
        messages += follower.newMessages()
      }
      #expect(messages == ["record 0", "record 1", "record 2"])
      try store.close()
    }

    @Test(
      "threads that log as fast as they can lose nothing, whatever the policy of a full ring",
      arguments: [LogStore.FullRingPolicy.wait(upTo: .seconds(60)), .dropNewest])
    func threadsLoseNothing(policy: LogStore.FullRingPolicy) throws {
      let threads = 4
      // With `dropNewest`, as many records as fit into the ring at once.
      let count = policy == .dropNewest ? 5_000 : 40_000
      let store = try store {
        $0.fullRing = policy
        $0.ringSize = policy == .dropNewest ? 16 << 20 : 1 << 20
        $0.segmentSize = 16 << 10
      }
      let log = store.logger(label: "l")
      DispatchQueue.concurrentPerform(iterations: threads) { thread in
        for number in 0..<count { log.info("thread \(thread) record \(number)") }
      }
      let losses = store.losses
      try store.close()
      #expect(losses.isEmpty)
      var next = [Int](repeating: 0, count: threads)
      var isInOrder = true
      for case .record(let record) in LogReader(LogFiles([.path(logs)], identities: identities)) {
        let words = record.message.split(separator: " ")
        guard words.count == 4, let thread = Int(words[1]) else { continue }
        isInOrder = isInOrder && next[thread] == Int(words[3])
        next[thread] += 1
      }
      #expect(isInOrder && next == [Int](repeating: count, count: threads))
    }

    @Test("no two segments have the same stream, and each has one")
    func streamsAreUnique() throws {
      let store = try store {
        $0.segmentSize = 4096
        $0.drainInterval = .milliseconds(10)
      }
      var streams: [UInt64: UInt64] = [:]
      let log = store.logger(label: "l")
      for number in 0..<2000 {
        log.info("record \(number)")
        if number % 50 != 0 { continue }
        for segment in try RingImage(File.open(ringPath(), .read)).segments {
          #expect(segment.header.stream > 0)
          let generation = streams[segment.header.stream] ?? segment.header.generation
          #expect(generation == segment.header.generation)
          streams[segment.header.stream] = segment.header.generation
        }
      }
      #expect(streams.count > 10)
      try store.close()
    }

    @Test("a wrong bit of an encrypted record is reported, and changes no other")
    func aWrongBitIsReported() throws {
      let store = try store()
      for number in 0..<3 { store.logger(label: "l").info("record \(number)") }
      try leave()
      try store.close()
      let name = try #require(try Folder.names(left).first { $0.hasSuffix(".ring") })
      let path = "\(left)/\(name)"
      let image = try RingImage(File.open(path, .read))
      let segment = try #require(image.segments.first)
      let start = image.fileHeader.geometry.offset(ofSegment: segment.index)
      let bytes = try Folder.read(path)
      for bit in stride(from: 0, to: 3 * 32 * 8, by: 7) {
        try Folder.write(bytes.flipping(bit: (start + SegmentLayout.size) * 8 + bit), to: path)
        let read = readHere([left], identities: identities)
        #expect(read.hasTrouble, "bit \(bit)")
        #expect(
          Set(read.records.map(\.message)).isSubset(of: ["record 0", "record 1", "record 2"]))
      }
      // Flips bits of each of the two copies of the key's slot.
      try Folder.write(bytes, to: path)
      for offset in [RingLayout.keySlots, RingLayout.keySlots + KeySlotsLayout.placeSize] {
        for bit in stride(from: 0, to: 300 * 8, by: 13) {
          try Folder.write(bytes.flipping(bit: offset * 8 + bit), to: path)
          let read = readHere([left], identities: identities)
          #expect(read.records.map(\.message) == ["record 0", "record 1", "record 2"])
        }
      }
    }
  }
#endif
