import Glibc
import MMLog
import MMLogAnalysis
import MMLogCrypto
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

#if Encryption
  /// Archives whose frames are chained by hashes, changed by somebody who makes all checksums
  /// right.
  @Suite struct ChainTests {
    private let folder = TemporaryDirectory()
    private var logs: String { folder("logs") }

    init() throws { try Folder.make(folder("logs")) }

    private func store(
      _ change: (inout LogStore.Configuration) -> Void = { _ in }
    ) throws -> LogStore {
      var configuration = LogStore.Configuration()
      configuration.hashChain = true
      configuration.ringSize = 1 << 20
      configuration.compressionLevel = 0
      change(&configuration)
      return try LogStore(directory: logs, name: "test", configuration: configuration)
    }

    /// Writes a session of some archives, each with two frames of one record. The last archive has
    /// the session's end, too.
    ///
    /// - Returns: The head after each frame of records, as `mmlogctl head` prints it.
    @discardableResult
    private func write(
      archives count: Int, _ change: (inout LogStore.Configuration) -> Void = { _ in }
    ) throws -> [ArchiveHead] {
      let store = try store(change)
      var heads: [ArchiveHead] = []
      for archive in 0..<count {
        if archive > 0 { try store.rotate() }
        for frame in 0..<2 {
          store.logger(label: "l").info("record \(archive) \(frame)")
          try store.flush(.archive)
          heads += try LogFiles([.path(logs)]).heads().filter { !heads.contains($0) }
        }
      }
      try store.close()
      return heads
    }

    private func paths() throws -> [String] {
      try Folder.names(logs).filter { $0.hasSuffix(".mmlog") }.map { "\(logs)/\($0)" }
    }

    private func archive(_ index: Int) throws -> ArchiveFile {
      try ArchiveFile.all(in: File.open(paths()[index], .read))[0]
    }

    private func corruption() -> [String] {
      LogFiles([.path(logs)]).verify().flatMap(\.corruption).map(\.what)
    }

    private func verdicts(_ heads: [ArchiveHead]) -> [String] {
      LogFiles([.path(logs)]).check(heads).map {
        switch $0.verdict {
        case .intact: "intact"
        case .deleted: "deleted"
        case .broken(let how): how
        default: "?"
        }
      }
    }

    /// Changes a byte of a frame's payload, and makes all checksums right.
    ///
    /// - Parameter rechains: Whether all later hashes are made right, too.
    private func forge(_ path: String, frame changed: Int, rechains: Bool) throws {
      let archive = try ArchiveFile.all(in: File.open(path, .read))[0]
      let bytes = try Folder.read(path)
      var forged = Array(bytes[..<FileHeaderLayout.size])
      var chain = try forged.withUnsafeBytes { try FrameChain(fileHeader: $0) }
      for (number, frame) in archive.frames.enumerated() {
        var header = frame.header
        var payload = Array(
          bytes[frame.offset + header.headerSize..<frame.offset + header.frameSize]
            .prefix(header.payloadSize))
        if number == changed { payload[payload.count - 9] ^= 1 }
        if rechains { header.previous = chain.head }
        let start = forged.count
        header.encode(storing: payload, into: &forged)
        try forged.withUnsafeBytes {
          try chain.append(header, $0.slice(start, $0.count - start))
        }
      }
      forged += bytes[forged.count...]
      try Folder.write(forged, to: path)
    }

    @Test("what nobody changed is intact, and a head is one line")
    func whatNobodyChangedIsIntact() throws {
      let heads = try write(archives: 3)
      #expect(heads.count == 6 && heads.map(\.archive) == [1, 1, 2, 2, 3, 3])
      #expect(corruption().isEmpty && verdicts(heads) == Array(repeating: "intact", count: 6))
      for head in heads { #expect(ArchiveHead(head.description) == head) }
      #expect(ArchiveHead(heads[0].description.dropLast(5) + "") == nil)
      let read = try readInPython([logs])
      #expect(read.records.count == 6 && !read.hasTrouble)
    }

    @Test("a repair breaks no link of what is whole, and a hole is one that is found")
    func aRepairKeepsTheChain() throws {
      let heads = try write(archives: 2)
      let whole = folder("whole")
      _ = try LogRepair.write(LogFiles([.path(logs)]), to: whole)
      #expect(LogFiles([.path(whole)]).verify().flatMap(\.corruption).isEmpty)
      var bytes = try Folder.read(paths()[0])
      let frame = try archive(0).frames.first { $0.header.type == .records }
      let place = try #require(frame).offset + #require(frame).header.headerSize + 3
      bytes[place] ^= 1
      try Folder.write(bytes, to: paths()[0])
      let repaired = folder("repaired")
      _ = try LogRepair.write(LogFiles([.path(logs)]), to: repaired)
      let found = LogFiles([.path(repaired)]).verify().flatMap(\.corruption).map(\.what)
      #expect(found.count == 2 && found[0].contains("was written by a repair"), "\(found)")
      #expect(found[1].contains("not chained to archive 1"))
      let verdicts = LogFiles([.path(repaired)]).check(heads).map(\.verdict)
      #expect(verdicts.allSatisfy { $0 != .intact })
      let read = try readInPython([repaired])
      #expect(read.hasTrouble)
    }

    @Test("a sealed archive's head is known without reading it")
    func aSealedArchivesHeadIsKnown() throws {
      try write(archives: 2)
      for index in 0..<2 {
        let path = try paths()[index]
        let name = try #require(path.split(separator: "/").last.map(String.init))
        let info = try #require(try Catalog(of: logs, store: nil).inspect(at: name))
        let head = try #require(info.head)
        #expect(try archive(index).head() == head && verdicts([head]) == ["intact"])
      }
      #expect(try archive(1).fileHeader.previousHead == archive(0).head()?.hash)
    }

    @Test("a frame that was changed is found by the next one's hash", arguments: 0..<4)
    func aChangedFrameIsFound(frame: Int) throws {
      let heads = try write(archives: 1)
      try forge(paths()[0], frame: frame, rechains: false)
      let changed = "changed since frame \(frame + 1) was written"
      #expect(corruption().filter { $0 == changed }.count == 1)
      // The first head covers three frames: dictionary and records are written together.
      let isCovered = heads.map { UInt64(frame) < $0.frames }
      #expect(zip(verdicts(heads), isCovered).allSatisfy { ($0 != "intact") == $1 })
      #expect(try readInPython([logs]).hasTrouble)
    }

    @Test("a frame that was changed with all hashes behind it is found by a head only")
    func aNewChainIsFoundByAHead() throws {
      let heads = try write(archives: 1)
      let records = try archive(0).frames.lastIndex { $0.header.type == .records }
      try forge(paths()[0], frame: try #require(records), rechains: true)
      #expect(!corruption().contains { $0.hasPrefix("changed") })
      let path = try paths()[0]
      #expect(
        verdicts(heads) == ["intact", "what \(path) has up to there is not what it was"])
    }

    @Test("an archive with another chain is not what the next one is chained to")
    func anArchiveIsChainedToTheOneBefore() throws {
      let heads = try write(archives: 2)
      try forge(paths()[0], frame: 1, rechains: true)
      let link = "the file header is not chained to archive 1 as that is now"
      #expect(corruption().contains(link))
      #expect(verdicts(heads).allSatisfy { $0 != "intact" })
    }

    #if DEBUG
      @Test("an archive that cannot be read leaves the others and their links checked")
      func anUnreadableArchiveLeavesOthersChecked() throws {
        let heads = try write(archives: 4)
        let paths = try paths()
        try forge(paths[2], frame: 1, rechains: true)
        let files = LogFiles([.path(logs)])
        ForcedFault.force(.pread, errno: EIO, times: .max, under: paths[1])
        defer { ForcedFault.clear(under: paths[1]) }
        let reports = files.verify()
        let unchecked = reports.map(\.unchecked)
        #expect(unchecked.map { $0 != nil } == [false, true, false, false], "\(unchecked)")
        #expect(unchecked[1]?.hasPrefix("\(paths[1]): the hash chain is not checked") == true)
        let link = "the file header is not chained to archive 3 as that is now"
        #expect(reports[3].corruption.map(\.what).contains(link))
        let verdicts = files.check(heads).map(\.verdict)
        #expect(verdicts[0...1] == [.intact, .intact])
        #expect(verdicts[2...].allSatisfy { $0 == .unchecked(unchecked[1] ?? "") }, "\(verdicts)")
      }
    #endif

    @Test("frames that were cut off, with a trailer or without, are found by a head")
    func aCutIsFound() throws {
      let heads = try write(archives: 1)
      let (path, file) = (try paths()[0], try archive(0))
      let cut = try #require(file.frames.first { $0.header.ordinal == heads[0].frames })
      try Folder.write(Array(Folder.read(path)[..<cut.offset]), to: path)
      let what = "\(path) has \(heads[0].frames) frames, and had \(heads[1].frames) or more"
      #expect(verdicts(heads) == ["intact", what])
    }

    private func payload(of frame: ArchiveFile.Frame, in bytes: [UInt8]) -> [UInt8] {
      let start = frame.offset + frame.header.headerSize
      return Array(bytes[start..<start + frame.header.payloadSize])
    }

    @Test("frames that were cut out right before a head are found", arguments: [false, true])
    func aCutBeforeAHeadIsFound(isSubstitute: Bool) throws {
      try write(archives: 1)
      let (path, file) = (try paths()[0], try archive(0))
      let (bytes, head) = (try Folder.read(path), try #require(try file.head()))
      let index = try #require(file.frames.last)
      #expect(index.header.ordinal == head.frames && verdicts([head]) == ["intact"])
      for first in 0..<Int(head.frames) {
        var cut = Array(bytes[..<file.frames[first].offset])
        var header = index.header
        header.isSubstitute = isSubstitute
        header.encode(storing: payload(of: index, in: bytes), into: &cut)
        try Folder.write(cut, to: path)
        let found = verdicts([head])
        let what =
          isSubstitute
          ? "what \(path) has up to there is not what it was"
          : "\(path) is not chained up to there: before its frame \(first), something is missing, "
            + "or is not what it was"
        #expect(found == [what], "\(found)")
      }
    }

    @Test("a changed frame that stands behind what a head covers is found")
    func aMovedFrameIsFound() throws {
      try write(archives: 1)
      let (path, file) = (try paths()[0], try archive(0))
      let (bytes, head) = (try Folder.read(path), try #require(try file.head()))
      let (moved, next) = (file.frames[1], file.frames[2])
      var forged = Array(bytes[..<moved.offset]) + bytes[next.offset..<file.end]
      var payload = payload(of: moved, in: bytes)
      payload[payload.count - 9] ^= 1
      var header = moved.header
      header.encode(storing: payload, into: &forged)
      try Folder.write(forged, to: path)
      #expect(try archive(0).frames.map(\.header.ordinal) == file.frames.map(\.header.ordinal))
      #expect(verdicts([head]) != ["intact"])
    }

    @Test("entries behind what a head covers change nothing of that, and are reported")
    func laterEntriesChangeNothing() throws {
      let heads = try write(archives: 1)
      let (path, file) = (try paths()[0], try archive(0))
      let seed = checksumSeed(session: file.fileHeader.identity.session, generation: 0)
      var dictionary = LogDictionary()
      for frame in file.frames where frame.header.type == .dictionary {
        try file.payload(of: frame).withUnsafeBytes {
          _ = dictionary.insert(entriesIn: $0, seed: seed)
        }
      }
      let forged = CallSite(
        file: "F.swift", function: "f", line: 1, column: 1, parts: [.literal("FORGED")])
      let entries =
        dictionary.callSites.keys.map { DictionaryEntry.callSite(id: $0, forged) }
        + dictionary.labels.keys.map { DictionaryEntry.label(id: $0, "FORGED") }
      let payload = entries.flatMap { $0.encoded(seed: seed) }.withUnsafeBytes { Array($0) }
      let end = try #require(file.frames.first { $0.header.ordinal == heads[1].frames })
      var bytes = Array(try Folder.read(path)[..<end.offset])
      var header = FrameHeader(.dictionary)
      (header.codec, header.rawSize) = (.rows, payload.count)
      (header.archive, header.ordinal) = (end.header.archive, end.header.ordinal)
      header.previous = heads[1].hash
      header.encode(storing: payload, into: &bytes)
      try Folder.write(bytes, to: path)
      let read = readHere([logs])
      #expect(read.records.map(\.message) == ["record 0 0", "record 0 1"] && read.hasTrouble)
      #expect(read.records.map(\.label) == ["l", "l"])
      #expect(verdicts(heads) == ["intact", "intact"])
      let what = "it has an impossible entry: its number is that of another one"
      #expect(corruption() == ["a frame of call sites: \(what)"])
      #expect(try readInPython([logs]).difference(from: read) == nil)
      let repaired = folder("repaired")
      _ = try LogRepair.write(LogFiles([.path(logs)]), to: repaired)
      #expect(readHere([repaired]).records.map(\.message).allSatisfy { !$0.contains("FORGED") })
    }

    @Test("the oldest archives are deleted by limits, and others are taken out")
    func whatIsGoneIsToldApart() throws {
      let heads = try write(archives: 4)
      let paths = try paths()
      Folder.remove(paths[0])
      #expect(corruption().isEmpty)
      #expect(verdicts(heads) == ["deleted", "deleted"] + Array(repeating: "intact", count: 6))
      Folder.remove(paths[2])
      let verdicts = verdicts(heads)
      #expect(verdicts[2...3] == ["intact", "intact"])
      #expect(verdicts[4...7].allSatisfy { $0.contains("an older one is there") })
      Folder.remove(paths[1])
      Folder.remove(paths[3])
      #expect(LogFiles([.path(logs)]).check(heads).allSatisfy { $0.verdict != .intact })
    }

    @Test("an archive that was taken out before a head is found by that head alone")
    func anArchiveTakenOutBeforeAHeadIsFound() throws {
      let heads = try write(archives: 5)
      let (whole, paths) = (folder("whole"), try paths())
      try Folder.copy(logs, to: whole) { _ in true }
      for gone in [1..<2, 2..<3, 3..<4, 1..<4] {
        for path in paths[gone] { Folder.remove(path) }
        let (first, last) = (gone.lowerBound + 1, gone.upperBound)
        let what =
          first == last ? "archive \(first) is gone" : "archives \(first) to \(last) are gone"
        #expect(
          verdicts(heads.suffix(1))
            == ["\(what), and an older one is there that limits delete first: \(paths[0])"])
        #expect(verdicts(Array(heads.prefix(2))) == ["intact", "intact"])
        Folder.remove(logs)
        try Folder.copy(whole, to: logs) { _ in true }
      }
      #expect(verdicts(heads.suffix(1)) == ["intact"])
    }

    @Test("a session's first archives that were taken out are found by an older session's")
    func aSessionsFirstArchivesAreFound() throws {
      let older = try write(archives: 2)
      let heads = try write(archives: 4)
      let paths = try Catalog(of: logs, store: nil).scan().map(\.path)
      for path in paths[2..<5] { Folder.remove(path) }
      let what =
        "archives 1 to 3 are gone, and an older one is there that limits delete first: \(paths[0])"
      #expect(verdicts(heads.suffix(2)) == [what, what])
      #expect(verdicts(older) == Array(repeating: "intact", count: 4))
      for path in paths[..<2] { Folder.remove(path) }
      #expect(verdicts(heads.suffix(2)) == ["intact", "intact"])
    }

    @Test("what limits delete before a head leaves that intact, whatever they spare")
    func whatLimitsDeleteLeavesHeadsIntact() throws {
      let older = try write(archives: 2) { $0.retention = .unlimited }
      let store = try store { $0.retention = .unlimited }
      var heads: [ArchiveHead] = []
      for number in 1...6 {
        store.logger(label: "l").info("record \(number)")
        try store.flush(.archive)
        heads += try LogFiles([.path(logs)]).heads().filter { $0.session != older[0].session }
        if number == 2 {
          let catalog = Catalog(of: logs, store: nil)
          let newest = try #require(try catalog.scan().last)
          try catalog.change(newest.fileName) { $0.pinned = "incident" }
        }
        if number < 6 { try store.rotate() }
      }
      #expect(heads.map(\.archive) == [1, 2, 3, 4, 5, 6])
      for count in [6, 5, 4, 3, 2] {
        try store.update { $0.retention.count = count }
        try store.applyRetention()
        #expect(try paths().count == count)
        let found = verdicts(older + heads)
        let others = found.filter { $0 != "deleted" && $0 != "intact" }
        #expect(others.isEmpty, "\(count) archives are left: \(others)")
        #expect(found.last == "intact" && found[0] == "deleted")
      }
      try store.close()
    }

    @Test("of an archive before one that is gone, a later head says nothing")
    func anArchiveBeforeOneThatIsGone() throws {
      let heads = try write(archives: 4) { $0.retention = .unlimited }
      let (last, paths) = (try #require(heads.last), try paths())
      let catalog = Catalog(of: logs, store: nil)
      let first = try #require(try catalog.scan().first)
      try catalog.change(first.fileName) { $0.pinned = "incident" }
      Folder.remove(paths[1])
      #expect(verdicts([last]) == ["?"])
      // The first one is of a part of the archive's records.
      #expect(verdicts([heads[0], last]) == ["intact", "?"])
      #expect(verdicts([heads[1], last]) == ["intact", "intact"])

      try forge(paths[0], frame: 2, rechains: true)
      try catalog.change(first.fileName) { $0.pinned = "incident" }
      #expect(corruption().isEmpty)
      #expect(verdicts([last]) == ["?"] && verdicts([heads[1], last])[1] == "?")
    }

    @Test("what limits delete behind a crash that they spare leaves heads intact")
    func whatLimitsDeleteBehindACrashLeavesHeadsIntact() throws {
      let crashing = try store { $0.retention = .unlimited }
      crashing.logger(label: "l").info("last words")
      try crashing.flush(.archive)
      // A copy of what the process would leave if it were killed here.
      let left = folder("left")
      try Folder.copy(logs, to: left) { !$0.hasPrefix(".") }
      try crashing.close()
      _ = try LogRecovery.recover(left) { Issue.record("\($0)") }
      Folder.remove(logs)
      try Folder.copy(left, to: logs)
      let first = try #require(try Catalog(of: logs, store: nil).scan().first)
      #expect(first.contents?.ending?.isCrash == true)
      let heads = try write(archives: 5) { $0.retention = .unlimited }
      let store = try store { $0.retention.count = 4 }
      store.logger(label: "l").info("later")
      try store.flush(.archive)
      try store.applyRetention()
      // The archive of the crash, the one after it, and the newest.
      #expect(try LogFiles([.path(logs)]).heads().map(\.archive) == [1, 5, 1])
      let found = verdicts(heads)
      #expect(found.allSatisfy { $0 == "intact" || $0 == "deleted" }, "\(found)")
      #expect(found.last == "intact" && found.contains("deleted"))
      try store.close()
    }

    @Test("what limits delete while a dead session is to be recovered leaves heads intact")
    func whatLimitsDeleteBeforeARecoveryLeavesHeadsIntact() throws {
      let dying = try store { $0.retention = .unlimited }
      for number in 1...3 {
        dying.logger(label: "l").info("record \(number)")
        try dying.rotate()
      }
      // A copy of what the process would leave if it were killed here.
      let (left, older) = (folder("left"), try LogFiles([.path(logs)]).heads())
      try Folder.copy(logs, to: left) { !$0.hasPrefix(".") }
      try dying.close()
      Folder.remove(logs)
      try Folder.make(logs)
      // Another process of the store. Its limits spare what is to be recovered.
      let living = try store { $0.retention = .unlimited }
      // Waits for its own recovery, which comes before its limits: the next recovery comes in a
      // minute.
      try living.applyRetention()
      try Folder.copy(left, to: logs)
      var heads: [ArchiveHead] = []
      for number in 1...4 {
        if number > 1 { try living.rotate() }
        living.logger(label: "l").info("record \(number)")
        try living.flush(.archive)
        heads += try LogFiles([.path(logs)]).heads().filter { $0.session != older[0].session }
      }
      try living.update { $0.retention.count = 4 }
      try living.applyRetention()
      let spared = try Catalog(of: logs, store: nil).scan().prefix(3)
      #expect(spared.map(\.number) == [1, 2, 3] && Set(spared.map(\.session)).count == 1)
      #expect(verdicts(heads) == ["deleted", "deleted", "deleted", "intact"])
      _ = try LogRecovery.recover(logs) { Issue.record("\($0)") }
      #expect(verdicts(heads) == ["deleted", "deleted", "deleted", "intact"])
      // Archives that are begun after the recovery are deleted after those that were recovered.
      try living.close()
      let written = try write(archives: 3) { $0.retention = .unlimited }
      let later = try #require(written.last)
      for info in try Catalog(of: logs, store: nil).scan() {
        let isFirstOfLater = info.session == later.session && info.number == 1
        if info.session == heads[0].session || isFirstOfLater { Folder.remove(info.path) }
      }
      #expect(verdicts([later]).allSatisfy { $0.contains("an older one is there") })
    }

    @Test("what limits delete while an older archive is being written leaves heads intact")
    func whatLimitsDeleteBesideAnActiveArchiveLeavesHeadsIntact() throws {
      let quiet = try store { $0.retention = .unlimited }
      quiet.logger(label: "l").info("the only record")
      try quiet.flush(.archive)
      let heads = try write(archives: 4) { $0.retention.count = 2 }
      // Closes the oldest archive of all, which no limit could delete so far.
      try quiet.close()
      let found = verdicts(heads)
      #expect(found.contains("deleted") && found.contains("intact"), "\(found)")
      #expect(found.allSatisfy { $0 == "deleted" || $0 == "intact" }, "\(found)")
    }

    @Test("what limits delete of sessions that overlap is deleted, whichever limit does it")
    func whatLimitsDeleteOfSeveralSessionsIsDeleted() throws {
      let stores = try (0..<3).map { _ in try store { $0.retention = .unlimited } }
      var heads: [ArchiveHead] = []
      // Archives of sessions that overlap: one archive of the first session is as long as three of
      // the last.
      for round in 0..<9 {
        for (index, store) in stores.enumerated() {
          store.logger(label: "l").info("record \(round)")
          try store.flush(.archive)
          heads += try LogFiles([.path(logs)]).heads().filter { !heads.contains($0) }
          if round % (3 - index) == 2 - index { try store.rotate() }
        }
      }
      for store in stores { try store.close() }
      let whole = folder("whole")
      try Folder.copy(logs, to: whole) { $0.hasSuffix(".mmlog") }
      let infos = try Catalog(of: logs, store: nil).scan()
      for order in [infos, infos.sorted { $0.lastTime < $1.lastTime }] {
        for info in order.dropLast() {
          Folder.remove(info.path)
          let others = verdicts(heads).filter { $0 != "deleted" && $0 != "intact" }
          #expect(others.isEmpty, "without \(info.path): \(others)")
        }
        Folder.remove(logs)
        try Folder.copy(whole, to: logs) { _ in true }
      }
    }

    @Test("an older archive that limits spare says nothing of one that is gone")
    func aPinnedArchiveSaysNothing() throws {
      let heads = try write(archives: 3)
      let paths = try paths()
      let name = try #require(paths[0].split(separator: "/").last.map(String.init))
      try Catalog(of: logs, store: nil).change(name) { $0.pinned = "incident" }
      Folder.remove(paths[1])
      #expect(verdicts(Array(heads[2...3])) == ["deleted", "deleted"])
    }

    @Test("a recovery goes on with the chain, in the same archive or in the next")
    func aRecoveryGoesOnWithTheChain() throws {
      for rotates in [false, true] {
        let store = try store { $0.drainInterval = .seconds(3600) }
        let log = store.logger(label: "l")
        log.info("record 0")
        try store.flush(.archive)
        if rotates { try store.rotate() }
        log.info("record 1")
        let heads = try LogFiles([.path(logs)]).heads()
        // A copy of what the process would leave if it were killed here.
        let left = folder("left\(rotates)")
        try Folder.copy(logs, to: left) { !$0.hasPrefix(".") }
        let sessions = try LogRecovery.recover(left) { Issue.record("\($0)") }
        try store.close()
        #expect(sessions.map(\.recordCount) == [1])
        let files = LogFiles([.path(left)])
        #expect(files.verify().flatMap(\.corruption).isEmpty)
        #expect(files.check(heads).map(\.verdict) == [.intact])
        #expect(files.verify().allSatisfy { $0.state == "closed, chained" })
        let read = try readInPython([left])
        #expect(read.records.map(\.message) == ["record 0", "record 1"] && !read.hasTrouble)
        for path in try paths() { Folder.remove(path) }
      }
    }

    @Test("a recovery goes on with the chain of an archive that a limit has deleted")
    func aRecoveryGoesOnBehindADeletedArchive() throws {
      let store = try store { $0.drainInterval = .seconds(3600) }
      let log = store.logger(label: "l")
      log.info("record 0")
      try store.flush(.archive)
      try store.rotate()
      let head = try #require(try archive(0).head())
      log.info("record 1")
      // A copy of what the process would leave if it were killed here, without its archive.
      let left = folder("left")
      try Folder.copy(logs, to: left) { $0.hasSuffix(".ring") }
      let sessions = try LogRecovery.recover(left) { Issue.record("\($0)") }
      try store.close()
      let path = try #require(sessions.first?.archives.first?.path)
      let fileHeader = try ArchiveFile.all(in: File.open(path, .read))[0].fileHeader
      #expect(fileHeader.number == 2 && fileHeader.previousHead == head.hash)
    }

    @Test("two sessions in one file have a chain each")
    func twoSessionsHaveAChainEach() throws {
      for _ in 0..<2 { try write(archives: 1) { $0.resumeLastArchive = true } }
      #expect(try paths().count == 1 && corruption().isEmpty)
      let heads = try LogFiles([.path(logs)]).heads()
      #expect(heads.count == 2 && verdicts(heads) == ["intact", "intact"])
      #expect(try !readInPython([logs]).hasTrouble)
    }

    @Test("a session whose newest archive cannot be read has no head")
    func newestArchiveUnreadable() throws {
      let heads = try write(archives: 3)
      let (paths, newest) = (try paths(), try LogFiles([.path(logs)]).heads())
      #expect(newest.map(\.archive) == [3])
      let bytes = try paths.map { try Folder.read($0) }
      try Folder.write(Array("no archive".utf8), to: paths[0])
      #expect(try LogFiles([.path(logs)]).heads() == newest)
      try Folder.write(bytes[0], to: paths[0])
      try Folder.write(Array("no archive".utf8), to: paths[2])
      let files = LogFiles([.path(logs)])
      #expect(files.unreadable.map(\.path) == [paths[2]])
      // That of an older archive would say nothing about the newest.
      #expect(try files.heads() == [])
      #expect(heads.count == 6)
    }

    @Test("each bit that is changed is reported") func eachBitThatIsChangedIsReported() throws {
      let heads = try write(archives: 1)
      let path = try paths()[0]
      let (bytes, file) = (try Folder.read(path), try archive(0))
      let covered = file.frames.first { $0.header.ordinal == heads[1].frames }?.offset ?? 0
      for bit in stride(from: 0, to: covered * 8, by: 7) {
        try Folder.write(bytes.flipping(bit: bit), to: path)
        let files = LogFiles([.path(logs)])
        let isFound = files.fileCount == 0 || files.verify().contains { !$0.corruption.isEmpty }
        #expect(isFound, "bit \(bit)")
        #expect(files.check([heads[1]]).first?.verdict != .intact, "bit \(bit)")
      }
    }

    @Test("an archive that gets other recipients keeps its head")
    func anArchiveThatGetsOtherRecipientsKeepsItsHead() throws {
      let memory = try Folder.temporary()
      defer { Folder.remove(memory) }
      let identities = try (0..<2).map { _ in
        try Identity.all(in: #require(PipedProgram.output(of: ["age-keygen"]), "age is missing"))[0]
      }
      let heads = try write(archives: 2) {
        $0.recipients = [identities[0].recipient]
        $0.ringDirectory = memory
      }
      for path in try paths() {
        let name = try #require(path.split(separator: "/").last.map(String.init))
        try Catalog(of: logs, store: nil).rewrap(
          name, with: LogIdentities([identities[0]]), for: identities.map(\.recipient))
      }
      #expect(corruption().isEmpty && verdicts(heads) == Array(repeating: "intact", count: 4))
    }
  }
#else
  @Suite struct ChainTests {
    @Test("without libcrypto, frames are not chained, and that is said")
    func withoutLibraryFramesAreNotChained() throws {
      let folder = TemporaryDirectory()
      var configuration = LogStore.Configuration()
      configuration.hashChain = true
      let error = #expect(throws: LogError.self) {
        try LogStore(directory: folder("logs"), name: "test", configuration: configuration)
      }
      #expect(error?.code == .invalidConfiguration)
      #expect(error?.message.contains("trait Encryption") == true)
    }

    @Test("without libcrypto, an archive that is to be chained leaves nothing")
    func anArchiveThatIsToBeChainedLeavesNothing() throws {
      let fixture = Fixture()
      let fileHeader = ArchiveHeader(
        identity: fixture.identity, number: 1, created: 0, previousHead: FrameHash.none)
      #expect(throws: SystemError.self) {
        try ArchiveWriter(in: fixture.directory(), fileHeader, compressionLevel: 0)
      }
      #expect(fixture.names.isEmpty)
    }
  }
#endif
