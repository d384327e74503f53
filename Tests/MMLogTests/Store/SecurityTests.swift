import Foundation
import Glibc
import MMLog
import MMLogReader
import Testing
import TestSupport

/// What other users of the machine can do to a store's files, and see of them.
@Suite struct SecurityTests {
  private let folder = TemporaryDirectory()

  private func open(
    rings: String? = nil, _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) -> LogError? {
    logError {
      var configuration = LogStore.Configuration()
      configuration.makeTiny()
      configuration.ringDirectory = rings
      change(&configuration)
      try LogStore(directory: folder("log"), name: "n", configuration: configuration).close()
    }
  }

  @Test("a directory that every user can write to is refused, unless it is sticky or allowed")
  func directoryForAll() throws {
    mkdir(folder("log"), 0o700)
    chmod(folder("log"), 0o777)
    let error = try #require(open())
    #expect(error.code == .untrustedDirectory && error.path == folder("log"))
    #expect(error.message.contains("chmod o-w") && error.message.contains(folder("log")))
    #expect(try folder.names("log").isEmpty)
    #expect(open { $0.allowsUntrustedDirectory = true } == nil)
    for mode in [0o1777, 0o770, 0o755] as [mode_t] {
      chmod(folder("log"), mode)
      #expect(open() == nil, "mode \(String(mode, radix: 8))")
    }
  }

  @Test("so is one for the ring") func ringDirectoryForAll() {
    mkdir(folder("rings"), 0o700)
    chmod(folder("rings"), 0o777)
    #expect(open(rings: folder("rings"))?.path == folder("rings"))
    chmod(folder("rings"), 0o1777)
    #expect(open(rings: folder("rings")) == nil)
  }

  @Test("a directory of another user is refused, unless allowed", .enabled(if: geteuid() == 0))
  func directoryOfAnother() throws {
    mkdir(folder("log"), 0o700)
    try #require(chown(folder("log"), 65534, 65534) == 0)
    let error = try #require(open())
    #expect(error.code == .untrustedDirectory && error.message.contains("user 65534"))
    #expect(open { $0.allowsUntrustedDirectory = true } == nil)
  }

  @Test("a running store does not follow its path into a directory that it would not open")
  func aRunningStoreDoesNotFollowItsPathIntoAnUntrustedDirectory() async throws {
    var configuration = LogStore.Configuration()
    configuration.makeTiny()
    // The ring stays where it is: its directory is checked by itself.
    configuration.ringDirectory = folder("rings")
    let store = try LogStore(directory: folder("log"), name: "n", configuration: configuration)
    let events = store.events
    // After this, what opening has begun is over, such as the recovery.
    try store.blockingApplyRetention()
    mkdir(folder("other"), 0o700)
    chmod(folder("other"), 0o777)
    // Exchanges them at once: at no time is there no directory.
    try #require(exchange(folder("log"), folder("other")))

    store.logger(label: "l").info("kept")
    try store.blockingFlush(.archive)

    try store.blockingClose()
    var refusals: [LogError] = []
    for await case .failed(let error) in events where error.code == .untrustedDirectory {
      refusals.append(error)
    }
    #expect(refusals.first?.path == folder("log"))
    #expect(try folder.names("log").isEmpty)
    #expect(Contents(folder("other")).messages == ["kept"])
  }

  @Test("files are for their user alone") func permissions() throws {
    let store = try TestStore { $0.makeTiny() }
    store.log.info("a record")
    try store.store.flush(.archive)
    try store.store.applyRetention()
    for name in try store.folder.names() {
      var status = stat()
      #expect(stat(store.folder(name), &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o600, "\(name)")
    }
    // Ring, archive, settings and lock.
    #expect(try store.folder.names().count == 4)
    try store.store.close()
  }

  @Test("files have the mode and the group that are asked for, whatever the umask")
  func fileModeAndGroup() async throws {
    // In a process of its own, because the umask is for all threads of one.
    await #expect(processExitsWith: .success) {
      umask(0o077)
      // Root may give files to any group, others to their own.
      let group = geteuid() == 0 ? 65534 : getegid()
      let folder = TemporaryDirectory()
      var configuration = LogStore.Configuration()
      configuration.makeTiny()
      configuration.fileMode = 0o640
      configuration.fileGroup = "\(group)"
      let path = folder("logs/orders")
      func open() throws -> LogStore {
        try LogStore(directory: path, name: "test", configuration: configuration)
      }
      func check(_ names: [String]) {
        for name in names where name != ".mmlog-lock" && name != ".mmlog-trash" {
          var status = stat()
          require(stat("\(path)/\(name)", &status) == 0)
          require(status.st_mode & 0o7777 == 0o640 && status.st_gid == group)
        }
      }

      let store = try open()
      let log = store.logger(label: "l")
      log.info("first")
      try store.blockingRotate()
      log.info("second")
      try store.blockingFlush(.archive)
      try store.blockingApplyRetention()
      let names = try folder.names("logs/orders")
      // Ring, two archives, settings and lock.
      require(names.count == 5)
      check(names)
      for directory in ["logs", "logs/orders"] {
        var status = stat()
        require(stat(folder(directory), &status) == 0)
        require(status.st_mode & 0o7777 == 0o750 && status.st_gid == group)
      }
      // A copy of a ring is like the ring of a process that died: its recovery makes an archive.
      let ring = names.first { $0.hasSuffix(".ring") } ?? ""
      let bytes = try folder.bytes("logs/orders/\(ring)")
      try store.blockingClose()
      for name in try folder.names("logs/orders") { unlink("\(path)/\(name)") }
      folder.put("logs/orders/\(ring)", bytes)
      let next = try open()
      require(next.recoveredSessions.count == 1)
      try next.blockingClose()
      let left = try folder.names("logs/orders").filter { $0.hasSuffix(".mmlog") }
      require(!left.isEmpty)
      check(left)
    }
  }

  @Test(
    "a mode that lets others write, or keeps the owner out, is refused",
    arguments: [0o660, 0o602, 0o622, 0o400, 0o200, 0o640 | 0o100, 0o4600, 0] as [UInt32])
  func refusedModes(mode: UInt32) throws {
    let error = try #require(open { $0.fileMode = mode })
    #expect(error.code == .invalidConfiguration && error.message.contains("fileMode is 0o"))
    #expect(try folder.names().isEmpty)
  }

  @Test("a group that is not there is refused, and its name is said") func refusedGroup() throws {
    let error = try #require(open { $0.fileGroup = "no such group" })
    #expect(error.code == .invalidConfiguration && error.message.contains("no such group"))
    #expect(try folder.names().isEmpty)
    #expect(open { $0.fileGroup = "" } != nil)
    #expect(open { $0.fileGroup = "root\u{0}" } != nil)
  }

  @Test("a store's name leads nowhere else", arguments: ["../n", "a/b", "/n", "./n", "a\u{0}b"])
  func names(name: String) throws {
    let error = logError { _ = try LogStore(directory: folder("log"), name: name) }
    #expect(error?.code == .invalidConfiguration)
    #expect(try folder.names().isEmpty)
  }

  /// Short values, and values so long that they are built elsewhere and copied.
  @Test("private values are nowhere on the disk", arguments: [40, 3000, 100_000])
  func privateValues(length: Int) throws {
    let secret = String(repeating: "kX7-secret-Zq9.", count: length / 15 + 1)
    let needles = [secret.prefix(15), secret.dropFirst(7).prefix(15)].map { Data($0.utf8) }
    let store = try TestStore {
      $0.makeTiny()
      $0.compressionLevel = 0
      $0.drainInterval = .seconds(3600)
    }
    let filler = String(repeating: "x", count: length)
    store.log.info("a \(secret, privacy: .private) b \(secret, privacy: .hash) \(filler)")
    store.log.info("\(filler) \(nested(store.log, secret)) \(secret, privacy: .private)")
    let message: LogMessage = "\(secret, privacy: .private) \(secret, privacy: .hash)"
    store.log.error(message)
    func check() throws {
      for (name, bytes) in try files(of: store) {
        for needle in needles { #expect(bytes.range(of: needle) == nil, "in \(name)") }
      }
    }
    try check()
    try store.store.flush(.archive)
    try check()
    let contents = try store.closeAndRead()
    #expect(contents.records.count == 4)
    try check()
  }

  /// The files of a store. They are listed again if one gets another name meanwhile, as an archive
  /// does when it is whole.
  private func files(of store: TestStore) throws -> [(name: String, bytes: Data)] {
    while true {
      do {
        return try store.folder.names().map { ($0, Data(try store.folder.bytes($0))) }
      } catch CocoaError.fileReadNoSuchFile {}
    }
  }

  private func nested(_ log: Logger, _ secret: String) -> Int {
    log.notice("inside \(secret, privacy: .private)")
    return 1
  }
}

/// Exchanges two directories at once; false if the file system cannot.
private func exchange(_ first: String, _ second: String) -> Bool {
  // glibc declares renameat2 only for programs that ask for GNU's extensions.
  typealias Rename =
    @convention(c) (CInt, UnsafePointer<CChar>, CInt, UnsafePointer<CChar>, CUnsignedInt) -> CInt
  let rename = unsafeBitCast(dlsym(nil, "renameat2"), to: Rename?.self)
  let isExchange: CUnsignedInt = 2
  return rename?(AT_FDCWD, first, AT_FDCWD, second, isExchange) == 0
}
