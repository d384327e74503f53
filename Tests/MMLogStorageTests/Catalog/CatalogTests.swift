import Glibc
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct CatalogTests {
  private let fixture = Fixture()
  private var directory: String { fixture.folder.path }
  private static let second: Int64 = 1_000_000_000

  private func catalog(store: String? = "test") -> Catalog {
    Catalog(of: fixture.folder.path, store: store)
  }

  /// Makes an archive of a session. It begins `created` seconds after 1970, and is closed if
  /// `closes`.
  @discardableResult
  private func archive(
    _ number: UInt32, created: Int64, session: UInt64 = 1, ticks: [UInt64] = [1, 2],
    end: SessionEnd.How? = nil, closes: Bool = true
  ) throws -> String {
    var identity = fixture.identity
    identity.session = SessionID(words: (session, 9))
    let fileHeader = ArchiveHeader(
      identity: identity, number: number, created: Timestamp(seconds: created))
    let writer = try ArchiveWriter(in: fixture.directory(), fileHeader, compressionLevel: 1)
    try fixture.append(ticks, to: writer)
    if let end { try writer.append(SessionEnd(end, time: 5)) }
    if closes { try writer.close(dictionary: fixture.dictionary.bytes) }
    return writer.fileName
  }

  // MARK: - Scanning

  @Test("archives are listed oldest first with what they hold")
  func archivesAreListedOldestFirstWithWhatTheyHold() throws {
    try archive(2, created: 20, ticks: [3, 4, 5], end: .killed)
    try archive(1, created: 10)
    fixture.folder.put("notes.txt", [1])
    fixture.folder.put("other-20260101T000000Z-\(fixture.identity.session)-000001.mmlog", [1])
    let list = try catalog().scan()
    #expect(list.map(\.number) == [1, 2])
    #expect(list.allSatisfy { $0.isSealed && !$0.isActive && $0.storeName == "test" })
    #expect(list.map(\.created) == [Timestamp(seconds: 10), Timestamp(seconds: 20)])
    let contents = try list.map { try #require($0.contents) }
    #expect(contents.map(\.count) == [2, 3])
    #expect(contents.map { $0.count(.info) } == [2, 3] && contents[0].countOfUnknownLevel == 0)
    #expect(contents[1].times == 1003...1005)
    #expect(contents.map(\.ending) == [nil, .killed])
    for archive in list {
      #expect(try archive.size == fixture.contents(archive.path).count)
      #expect(archive.path == fixture.folder(archive.fileName))
    }
  }

  @Test("a trailer that names an index within itself is not taken for one")
  func aTrailerThatNamesAnIndexWithinItselfIsNotTakenForOne() throws {
    let name = try archive(1, created: 10)
    let bytes = try fixture.contents(fixture.folder(name))
    var trailer = try #require(
      Array(bytes.suffix(TrailerLayout.size)).withUnsafeBytes { Trailer($0) })
    for distance in [1, 8, TrailerLayout.size - 1, TrailerLayout.size] {
      trailer.indexOffset = UInt64(bytes.count - distance)
      fixture.folder.put(name, bytes.dropLast(TrailerLayout.size) + trailer.encoded)
      let found = try #require(try catalog().scan().first)
      #expect(!found.isSealed && found.contents == nil, "\(distance) bytes before the end")
    }
  }

  @Test("an archive that is continued after a crash counts what it cannot distinguish")
  func anArchiveThatIsContinuedAfterACrashCountsWhatItCannotDistinguish() throws {
    let name = try archive(1, created: 10, closes: false)
    let file = try fixture.read(fixture.folder(name))
    let writer = try ArchiveWriter(
      resuming: file, locked(fixture.folder.path, name), compressionLevel: 1)
    try fixture.append([7], to: writer)
    try writer.append(SessionEnd(.killed, time: 5))
    try writer.close(dictionary: fixture.dictionary.bytes)
    let contents = try #require(try catalog().scan().first?.contents)
    #expect(contents.count == 3 && contents.countOfUnknownLevel == 2)
    #expect(contents.ending == .killed && contents.times == 1001...1007)
  }

  @Test("an archive is active as long as its writer is there")
  func anArchiveIsActiveAsLongAsItsWriterIsThere() throws {
    var writer: ArchiveWriter? = try ArchiveWriter(
      in: fixture.directory(),
      ArchiveHeader(identity: fixture.identity, number: 1, created: 0), compressionLevel: 1)
    let catalog = catalog()
    var list = try catalog.scan()
    #expect(list.map(\.isActive) == [true] && list.map(\.isSealed) == [false])
    #expect(writer != nil)
    writer = nil
    list = try catalog.scan()
    #expect(list.map(\.isActive) == [false] && list.map(\.isSealed) == [false])
  }

  @Test("an archive whose file header is lost is known by its name and its first frame")
  func anArchiveWhoseFileHeaderIsLostIsKnown() throws {
    let name = try archive(1, created: 10, end: .killed)
    let bytes = try fixture.contents(fixture.folder(name))
    let size = FileHeaderLayout.size
    fixture.folder.put(name, [UInt8](repeating: 0, count: size) + bytes[size...])
    // Under a name of another session.
    let other = "test-20260101T000000Z-\(SessionID(words: (7, 7)))-000001.mmlog"
    fixture.folder.put(other, try fixture.folder.bytes(name))
    let catalog = catalog()
    let found = try catalog.scan()
    #expect(found.map(\.fileName) == [name])
    #expect(found.map(\.isSealed) == [true] && found.first?.contents?.ending == .killed)
    #expect(found.map(\.created) == found.map(\.modified) && catalog.totals.count == 1)
    try catalog.delete([name], if: { _ in true }) { _, outcome in
      if case .deleted = outcome { return }
      Issue.record("\(outcome)")
    }
    #expect(!fixture.names.contains(name))
  }

  @Test(
    "a note of a deleted archive has the store's name as it is",
    arguments: ["a\nb", "  a", "50%", "\u{301}a"])
  func aNoteHasTheStoresName(store: String) throws {
    var identity = fixture.identity
    identity.storeName = store
    try noteDeleted(of: identity)
    #expect(try DeletedArchives(in: fixture.directory()).notes.values.map(\.storeName) == [store])
  }

  @Test("the newest notes of deleted archives are kept, as many as are read again")
  func theNewestNotesAreKept() throws {
    let consumers = (100..<200).map { "\($0)" + String(repeating: "x", count: 61) }
      .joined(separator: ",")
    let counts = Array(repeating: "1", count: Level.allCases.count + 1).joined(separator: ",")
    let old = SessionID(words: (0, 1))
    let lines = (100...999 as ClosedRange<UInt32>).map {
      "\(old).\($0) \($0) \(consumers) \(counts) 1 - - test\n"
    }
    // As many notes as there is room for.
    let count = (2 << 20) / lines[0].utf8.count
    fixture.folder.put(".mmlog-deleted", lines.prefix(count).joined())
    var identity = fixture.identity
    // In the file, this session comes last.
    identity.session = SessionID(words: (.max, 9))
    // The notes are longer than the room that is left.
    identity.storeName = String(repeating: "s", count: 100)
    let before = try DeletedArchives(in: fixture.directory()).notes
    #expect(before.count == count)
    for number in 1...15 as ClosedRange<UInt32> { try noteDeleted(of: identity, number) }
    let notes = try DeletedArchives(in: fixture.directory()).notes
    #expect(notes.keys.count { $0.session == identity.session } == 15)
    #expect(notes[ArchiveID(session: old, number: 100)] == nil && notes.count > count)
    #expect(notes[ArchiveID(session: old, number: 99 + UInt32(count))] != nil)
  }

  /// Deletes an archive that a consumer has not acknowledged.
  private func noteDeleted(of identity: SessionIdentity, _ number: UInt32 = 1) throws {
    var consumer = try ConsumerFile("ship", in: fixture.directory())
    try consumer?.write("", isSafe: false, in: fixture.directory())
    let writer = try ArchiveWriter(
      in: fixture.directory(), ArchiveHeader(identity: identity, number: number, created: 0),
      compressionLevel: 1)
    try writer.close(dictionary: fixture.dictionary.bytes)
    try catalog(store: nil).delete([writer.fileName], if: { _ in true }) { _, _ in }
  }

  @Test("what only looks like an archive is left alone")
  func whatOnlyLooksLikeAnArchiveIsLeftAlone() throws {
    let name = "test-20260101T000000Z-\(fixture.identity.session)-000001.mmlog"
    fixture.folder.put(name, Array(repeating: 7, count: 4096))
    let real = try archive(2, created: 3)
    try #require(symlink(fixture.folder(real), fixture.folder(link)) == 0)
    let catalog = catalog()
    #expect(try catalog.scan().map(\.fileName) == [real])
    try catalog.delete([name, link], if: { _ in true }) { _, outcome in
      if case .spared = outcome { return }
      Issue.record("\(outcome)")
    }
    #expect(fixture.names.contains(name) && fixture.names.contains(link))
  }
  private var link: String { "test-20260101T000000Z-\(fixture.identity.session)-000003.mmlog" }

  @Test("a change by others is seen") func aChangeByOthersIsSeen() throws {
    let name = try archive(1, created: 10)
    let (a, b) = (catalog(), catalog())
    #expect(try a.scan().count == 1 && b.scan().count == 1)
    try a.change(name) { $0.uploaded = 42 }
    #expect(try b.scan().map(\.state.uploaded) == [42])
    try archive(2, created: 11)
    try fixture.directory().remove(name)
    #expect(try a.scan().map(\.number) == [2])
    #expect(try a.inspect(at: name) == nil)
    let error = #expect(throws: LogError.self) { try b.change(name) { $0.pinned = "" } }
    #expect(error?.code == .missingArchive)
  }

  #if DEBUG
    @Test("archives that vanish while they are listed are left out")
    func archivesThatVanishWhileTheyAreListedAreLeftOut() throws {
      let names = try (1...3 as ClosedRange<UInt32>).map { try archive($0, created: Int64($0)) }
      let known = catalog()
      _ = try known.scan()
      // An archive that is new to the catalog vanishes when it is opened, one that it knows when it
      // is inspected.
      for (catalog, call) in [(catalog(), SystemCall.openat), (known, .fstatat)] {
        ForcedFault.force(call, errno: ENOENT, under: fixture.folder(names[1]))
        var problems: [SystemError] = []
        let list = try catalog.scan { problems.append($0) }
        #expect(list.map(\.number) == (call == .openat ? [1, 3] : [1, 2, 3]) && problems.isEmpty)
      }
    }
  #endif

  @Test("the order holds when the clock was set back")
  func theOrderHoldsWhenTheClockWasSetBack() throws {
    let now = Clock.realtime() / Self.second
    try archive(1, created: now - 50, session: 1)
    // The clock was set back in the middle of a session: its archives' numbers give their order.
    try archive(2, created: now - 500, session: 1)
    try archive(1, created: now - 10, session: 2)
    let own = SessionID(words: (3, 9))
    try archive(1, created: now - 400, session: 3)
    func order() throws -> [UInt64] { try catalog().scan(own: own).map(\.session.words.0) }
    #expect(try order() == [3, 1, 1, 2])
    // A file from the future shows that the clock was set back: the archive that is being written
    // is the newest.
    try archive(1, created: now + 31_536_000, session: 4)
    #expect(try order() == [1, 1, 2, 4, 3])
  }

  @Test("an archive that cannot be read is reported and the others listed")
  func anArchiveThatCannotBeReadIsReportedAndTheOthersListed() throws {
    let names = [try archive(1, created: 10), try archive(2, created: 11)]
    #if DEBUG
      ForcedFault.force(.pread, errno: EIO, under: fixture.folder(names[0]))
      var problems: [SystemError] = []
      let list = try catalog().scan { problems.append($0) }
      #expect(list.map(\.number) == [2] && problems.map(\.errno) == [EIO])
    #endif
  }

  // MARK: - State

  @Test("state is kept in attributes or beside", arguments: [true, false])
  func stateIsKeptInAttributesOrBeside(hasAttributes: Bool) throws {
    let name = try archive(1, created: 10)
    #if DEBUG
      if !hasAttributes { refuseAttributes() }
      defer { ForcedFault.clear(under: fixture.folder.path) }
    #endif
    let catalog = catalog()
    try catalog.change(name) {
      $0.uploaded = 42
      $0.pinned = "an incident, with = and spaces"
      $0.lease = UploadLease(owner: "host 7 a", expiry: 99)
      $0.receipt = "version 3/L4kqtJlcpXroDTDmpUMLUo"
    }
    let listed = try #require(try catalog.inspect(at: name))
    try catalog.setAttribute("OPS-17, ärgerlich", for: "ticket", on: listed)
    try catalog.setAttribute("", for: "a.b-c_D9", on: listed)
    try catalog.setAttribute("gone", for: "gone", on: listed)
    try catalog.setAttribute(nil, for: "gone", on: listed)
    for catalog in [catalog, self.catalog()] {
      let state = try #require(try catalog.scan().first?.state)
      #expect(state.uploaded == 42 && state.pinned == "an incident, with = and spaces")
      #expect(state.lease == UploadLease(owner: "host 7 a", expiry: 99))
      #expect(state.receipt == "version 3/L4kqtJlcpXroDTDmpUMLUo")
      #expect(state.attributes == ["ticket": "OPS-17, ärgerlich", "a.b-c_D9": ""])
    }
    #expect(fixture.names.contains(name + ".state") == !hasAttributes)
    try catalog.change(name) { ($0.pinned, $0.lease) = (nil, nil) }
    try catalog.unmarkUploaded(listed)
    for key in ["ticket", "a.b-c_D9"] { try catalog.setAttribute(nil, for: key, on: listed) }
    let state = try #require(try self.catalog().scan().first?.state)
    #expect(!state.isUploaded && !state.isPinned && state.lease == nil)
    #expect(state.receipt == nil && state.attributes.isEmpty)
    // The sidecar goes with its archive.
    try catalog.delete([name], if: { _ in true }) { _, _ in }
    try catalog.emptyTrash()
    #expect(fixture.names == [".mmlog-lock", ".mmlog-trash"])
  }

  @Test("a text that begins with a combining mark is kept", arguments: [true, false])
  func aTextThatBeginsWithACombiningMarkIsKept(hasAttributes: Bool) throws {
    let name = try archive(1, created: 10)
    #if DEBUG
      if !hasAttributes { refuseAttributes() }
      defer { ForcedFault.clear(under: fixture.folder.path) }
    #endif
    let (catalog, text) = (catalog(), "\u{301}x")
    try catalog.change(name) {
      $0.uploaded = 42
      $0.pinned = text
      $0.lease = UploadLease(owner: text, expiry: 99)
      $0.receipt = text
    }
    let listed = try #require(try catalog.inspect(at: name))
    try catalog.setAttribute(text, for: "a", on: listed)
    try catalog.setAttribute(text, for: "b", on: listed)
    let state = try #require(try self.catalog().scan().first?.state)
    #expect(state.pinned == text && state.receipt == text)
    #expect(state.lease == UploadLease(owner: text, expiry: 99))
    #expect(state.attributes == ["a": text, "b": text])
  }

  #if DEBUG
    @Test("a mark in a file of its own is safe from a power cut, with the file's name")
    func aMarkInAFileOfItsOwnIsSafe() throws {
      let name = try archive(1, created: 10)
      let paths = [fixture.folder.path, fixture.folder(name)]
      refuseAttributes()
      for path in paths { ForcedFault.force(.fsync, errno: EIO, onCall: .max, under: path) }
      defer { for path in paths { ForcedFault.clear(under: path) } }
      try catalog().change(name) { $0.pinned = "" }
      // Syncs of the directory and of the archive, whose path begins with the directory's.
      #expect(paths.map { ForcedFault.passed(.fsync, under: $0) } == [2, 1])
    }

    @Test("a mark that could not be synced is not noted, so that the next try syncs it")
    func aMarkThatCouldNotBeSyncedIsNotNoted() throws {
      let name = try archive(1, created: 10)
      let catalog = catalog()
      for _ in 0..<2 {
        ForcedFault.force(.fsync, errno: EIO, under: fixture.folder(name))
        defer { ForcedFault.clear(under: fixture.folder(name)) }
        let error = #expect(throws: LogError.self) { try catalog.change(name) { $0.pinned = "" } }
        #expect(error?.systemErrorNumber == EIO)
        #expect(try self.catalog().inspect(at: name)?.state.isPinned == false)
      }
      try catalog.change(name) { $0.pinned = "" }
      #expect(try self.catalog().inspect(at: name)?.state.isPinned == true)
    }
  #endif

  @Test("an archive that is leased does not get other recipients")
  func anArchiveThatIsLeasedGetsNoOtherRecipients() throws {
    let name = try archive(1, created: 10)
    let catalog = catalog()
    func refusal() -> LogError? {
      #expect(throws: LogError.self) {
        try catalog.rewrap(name, with: LogIdentities(), for: [])
      }
    }
    let expiry = Timestamp.now + .seconds(60)
    try catalog.change(name) { $0.lease = UploadLease(owner: "host 7", expiry: expiry) }
    #expect(refusal()?.code == .archiveInUse)
    #expect(refusal()?.message.contains("by host 7, whose lease ends at \(expiry)") == true)
    // The lease is over. That the archive is not encrypted is another reason.
    try catalog.change(name) { $0.lease = UploadLease(owner: "host 7", expiry: 99) }
    #expect(refusal()?.code == .invalidConfiguration)
  }

  private func refuseAttributes() {
    #if DEBUG
      for call in [SystemCall.fsetxattr, .fgetxattr, .fremovexattr] {
        ForcedFault.force(call, errno: EOPNOTSUPP, times: .max, under: fixture.folder.path)
      }
    #endif
  }

  @Test("an attribute that is too long, or not in order, is refused")
  func anAttributeThatIsNotInOrderIsRefused() throws {
    let name = try archive(1, created: 10)
    let catalog = catalog()
    let archive = try #require(try catalog.scan().first)
    func refusal(_ value: String?, for key: String) -> LogError? {
      do throws(LogError) {
        try catalog.setAttribute(value, for: key, on: archive)
        return nil
      } catch { return error }
    }
    let long = String(repeating: "x", count: 513)
    for key in ["", "a b", "ü", "a\tb", "a=b", String(long.prefix(65))] {
      #expect(refusal("v", for: key)?.code == .invalidAttribute, "\(key)")
    }
    for value in [long, "a\nb", "\u{7F}", "\u{85}"] {
      #expect(refusal(value, for: "k")?.code == .invalidAttribute, "\(value)")
      let error = #expect(throws: LogError.self) {
        try catalog.markUploaded(archive, receipt: value)
      }
      #expect(error?.code == .invalidAttribute)
    }
    // One value fits, and two do not.
    let value = String(long.dropLast())
    #expect(refusal(value, for: "a") == nil)
    let full = try #require(refusal(value, for: "b"))
    #expect(full.code == .invalidAttribute && full.message.contains("1024"))
    #expect(refusal(nil, for: "a") == nil && refusal(value, for: "b") == nil)
    let state = try #require(try self.catalog().scan().first?.state)
    #expect(state.attributes == ["b": value] && !state.isUploaded)
    try fixture.directory().remove(name)
    #expect(refusal("v", for: "k")?.code == .missingArchive)
  }

  @Test("attributes that others wrote are bounded, and what is not in order is left out")
  func attributesOfOthersAreBounded() throws {
    let name = try archive(1, created: 10)
    let long = String(repeating: "x", count: 2000)
    let texts: [(String, [String: String])] = [
      ("attributes a 1\tb\tc d e", ["a": "1", "b": "", "c": "d e"]),
      ("attributes \t \t=x y\t\ta 1\ta 2", ["a": "2"]),
      ("attributes a \(long)", [:]), ("attributes", [:]), ("receipt r", [:]),
      ("attributes a 1\treceipt\u{1} 2", ["a": "1"]),
    ]
    for (text, attributes) in texts {
      fixture.folder.put(name + ".state", Array("\(text)\n".utf8))
      let state = try #require(try catalog().scan().first?.state)
      #expect(state.attributes == attributes && state.receipt == nil, "\(text)")
    }
    fixture.folder.put(name + ".state", Array("uploaded 1\nreceipt \(long)\n".utf8))
    let state = try #require(try catalog().scan().first?.state)
    #expect(state.isUploaded && state.receipt == nil)
  }

  @Test("a corrupted state counts as none") func aCorruptedStateCountsAsNone() throws {
    let name = try archive(1, created: 10)
    for bytes in [[], [0xFF, 10], Array("lease x\nuploaded\nuploaded y\nlease 1\n\n \n".utf8)] {
      fixture.folder.put(name + ".state", bytes)
      let state = try #require(try catalog().scan().first?.state)
      #expect(!state.isUploaded && !state.isPinned && state.lease == nil, "\(bytes)")
    }
  }

  @Test("totals are kept without a scan") func totalsAreKeptWithoutAScan() throws {
    let names = try (1...4 as ClosedRange<UInt32>).map { try archive($0, created: Int64($0)) }
    try archive(5, created: 5, closes: false)
    let catalog = catalog()
    let list = try catalog.scan()
    let size = list[0].allocatedSize
    #expect(list.prefix(4).allSatisfy { $0.allocatedSize == size })
    try catalog.change(names[0]) { $0.uploaded = 1 }
    try catalog.change(names[1]) { $0.uploaded = 1 }
    #expect(catalog.totals.pending == 2 * size && catalog.totals.uploaded == 2 * size)
    try catalog.change(names[0]) { $0.uploaded = nil }
    try catalog.delete([names[1], names[2]], if: { _ in true }) { _, _ in }
    #expect(catalog.totals.pending == 2 * size && catalog.totals.uploaded == 0)
    #expect(catalog.totals.count == 3)
    let before = catalog.totals
    _ = try catalog.scan()
    #expect(catalog.totals == before)
  }

  @Test("what is forgotten still counts, whatever is changed before the next scan")
  func whatIsForgottenStillCounts() throws {
    let names = try (1...3 as ClosedRange<UInt32>).map { try archive($0, created: Int64($0)) }
    let catalog = catalog()
    _ = try catalog.scan()
    let before = catalog.totals
    catalog.forget()
    try catalog.change(names[0]) { $0.pinned = "" }
    #expect(catalog.totals == before && before.count == 3)
    try catalog.delete([names[1]], if: { _ in true }) { _, _ in }
    _ = try catalog.scan()
    #expect(catalog.totals.count == 2)
  }

  @Test("archives that a recovery still needs are spared")
  func archivesThatARecoveryStillNeedsAreSpared() throws {
    for session in 1...3 as ClosedRange<UInt64> {
      try archive(1, created: Int64(session), session: session)
    }
    let rings = (1...2 as ClosedRange<UInt64>).map { session in
      FileNames.Ring(store: "test", session: SessionID(words: (session, 9))).fileName
    }
    for ring in rings { fixture.folder.put(ring, [UInt8](repeating: 0, count: 4096)) }
    // The first session's process is alive.
    let alive = try fixture.directory().openFile(rings[0], [.read, .write])
    #expect(try alive.tryLock())
    var retention = Retention.unlimited
    (retention.count, retention.crashes) = (1, 0)
    let list = try catalog().scan()
    let plan = try RetentionPlan(retention, list, ringDirectories: [directory], space: nil)
    #expect(plan.deletions.map(\.index) == [0, 2] && plan.unmet.isEmpty)
    try alive.unlock()
    let later = try RetentionPlan(retention, list, ringDirectories: [directory], space: nil)
    #expect(later.deletions.map(\.index) == [2] && later.unmet == [.count])
  }

  #if DEBUG
    /// An archive of each of two sessions, the first of which has a ring; and a limit of one
    /// archive.
    private func twoSessions() throws -> (
      ring: String, retention: Retention, list: [ArchiveInfo]
    ) {
      try archive(1, created: 1, session: 1)
      try archive(1, created: 2, session: 2)
      let ring = FileNames.Ring(store: "test", session: SessionID(words: (1, 9))).fileName
      fixture.folder.put(ring, [UInt8](repeating: 0, count: 4096))
      var retention = Retention.unlimited
      (retention.count, retention.crashes) = (1, 0)
      let list = try catalog().scan()
      return (ring, retention, list)
    }

    @Test("where a ring cannot be inspected, its session is spared, and limits hold for others")
    func whereARingCannotBeInspectedItsSessionIsSpared() throws {
      let (ring, retention, list) = try twoSessions()
      for call in [SystemCall.fstatat, .openat, .fcntlGetLock, .pread] {
        ForcedFault.force(call, errno: EIO, times: 1, under: fixture.folder(ring))
        var reported: [LogError] = []
        let plan = try RetentionPlan(
          retention, list, ringDirectories: [directory], space: nil,
          strange: { reported.append($0) })
        #expect(plan.deletions.map(\.index) == [1] && plan.kept == [0: .unrecovered], "\(call)")
        #expect(reported.map(\.path) == [fixture.folder(ring)], "\(call)")
        #expect(reported.map(\.systemErrorNumber) == [EIO], "\(call)")
      }
    }

    @Test("while the process lacks what it needs to inspect rings, nothing is deleted")
    func withoutDescriptorsNothingIsDeleted() throws {
      let (ring, retention, list) = try twoSessions()
      let faults = [
        (SystemCall.openat, EMFILE, ring), (.openat, ENFILE, ring), (.fstatat, ENOMEM, ring),
        (.readdir, EIO, ""),
      ]
      for (call, error, name) in faults {
        let prefix = name.isEmpty ? directory : fixture.folder(name)
        ForcedFault.force(call, errno: error, times: 1, under: prefix)
        #expect(throws: LogError.self, "\(call) \(error)") {
          try RetentionPlan(retention, list, ringDirectories: [directory], space: nil)
        }
      }
    }
  #endif

  @Test("an archive that is just being recovered is spared")
  func anArchiveThatIsJustBeingRecoveredIsSpared() throws {
    // The session's process is dead. The process that recovers it has locked the ring, and not yet
    // the archive.
    try archive(1, created: 1, session: 1, closes: false)
    try archive(1, created: 2, session: 2)
    let ring = FileNames.Ring(store: "test", session: SessionID(words: (1, 9))).fileName
    fixture.folder.put(ring, [UInt8](repeating: 0, count: 4096))
    let file = try fixture.directory().openFile(ring, [.read, .write])
    #expect(try file.tryLock())
    var retention = Retention.unlimited
    (retention.count, retention.crashes) = (1, 0)
    let list = try catalog().scan()
    let plan = try RetentionPlan(retention, list, ringDirectories: [directory], space: nil)
    #expect(plan.deletions.map(\.index) == [1])
    try file.unlock()
  }

  @Test("what is noted of an archive that is gone is removed")
  func whatIsNotedOfAnArchiveThatIsGoneIsRemoved() throws {
    let name = try archive(1, created: 10)
    let gone = "test-20260101T000000Z-\(fixture.identity.session)-000009.mmlog"
    let other = "other" + gone.dropFirst(4)
    for sidecar in [name, gone, other, "notes"] { fixture.folder.put(sidecar + ".state", [1]) }
    // A sidecar of a process that died while it noted something.
    fixture.folder.put(name + ".state.new", [1])
    let catalog = catalog()
    _ = try catalog.scan()
    try catalog.removeStraySidecars()
    #expect(
      fixture.names
        == [
          ".mmlog-lock", "notes.state", other + ".state", name, name + ".state",
        ].sorted())
  }

  @Test("a scan that is to go on no longer stops and remembers what it found")
  func aScanThatIsToGoOnNoLongerStopsAndRemembersWhatItFound() throws {
    for number in 1...20 as ClosedRange<UInt32> { try archive(number, created: Int64(number)) }
    let catalog = catalog()
    var asked = 0
    let list = try catalog.scan(
      own: nil,
      while: {
        asked += 1; return asked <= 5
      }
    ) { _ in }
    #expect(list == nil && asked == 6 && catalog.totals.count == 5)
    #expect(try catalog.scan().count == 20)
    _ = try catalog.scan(own: nil, while: { false }) { _ in }
    #expect(catalog.totals.count == 20)
  }

  #if DEBUG
    @Test("another scan takes one call for each archive")
    func anotherScanTakesOneCallForEachArchive() throws {
      for number in 1...50 as ClosedRange<UInt32> { try archive(number, created: Int64(number)) }
      let catalog = catalog()
      _ = try catalog.scan()
      // readdir is left out: the kernel gives many names at a time, but each counts as a call.
      let calls = SystemCall.allCases.filter { $0 != .readdir }
      for call in calls {
        ForcedFault.force(call, errno: 0, onCall: .max, under: fixture.folder.path)
      }
      defer { ForcedFault.clear(under: fixture.folder.path) }
      #expect(try catalog.scan().count == 50)
      let made = calls.reduce(0) { $0 + ForcedFault.passed($1, under: fixture.folder.path) }
      // Some more calls are for the directory.
      #expect((50...65).contains(made), "\(made)")
    }
  #endif

  // MARK: - Deleting

  @Test("deleting is a rename and the space is given back later")
  func deletingIsARenameAndTheSpaceIsGivenBackLater() throws {
    let name = try archive(1, created: 10)
    let catalog = catalog()
    var deleted: [String] = []
    try catalog.delete([name], if: { _ in true }) { _, outcome in
      if case .deleted(let archive) = outcome { deleted.append(archive.fileName) }
    }
    #expect(deleted == [name])
    let trash = fixture.folder(".mmlog-trash/\(name)")
    #expect(access(trash, F_OK) == 0 && !fixture.names.contains(name))
    // Files that are not mmlog's stay, there too.
    fixture.folder.put(".mmlog-trash/mine.txt", [1])
    try self.catalog().emptyTrash()
    #expect(access(trash, F_OK) != 0)
    #expect(access(fixture.folder(".mmlog-trash/mine.txt"), F_OK) == 0)
  }

  #if DEBUG
    @Test("the directory is listed once for all archives that are deleted together")
    func theDirectoryIsListedOnce() throws {
      let names = try (1...3 as ClosedRange<UInt32>).map { try archive($0, created: Int64($0)) }
      let catalog = catalog()
      try catalog.change(names[0]) { $0.pinned = "" }
      // The names, `.`, `..` and the end.
      let entries = fixture.names.count + 3
      ForcedFault.force(.readdir, errno: EIO, onCall: .max, under: fixture.folder.path)
      try catalog.delete(names, if: { _ in true }) { _, _ in }
      #expect(ForcedFault.passed(.readdir, under: fixture.folder.path) == entries)
      ForcedFault.clear(under: fixture.folder.path)
    }
  #endif

  @Test("without a folder for trash the file is removed at once")
  func withoutAFolderForTrashTheFileIsRemovedAtOnce() throws {
    let name = try archive(1, created: 10)
    fixture.folder.put(".mmlog-trash", [1])
    try catalog().delete([name], if: { _ in true }) { _, _ in }
    try catalog().emptyTrash()
    #expect(fixture.names == [".mmlog-lock", ".mmlog-trash"])
  }

  @Test("what changed at the last moment is spared")
  func whatChangedAtTheLastMomentIsSpared() throws {
    let name = try archive(1, created: 10)
    let catalog = catalog()
    _ = try catalog.scan()
    try self.catalog().change(name) { $0.pinned = "now" }
    try catalog.delete([name], if: { !$0.state.isPinned }) { _, outcome in
      if case .spared = outcome { return }
      Issue.record("\(outcome)")
    }
    #expect(fixture.names.contains(name))
  }

  #if DEBUG
    @Test("what cannot be deleted is reported and stays")
    func whatCannotBeDeletedIsReportedAndStays() throws {
      let names = [try archive(1, created: 10), try archive(2, created: 11)]
      for call in [SystemCall.renameat, .unlinkat] {
        ForcedFault.force(call, errno: EACCES, under: fixture.folder(names[0]))
      }
      var (failed, deleted) = ([String](), [String]())
      try catalog().delete(names, if: { _ in true }) { name, outcome in
        switch outcome {
        case .deleted: deleted.append(name)
        case .failed: failed.append(name)
        case .spared: break
        }
      }
      #expect(failed == [names[0]] && deleted == [names[1]])
      #expect(try catalog().scan().map(\.number) == [1])
    }

    @Test("a read only directory is listed and not changed")
    func aReadOnlyDirectoryIsListedAndNotChanged() throws {
      let name = try archive(1, created: 10)
      ForcedFault.force(
        .openat, errno: EROFS, times: .max, under: fixture.folder(".mmlog-lock"))
      let catalog = catalog()
      #expect(try catalog.scan().count == 1)
      let error = #expect(throws: LogError.self) { try catalog.change(name) { $0.pinned = "" } }
      #expect(error?.message.contains("Mount the file system for writing") == true)
    }
  #endif

  @Test("a lease ends with its process")
  func aLeaseEndsWithItsProcess() throws {
    let name = try archive(1, created: 10)
    let archive = try #require(try catalog().inspect(at: name))
    #expect(try catalog().acquireLease(on: archive, by: "a", for: .seconds(60)) != nil)
    #expect(try catalog().acquireLease(on: archive, by: "b", for: .seconds(60)) == nil)
    let mark = try #require(ProcessMark.current)
    #expect(ProcessMark(mark.description) == mark && !mark.isGone)
    // Numbers of boot, namespace, process, start: the process is killed, or another process has its
    // number.
    let parts = mark.description.split(separator: ":").map(String.init)
    let child = try ChildProcess("/bin/sleep", ["1000"], output: fixture.folder("said"))
    child.kill()
    child.wait()
    let killed = try #require(ProcessMark("\(parts[0]):\(parts[1]):\(child.id):\(parts[3])"))
    let older = try #require(ProcessMark("\(parts[0]):\(parts[1]):\(parts[2]):1"))
    let elsewhere = try #require(ProcessMark("1:\(parts[1]):\(child.id):1"))
    #expect(killed.isGone && older.isGone && !elsewhere.isGone)
    for (process, isTaken) in [(elsewhere, false), (killed, true)] {
      try catalog().change(name) {
        $0.lease = UploadLease(owner: "c", expiry: .now + Duration.seconds(60), process: process)
      }
      let lease = try catalog().acquireLease(on: archive, by: "d", for: .seconds(60))
      #expect((lease != nil) == isTaken, "\(process)")
    }
  }

  @Test("any text is the owner of a lease", arguments: ["", " ", " a", "a b ", "\n"])
  func anyTextIsTheOwnerOfALease(owner: String) throws {
    let name = try archive(1, created: 10)
    let archive = try #require(try catalog().inspect(at: name))
    let lease = try catalog().acquireLease(on: archive, by: owner, for: .seconds(60))
    #expect(lease != nil)
    #expect(try catalog().inspect(at: name)?.state.lease == lease)
    #expect(try catalog().acquireLease(on: archive, by: "other", for: .seconds(60)) == nil)
    #expect(try catalog().acquireLease(on: archive, by: owner, for: .seconds(60)) != nil)
  }

  @Test("leases lapse also when the clock was set back")
  func leasesLapseAlsoWhenTheClockWasSetBack() {
    let end = Timestamp(seconds: 10 * 86400)
    let begin = Timestamp(seconds: 9 * 86400)
    let lease = UploadLease(owner: "a", expiry: end)
    #expect(lease.isInForce(at: end + -1) && !lease.isInForce(at: end))
    #expect(lease.isInForce(at: begin) && !lease.isInForce(at: begin + -1))
    #expect(!UploadLease(owner: "a", expiry: .distantFuture).isInForce(at: 0))
  }
}
