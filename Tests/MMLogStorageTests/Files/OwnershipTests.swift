import Glibc
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// What others have planted in a directory where everybody can make files.
@Suite(.enabled(if: geteuid() == 0, "Only root can give files to others."))
struct OwnershipTests {
  private let log = TestLog()
  private var folder: TemporaryDirectory { log.folder }

  init() {
    for ticks in 1...6 as ClosedRange<UInt64> { log.write("record \(ticks)", ticks: ticks) }
    chmod(folder.path, 0o1777)
  }

  private func give(_ paths: [String], to user: uid_t = 65534) {
    for path in paths { #expect(chown(path, user, user) == 0, "errno \(errno)") }
  }

  private func recover() throws -> (sessions: [RecoveredSession], problems: [LogError]) {
    var problems: [LogError] = []
    let directory = try Directory.open(folder.path)
    let sessions = Recovery.recoverAll(
      of: nil, ringDirectory: directory, archiveDirectory: directory,
      ArchiveSeries.Settings(rotationSize: 1 << 20, compressionLevel: 1)
    ) { problems.append($0) }
    return (sessions, problems)
  }

  private func contents(_ path: String) throws -> [UInt8] {
    try File.open(path, .read).bytes(at: 0, count: 1 << 20)
  }

  @Test("a ring of another is left alone and reported")
  func aRingOfAnotherIsLeftAloneAndReported() throws {
    let ring = log.save()[0]
    give([ring])
    let (sessions, problems) = try recover()
    #expect(sessions.isEmpty && problems.map(\.code) == [.foreignOwner])
    #expect(problems[0].path == ring && problems[0].message.contains("user 65534"))
    #expect(try contents(ring) == log.ring)
    #expect(try Directory.open(folder.path).names() == [String(ring.split(separator: "/").last!)])
  }

  @Test("a ring that others may read is trusted, and one that they may write is left alone")
  func aRingThatOthersMayWriteIsLeftAlone() throws {
    let ring = log.save()[0]
    for mode in [0o620, 0o602] as [mode_t] {
      chmod(ring, mode)
      let (sessions, problems) = try recover()
      #expect(sessions.isEmpty && problems.map(\.code) == [.foreignOwner])
      #expect(problems.first?.message.contains("chmod go-w") == true)
      #expect(try contents(ring) == log.ring)
    }
    chmod(ring, 0o644)
    #expect(try recover().sessions.map(\.recordCount) == [6])
  }

  /// As an administrator recovers the logs of a service in its own directory.
  @Test("where only some can make files their files are trusted")
  func whereOnlySomeCanMakeFilesTheirFilesAreTrusted() throws {
    give(log.save())
    chmod(folder.path, 0o775)
    #expect(try recover().sessions.map(\.recordCount) == [6])
    #expect(try Directory.open(folder.path).names().count == 1)
  }

  @Test("a ring that is a link is not followed") func aRingThatIsALinkIsNotFollowed() throws {
    let elsewhere = TemporaryDirectory()
    let ring = log.save()[0]
    try #require(rename(ring, elsewhere("ring")) == 0 && symlink(elsewhere("ring"), ring) == 0)
    give([elsewhere("ring")])
    let (sessions, problems) = try recover()
    #expect(sessions.isEmpty && problems.map(\.systemErrorNumber) == [ELOOP])
    #expect(try contents(elsewhere("ring")) == log.ring)
  }

  /// The foreign archive claims to have all that is in the ring, and the unfinished one has a name
  /// that recovery needs.
  @Test("an archive of another stands for nothing")
  func anArchiveOfAnotherStandsForNothing() throws {
    log.archive(isPublished: false)
    let paths = log.save()
    let unfinished = folder.put(
      "test-20251121T090000Z-\(log.identity.session)-000002.mmlog.new", [1, 2, 3])
    give([paths[1], unfinished])
    let (sessions, problems) = try recover()
    #expect(sessions.map(\.recordCount) == [6] && problems.isEmpty)
    #expect(try contents(paths[1]) == log.archives[0] && contents(unfinished) == [1, 2, 3])
    let own = Catalog(of: folder.path, store: nil)
    #expect(try own.scan().map(\.number) == [2])
  }

  @Test("the lock of another is not waited for") func theLockOfAnotherIsNotWaitedFor() throws {
    log.archive()
    log.close()
    let archive = String(log.save()[1].split(separator: "/").last ?? "")
    give([folder.put(".mmlog-lock", [])])
    let error = #expect(throws: LogError.self) {
      try Catalog(of: folder.path, store: nil).delete([archive], if: { _ in true }) { _, _ in }
    }
    #expect(error?.code == .foreignOwner && error?.path == folder(".mmlog-lock"))
    #expect(access(folder(archive), F_OK) == 0)
  }

  @Test("nothing is put into the trash of another")
  func nothingIsPutIntoTheTrashOfAnother() throws {
    log.archive()
    log.close()
    let archive = String(log.save()[1].split(separator: "/").last ?? "")
    try #require(mkdir(folder(".mmlog-trash"), 0o777) == 0)
    give([folder(".mmlog-trash")])
    let catalog = Catalog(of: folder.path, store: nil)
    var deleted: [String] = []
    try catalog.delete([archive], if: { _ in true }) { name, _ in deleted.append(name) }
    #expect(deleted == [archive] && access(folder(archive), F_OK) != 0)
    #expect(try Directory.open(folder(".mmlog-trash")).names().isEmpty)
  }

  @Test("note of another about an archive counts for nothing")
  func noteOfAnotherAboutAnArchiveCountsForNothing() throws {
    log.archive()
    log.close()
    let archive = String(log.save()[1].split(separator: "/").last ?? "")
    let note = folder.put("\(archive).state", Array("pinned because I say so\n".utf8))
    let catalog = Catalog(of: folder.path, store: nil)
    #expect(try catalog.scan().map(\.state.isPinned) == [true])
    give([note])
    #expect(try Catalog(of: folder.path, store: nil).scan().map(\.state.isPinned) == [false])
  }
}
