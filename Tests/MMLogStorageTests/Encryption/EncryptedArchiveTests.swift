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

  /// Encrypted archives, written by a store and read by ``LogReader`` and by the independent
  /// reader, for which `age` opens the keys.
  @Suite struct EncryptedArchiveTests {
    private let folder = TemporaryDirectory()
    private let identities: LogIdentities
    private let recipient: Recipient

    init() throws {
      folder.put(
        "identity", try #require(PipedProgram.output(of: ["age-keygen"]), "age is missing"))
      identities = try LogIdentities(files: [folder("identity")])
      recipient = try #require(identities.all.first).recipient
      try Folder.make(logs)
    }

    private var logs: String { folder("logs") }

    private func store(
      _ change: (inout LogStore.Configuration) -> Void = { _ in }
    ) throws -> LogStore {
      var configuration = LogStore.Configuration()
      configuration.recipients = [recipient]
      configuration.ringSize = 1 << 20
      change(&configuration)
      return try LogStore(directory: logs, name: "test", configuration: configuration)
    }

    /// Logs records with values that stand nowhere else, and closes the store.
    @discardableResult
    private func write(_ count: Int) throws -> [String] {
      let store = try store()
      let log = store.logger(label: "secret.label")
      for number in 0..<count {
        log.info(
          "MARKED \("card \(number)", privacy: .public)", metadata: ["KEY": "VALUE\(number)"])
      }
      try store.close()
      return (0..<count).map { "MARKED card \($0)" }
    }

    /// Two archives in one file, each with a record.
    private func writeTwoInOneFile(
      _ change: (inout LogStore.Configuration, _ number: Int) -> Void = { _, _ in }
    ) throws {
      for number in 0..<2 {
        let store = try store {
          $0.resumeLastArchive = true
          change(&$0, number)
        }
        store.logger(label: "l").info("record \(number)")
        try store.close()
      }
    }

    @Test("a repair keeps what is encrypted, with the key and without", arguments: [true, false])
    func aRepairKeepsEncryption(hasKey: Bool) throws {
      let store = try store()
      for number in 0..<3 {
        store.logger(label: "l").info("MARKED \(number)")
        try store.flush(.archive)
      }
      try store.close()
      let path = try #require(archives().first)
      let frames = try ArchiveFile.all(in: File.open(path, .read))[0].frames
      let lost = try #require(frames.filter { $0.header.type == .records }.dropFirst().first)
      var bytes = try Folder.read(path)
      bytes[lost.offset + lost.header.headerSize + 3] ^= 1
      try Folder.write(bytes, to: path)
      let out = folder("out")
      let files = LogFiles([.path(logs)], identities: hasKey ? identities : LogIdentities())
      let result = try #require(try LogRepair.write(files, to: out))
      #expect(result.recordCount == 2 && result.corruption.count == 1)
      let repaired = LogFiles([.path(out)], identities: identities)
      // Only notes are in clear, and others could have written them.
      let found = repaired.verify().flatMap(\.corruption).map(\.what)
      #expect(found.count == (hasKey ? 0 : 1) && found.allSatisfy { $0.contains("is in clear") })
      let read = readHere([out], identities: identities)
      #expect(!read.hasTrouble)
      if let other = try readEncryptedInPython([out], identity: folder("identity")) {
        #expect(other.difference(from: read) == nil)
      }
      var messages: [String] = []
      for case .record(let record) in LogReader(repaired) { messages.append(record.message) }
      #expect(messages.filter { $0.hasPrefix("MARKED") } == ["MARKED 0", "MARKED 2"])
      #expect(messages.count == 3)
      for name in try Folder.names(out) {
        #expect(!Folder.text("\(out)/\(name)").contains("MARKED"))
      }
    }

    @Test("a repair with an identity writes nothing in clear where an archive's keys are lost")
    func aRepairWithoutKeysWritesNothingInClear() throws {
      let store = try store()
      for number in 0..<2 {
        store.logger(label: "MARKED label").info("MARKED \(number)")
        try store.rotate()
      }
      try store.close()
      let path = try #require(archives().first)
      var bytes = try Folder.read(path)
      for frame in try ArchiveFile.all(in: File.open(path, .read))[0].frames
      where frame.header.type == .keySlot {
        bytes[frame.offset + frame.header.headerSize + 40] ^= 5
      }
      try Folder.write(bytes, to: path)
      let out = folder("out")
      let files = LogFiles([.path(logs)], identities: identities)
      _ = try #require(try LogRepair.write(files, to: out))
      let clear = try payloadsInClear(out)
      #expect(clear.allSatisfy { $0.firstRange(of: Array("MARKED".utf8)) == nil })
      #expect(readHere([out], identities: identities).records.contains { $0.message == "MARKED 1" })
    }

    /// The payloads in the archives of a folder that need no key, decompressed.
    private func payloadsInClear(_ folder: String) throws -> [[UInt8]] {
      try Folder.names(folder).filter { $0.hasSuffix(".mmlog") }.flatMap { name in
        try ArchiveFile.all(in: File.open("\(folder)/\(name)", .read)).flatMap { archive in
          try archive.frames.filter { !$0.header.isEncrypted }.map { try archive.payload(of: $0) }
        }
      }
    }

    /// What a writer without a key puts in place of a frame, with all checksums right.
    enum Forgery: CaseIterable { case records, substitute, entries, firstEntries }

    @Test("frames in clear among encrypted ones are not believed", arguments: Forgery.allCases)
    func framesInClearAreNotBelieved(_ forgery: Forgery) throws {
      let written = try write(2)
      let path = try #require(archives().first)
      let archive = try ArchiveFile.all(in: File.open(path, .read), identities: identities)[0]
      let isOfRecords = forgery == .records || forgery == .substitute
      let type = isOfRecords ? FrameType.records : .dictionary
      let frames = archive.frames.filter { $0.header.type == type }
      let frame = try #require(forgery == .entries ? frames.last : frames.first)
      #expect(frames.count == (isOfRecords ? 1 : 2) && frame.header.isEncrypted)
      let payload = try archive.payload(of: frame)
      let forged = isOfRecords ? forgedRecords(payload) : forgedEntries(payload, of: archive)
      // Index and trailer are left out: a forger could make both right, too.
      let (bytes, index) = (try Folder.read(path), try #require(archive.frames.last))
      var copy = Array(bytes[..<frame.offset])
      var header = frame.header
      (header.codec, header.rawSize) = (.rows, forged.count)
      (header.isEncrypted, header.isSubstitute) = (false, forgery == .substitute)
      header.encode(storing: forged, into: &copy)
      copy += bytes[frame.offset + frame.header.frameSize..<index.offset]
      try Folder.write(copy, to: path)
      let read = readHere([logs], identities: identities)
      let verified = LogFiles([.path(logs)], identities: identities).verify().flatMap(\.corruption)
      // Each archive is inspected as if it stood alone.
      #expect(verified.count == (forgery == .firstEntries ? 2 : 1), "\(verified)")
      #expect(verified.first?.what.contains("in clear") == true)
      let messages = read.records.map(\.message)
      switch forgery {
      case .records: #expect(messages.isEmpty && read.hasTrouble)
      // A repair without a key writes nothing but notes.
      case .substitute: #expect(messages.isEmpty && read.hasTrouble)
      case .entries, .firstEntries: #expect(messages == written && read.hasTrouble)
      }
      guard let other = try readEncryptedInPython([logs], identity: folder("identity")) else {
        return
      }
      #expect(other.difference(from: read) == nil)
    }

    private func forgedRecords(_ payload: [UInt8]) -> [UInt8] {
      var forged = payload
      if let place = payload.firstRange(of: Array("card 0".utf8)) {
        forged.replaceSubrange(place, with: Array("FAKE 0".utf8))
      }
      return forged
    }

    private func forgedEntries(_ payload: [UInt8], of archive: ArchiveFile) -> [UInt8] {
      let seed = checksumSeed(session: archive.fileHeader.identity.session, generation: 0)
      var dictionary = LogDictionary()
      _ = payload.withUnsafeBytes { dictionary.insert(entriesIn: $0, seed: seed) }
      let site = CallSite(
        file: "F.swift", function: "f", line: 1, column: 1, parts: [.literal("FORGED")])
      return dictionary.callSites.keys
        .flatMap { DictionaryEntry.callSite(id: $0, site).encoded(seed: seed) }
        .withUnsafeBytes { Array($0) }
    }

    @Test(
      "an archive that a recovery has sealed has its key twice, as others have",
      arguments: [true, false])
    func aSealedArchiveHasItsKeyTwice(hasRing: Bool) throws {
      let store = try store { $0.drainInterval = .seconds(3600) }
      store.logger(label: "l").info("record")
      try store.flush(.archive)
      // A copy of what the process would leave if it were killed here.
      let left = folder("left")
      try Folder.copy(logs, to: left) { $0.hasSuffix(".mmlog") || hasRing && $0.hasSuffix(".ring") }
      if hasRing {
        _ = try LogRecovery.recover(left) { Issue.record("\($0)") }
      } else {
        try LogRecovery.sealRingless(left, archiveDirectory: nil, sealed: { _ in }) {
          Issue.record("\($0)")
        }
      }
      try store.close()
      let name = try #require(try Folder.names(left).first { $0.hasSuffix(".mmlog") })
      let path = "\(left)/\(name)"
      let archive = try ArchiveFile.all(in: File.open(path, .read))[0]
      let slots = archive.frames.filter { $0.header.type == .keySlot }
      #expect(archive.isClosed && archive.isSound && slots.count == 2)
      let first = try #require(slots.first)
      let wrong = (first.offset + first.header.headerSize + 40) * 8
      try Folder.write(Folder.read(path).flipping(bit: wrong), to: path)
      let read = readHere([left], identities: identities)
      #expect(read.records.map(\.message) == ["record"])
    }

    @Test("an archive with nothing but the end of its session gets other recipients")
    func anArchiveWithoutRecordsGetsOtherRecipients() throws {
      let fixture = Fixture()
      let writer = try ArchiveWriter(
        in: Directory.open(logs), ArchiveHeader(identity: fixture.identity, number: 1, created: 0),
        compressionLevel: 0, recipients: [recipient])
      try writer.append(SessionEnd(.closed, time: 1))
      // Seals the archive as a recovery without a key does.
      try writer.close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
      let new = try newIdentities(1)
      try Catalog(of: logs, store: nil).rewrap(
        writer.fileName, with: identities, for: new.all.map(\.recipient))
      let after = try ArchiveFile.all(in: File.open(writer.path, .read), identities: new)[0]
      #expect(after.isSound && (try? after.cipher.get()) != nil)
    }

    @Test("a repaired archive can be given to others, and again")
    func aRepairedArchiveIsRewrapped() throws {
      let store = try store()
      for number in 0..<5 {
        store.logger(label: "l").info("MARKED \(number)")
        try store.flush(.archive)
      }
      try store.close()
      let path = try #require(archives().first)
      var bytes = try Folder.read(path)
      let frames = try ArchiveFile.all(in: File.open(path, .read))[0].frames
      // Headers, so that nobody knows the frames' ordinals.
      for frame in frames.filter({ $0.header.type == .records })[1...3] {
        for place in 0..<8 { bytes[frame.offset + place] = 0 }
      }
      try Folder.write(bytes, to: path)
      let out = folder("out")
      _ = try #require(try LogRepair.write(LogFiles([.path(logs)]), to: out))
      let name = try #require(try Folder.names(out).first { $0.hasSuffix(".mmlog") })
      let (catalog, new) = (Catalog(of: out, store: nil), try newIdentities(1))
      try catalog.rewrap(name, with: identities, for: new.all.map(\.recipient))
      try catalog.rewrap(name, with: new, for: [recipient])
      let after = try ArchiveFile.all(in: File.open("\(out)/\(name)", .read))[0]
      #expect(after.isSound && after.isClosed)
      let messages = readHere([out], identities: identities).records.map(\.message)
      #expect(messages.first == "MARKED 0" && messages.last == "MARKED 4")
    }

    @Test("a repair writes nothing in clear into an archive that has lost all that was encrypted")
    func aRepairOfWhatWasInClearAnyway() throws {
      let store = try store()
      for number in 0..<2 {
        store.logger(label: "MARKED label").info("MARKED \(number)")
        if number == 0 { try store.rotate() }
      }
      try store.close()
      let path = try #require(archives().last)
      let bytes = try Folder.read(path)
      let frame = try #require(
        try ArchiveFile.all(in: File.open(path, .read))[0].frames.first {
          $0.header.type == .sessionEnd
        })
      let end = bytes[frame.offset..<frame.offset + frame.header.frameSize]
      try Folder.write(Array(bytes[..<FileHeaderLayout.size] + end), to: path)
      let out = folder("out")
      let files = LogFiles([.path(logs)], identities: identities)
      _ = try #require(try LogRepair.write(files, to: out))
      let clear = try payloadsInClear(out)
      #expect(clear.allSatisfy { $0.firstRange(of: Array("MARKED".utf8)) == nil })
      #expect(readHere([out], identities: identities).records.contains { $0.message == "MARKED 0" })
    }

    @Test("a frame of a later version is passed over and copied by a repair, encrypted or not")
    func aFrameOfALaterVersion() throws {
      for recipients in [[recipient], []] {
        let store = try store { $0.recipients = recipients }
        for number in 0..<3 {
          store.logger(label: "l").info("record \(number)")
          try store.flush(.archive)
        }
        try store.close()
        let path = try #require(archives().first)
        var bytes = try Folder.read(path)
        let frames = try ArchiveFile.all(in: File.open(path, .read))[0].frames
        let frame = frames.filter { $0.header.type == .records }[1]
        bytes[frame.offset + FrameLayout.codec] = 0x51
        let header = frame.offset..<frame.offset + frame.header.headerSize
        let checksum = frame.offset + FrameLayout.checksum
        for place in 0..<4 { bytes[checksum + place] = 0 }
        let value = bytes[header].withUnsafeBytes { crc32c($0) }
        for place in 0..<4 {
          bytes[checksum + place] = UInt8(truncatingIfNeeded: value >> (8 * place))
        }
        try Folder.write(bytes, to: path)
        #expect(
          readHere([logs], identities: identities).records.map(\.message) == [
            "record 0", "record 2",
          ])
        let out = folder("out")
        let files = LogFiles([.path(logs)], identities: identities)
        _ = try LogRepair.write(files, to: out)
        let whole = bytes[frame.offset..<frame.offset + frame.header.frameSize]
        for name in try Folder.names(out) where name.hasSuffix(".mmlog") {
          #expect(try Folder.read("\(out)/\(name)").firstRange(of: whole) != nil)
        }
        Folder.remove(out)
        for archive in try archives() { Folder.remove(archive) }
      }
    }

    private func archives() throws -> [String] {
      try Folder.names(logs).filter { $0.hasSuffix(".mmlog") }.map { "\(logs)/\($0)" }
    }

    private func messages(_ identities: LogIdentities) -> (messages: [String], errors: [LogError]) {
      let reader = LogReader(LogFiles([.path(logs)], identities: identities))
      let messages = reader.compactMap { item -> String? in
        if case .record(let record) = item { record.message } else { nil }
      }
      return (messages, reader.unreadable)
    }

    @Test("a recipient reads all of it") func aRecipientReadsAllOfIt() throws {
      let written = try write(1000)
      let read = readHere([logs], identities: identities)
      #expect(read.records.map(\.message) == written && !read.hasTrouble)
      guard let other = try readEncryptedInPython([logs], identity: folder("identity")) else {
        return
      }
      #expect(other.difference(from: read) == nil)
    }

    @Test("others read no record, and are told so once, with how many there are")
    func othersReadNoRecord() throws {
      try write(1000)
      let stranger = try LogIdentities(
        Identity.all(in: #require(PipedProgram.output(of: ["age-keygen"]))))
      for identities in [LogIdentities(), stranger] {
        let (messages, errors) = messages(identities)
        #expect(messages.isEmpty && errors.map(\.code) == [.encrypted])
        #expect(errors.first?.message.hasPrefix("1000 records in ") == true)
      }
    }

    @Test("no value, key, label or text of a statement stands in an archive")
    func nothingIsInClear() throws {
      try write(10)
      for path in try archives() {
        let bytes = try Folder.read(path)
        for text in ["MARKED", "card", "VALUE", "KEY", "secret.label"] {
          #expect(bytes.firstRange(of: Array(text.utf8)) == nil, "\(text) in \(path)")
        }
      }
    }

    @Test("without a key, it is known how each session ended and what was lost")
    func whatIsKnownWithoutAKey() throws {
      try write(10)
      let endings = LogReader(LogFiles([.path(logs)])).compactMap { item -> SessionEnd.How? in
        guard case .sessionEnded(_, .ended(let end), _) = item else { return nil }
        return end.how
      }
      #expect(endings == [.closed])
      let archive = try #require(try archives().first)
      #expect(try ArchiveFile.all(in: File.open(archive, .read))[0].isSound)
    }

    @Test("each archive has a key of its own, at its beginning and at its end")
    func eachArchiveHasAKeyOfItsOwn() throws {
      let store = try store()
      for number in 0..<3 {
        store.logger(label: "l").info("record \(number)")
        try store.rotate()
      }
      try store.close()
      let files = try archives().map { try ArchiveFile.all(in: File.open($0, .read))[0] }
      let slots = try files.map { file in
        try file.frames.filter { $0.header.type == .keySlot }.map { try file.payload(of: $0) }
      }
      // The last archive has the session's end.
      #expect(slots.count == 4 && slots.allSatisfy { $0.count == 2 && $0[0] == $0[1] })
      #expect(Set(slots.compactMap(\.first)).count == 4)
      #expect(messages(identities).messages.count == 3)
    }

    @Test("an archive that has lost its first key is read with the second")
    func theSecondKeyIsUsed() throws {
      let written = try write(10)
      let path = try #require(try archives().first)
      var bytes = try Folder.read(path)
      let frame = try #require(ArchiveFile.all(in: File.open(path, .read))[0].frames.first)
      #expect(frame.header.type == .keySlot)
      bytes[frame.offset + frame.header.headerSize + 40] ^= 5
      try Folder.write(bytes, to: path)
      #expect(messages(identities).messages == written)
    }

    @Test("each bit that is changed is reported, or changes nothing")
    func eachBitThatIsChangedIsReported() throws {
      let written = try write(2)
      let path = try #require(try archives().first)
      let bytes = try Folder.read(path)
      var reported = 0
      for bit in 0..<bytes.count * 8 {
        try Folder.write(bytes.flipping(bit: bit), to: path)
        let reader = LogReader(LogFiles([.path(logs)], identities: identities))
        var (messages, isReported) = ([String](), !reader.unreadable.isEmpty)
        for item in reader {
          switch item {
          case .record(let record): messages.append(record.message)
          case .corruption: isReported = true
          default: continue
          }
        }
        #expect(Set(messages).isSubset(of: written), "bit \(bit): \(messages)")
        #expect(messages == written || isReported, "bit \(bit)")
        reported += isReported ? 1 : 0
      }
      // Bits of padding, and bits that are corrected, are not reported.
      #expect(reported > bytes.count * 6, "\(reported) of \(bytes.count * 8)")
    }

    @Test("a payload that is put behind another header is no payload of that")
    func aPayloadBelongsToItsHeader() throws {
      let store = try store()
      for number in 0..<2 {
        store.logger(label: "l").info("record \(number)")
        try store.flush(.archive)
      }
      try store.close()
      let path = try #require(try archives().first)
      let archive = try ArchiveFile.all(in: File.open(path, .read))[0]
      let frames = archive.frames.filter { $0.header.type == .records }
      try #require(
        frames.count == 2 && frames[0].header.payloadSize == frames[1].header.payloadSize)
      var bytes = try Folder.read(path)
      // Makes the checksums right, which is all that can be done without a key.
      var header = frames[0].header
      header.payloadChecksum = frames[1].header.payloadChecksum
      var encoded: [UInt8] = []
      header.encode(into: &encoded)
      let (first, second) = (frames[0].offset, frames[1].offset)
      bytes.replaceSubrange(first..<first + encoded.count, with: encoded)
      let payload = bytes[second + header.headerSize..<second + header.frameSize]
      bytes.replaceSubrange(first + header.headerSize..<first + header.frameSize, with: payload)
      try Folder.write(bytes, to: path)
      let read = readHere([logs], identities: identities)
      #expect(read.records.map(\.message) == ["record 1"] && read.hasTrouble)
    }

    @Test("a ring that is left is archived for its recipients, whoever recovers it")
    func aRingThatIsLeftIsArchivedForItsRecipients() throws {
      let store = try store { $0.drainInterval = .seconds(3600) }
      let log = store.logger(label: "l")
      log.info("record 0")
      try store.flush(.archive)
      log.info("record 1")
      // A copy of what the process would leave if it were killed here.
      let ring = try #require(try Folder.names(logs).first { $0.hasSuffix(".ring") })
      let left = folder("left")
      try Folder.make(left)
      try Folder.write(Folder.read("\(logs)/\(ring)"), to: "\(left)/\(ring)")
      for path in try archives() {
        try Folder.write(
          Folder.read(path), to: left + "/" + String(path.split(separator: "/").last ?? ""))
      }
      let sessions = try LogRecovery.recover(left) { Issue.record("\($0)") }
      try store.close()
      #expect(sessions.map(\.recordCount) == [1])
      let read = readHere([left], identities: identities)
      #expect(read.records.map(\.message) == ["record 0", "record 1"] && !read.hasTrouble)
      #expect(readHere([left]).records.isEmpty)
      let sealed = try Folder.names(left).filter { $0.hasSuffix(".mmlog") }.map { name in
        try ArchiveFile.all(in: File.open("\(left)/\(name)", .read)).allSatisfy(\.isClosed)
      }
      #expect(sealed == [true, true])
    }

    @Test("a session goes on behind an archive of another one with a key of its own")
    func aSessionGoesOnBehindAnArchive() throws {
      try writeTwoInOneFile()
      #expect(try archives().count == 1)
      #expect(messages(identities).messages == ["record 0", "record 1"])
    }

    @Test("an archive that gets other recipients is read by them alone, and is the same else")
    func anArchiveGetsOtherRecipients() throws {
      try writeTwoInOneFile()
      let path = try #require(try archives().first)
      let catalog = Catalog(of: logs, store: nil)
      let name = try #require(path.split(separator: "/").last.map(String.init))
      try catalog.change(name) { $0.pinned = "incident 7" }
      try File.open(path, .read).set(FileAccess(mode: 0o640, group: nil))
      let before = try ArchiveFile.all(in: File.open(path, .read), identities: identities)
      let new = try newIdentities(2)
      try catalog.rewrap(name, with: identities, for: new.all.map(\.recipient))
      #expect(messages(identities).errors.map(\.code) == [.encrypted])
      for identity in new.all {
        let read = readHere([logs], identities: LogIdentities([identity]))
        #expect(read.records.map(\.message) == ["record 0", "record 1"] && !read.hasTrouble)
      }
      let after = try ArchiveFile.all(in: File.open(path, .read), identities: new)
      #expect(after.count == 2 && after.allSatisfy { $0.isSound && $0.isClosed })
      let secret = { (file: ArchiveFile) in file.frames.filter(\.header.isEncrypted).map(\.header) }
      #expect(after.map(secret) == before.map(secret))
      #expect(try catalog.inspect(at: name)?.state.pinned == "incident 7")
      #expect(try File.status(ofPath: path).permissions == 0o640)
      #expect(try Folder.names(logs).filter { $0.hasSuffix(".new") } == [])
    }

    @Test("an archive that is not encrypted stays so beside one that gets other recipients")
    func anArchiveInClearStaysSo() throws {
      try writeTwoInOneFile { if $1 == 0 { $0.recipients = [] } }
      let name = try #require(try Folder.names(logs).first { $0.hasSuffix(".mmlog") })
      let new = try newIdentities(1)
      try Catalog(of: logs, store: nil).rewrap(
        name, with: identities, for: new.all.map(\.recipient))
      let read = readHere([logs], identities: new)
      #expect(read.records.map(\.message) == ["record 0", "record 1"] && !read.hasTrouble)
      #expect(messages(identities).messages == ["record 0"])
    }

    @Test("what has no key for anybody, and what is no whole archive, is left as it is")
    func whatCannotBeRewrapped() throws {
      let store = try store()
      store.logger(label: "l").info("record")
      try store.flush(.archive)
      let name = try #require(try Folder.names(logs).first { $0.hasSuffix(".mmlog") })
      let catalog = Catalog(of: logs, store: nil)
      let new = try newIdentities(1)
      let rewrap = { (identities: LogIdentities) in
        let before = try Folder.read("\(logs)/\(name)")
        let error = #expect(throws: LogError.self) {
          try catalog.rewrap(name, with: identities, for: [recipient])
        }
        #expect(try Folder.read("\(logs)/\(name)") == before)
        #expect(try Folder.names(logs).allSatisfy { !$0.hasSuffix(".new") })
        return error?.code
      }
      #expect(try rewrap(identities) == .archiveInUse)
      try store.close()
      #expect(try rewrap(new) == .encrypted)
      let path = "\(logs)/\(name)"
      let frame = try #require(ArchiveFile.all(in: File.open(path, .read))[0].frames.last)
      let bytes = try Folder.read(path)
      try Folder.write(bytes.flipping(bit: (frame.offset + 1) * 8), to: path)
      #expect(try rewrap(identities) == .corruptedFile)
    }

    private func newIdentities(_ count: Int) throws -> LogIdentities {
      LogIdentities(
        try (0..<count).flatMap { _ in
          try Identity.all(in: #require(PipedProgram.output(of: ["age-keygen"])))
        })
    }

    @Test("what is encrypted is followed") func whatIsEncryptedIsFollowed() throws {
      let store = try store()
      let follower = LogFollower([.path(logs)], identities: identities)
      store.logger(label: "l").info("record")
      try store.flush(.archive)
      #expect(follower.newMessages() == ["record"])
      try store.close()
    }

    @Test("more recipients than a key slot may have are refused")
    func tooManyRecipientsAreRefused() {
      let error = #expect(throws: LogError.self) {
        try store { $0.recipients = Array(repeating: recipient, count: 65) }
      }
      #expect(error?.code == .invalidConfiguration)
    }

    @Test("a file that has no identity is refused, without what it has in the error")
    func aFileWithoutIdentityIsRefused() throws {
      folder.put("wrong", "AGE-SECRET-KEY-1GFPYYSJZGFPYY\n")
      let error = #expect(throws: LogError.self) { try LogIdentities(files: [folder("wrong")]) }
      #expect(error?.code == .invalidConfiguration && error?.path == folder("wrong"))
      #expect(error?.message.contains("GFPYY") == false)
    }

    @Test("a file that is too large for identities is said to be so")
    func aFileThatIsTooLargeIsRefused() throws {
      let lines = String(repeating: "#\n", count: 1 << 19)
      let path = folder.put("large", lines + Folder.text(folder("identity")))
      let error = #expect(throws: LogError.self) { try LogIdentities(files: [path]) }
      #expect(error?.message.contains("is larger than") == true)
    }
  }
#endif
