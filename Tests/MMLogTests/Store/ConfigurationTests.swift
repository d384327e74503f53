import MMLog
import MMLogFormat
import Testing
import TestSupport

@Suite("Configurations")
struct ConfigurationTests {
  /// A setting that is wrong, and the field that its error has to name.
  struct Wrong: Sendable, CustomTestStringConvertible {
    let field: String
    let change: @Sendable (inout LogStore.Configuration) -> Void
    let testDescription: String

    init(
      _ field: String, _ what: String,
      _ change: @escaping @Sendable (inout LogStore.Configuration) -> Void
    ) {
      (self.field, self.change) = (field, change)
      testDescription = "\(field) \(what)"
    }

    static let all = [
      Wrong("ringSize", "too small") { $0.ringSize = (256 << 10) - 1 },
      Wrong("ringSize", "negative") { $0.ringSize = .min },
      Wrong("ringSize", "too large") { $0.ringSize = (4 << 30) + 1 },
      Wrong("ringSize", "huge") { $0.ringSize = .max },
      Wrong("ringSize", "without room for eight segments") { $0.segmentSize = 2 << 20 },
      Wrong("ringSize", "smaller than the dictionary") { $0.dictionarySize = 64 << 20 },
      Wrong("segmentSize", "zero") { $0.segmentSize = 0 },
      Wrong("segmentSize", "too small") { $0.segmentSize = 4095 },
      Wrong("segmentSize", "odd") { $0.segmentSize = 5000 },
      Wrong("segmentSize", "too large") { $0.segmentSize = 32 << 20 },
      Wrong("dictionarySize", "zero") { $0.dictionarySize = 0 },
      Wrong("dictionarySize", "odd") { $0.dictionarySize = 5000 },
      Wrong("dictionarySize", "too large") { $0.dictionarySize = 65 << 20 },
      Wrong("rotation.size", "zero") { $0.rotation.size = 0 },
      Wrong("rotation.size", "negative") { $0.rotation.size = -1 },
      Wrong("rotation.size", "too small") { $0.rotation.size = 4095 },
      Wrong("compressionLevel", "negative") { $0.compressionLevel = -1 },
      Wrong("compressionLevel", "too large") { $0.compressionLevel = 10 },
      Wrong("drainThreads", "zero") { $0.drainThreads = 0 },
      Wrong("drainThreads", "too many") { $0.drainThreads = 3 },
      Wrong("fullRing", "negative") { $0.fullRing = .wait(upTo: .seconds(-1)) },
      Wrong("drainInterval", "too short") { $0.drainInterval = .milliseconds(9) },
      Wrong("drainInterval", "negative") { $0.drainInterval = .seconds(-1) },
      Wrong("drainInterval", "too long") { $0.drainInterval = .seconds(3601) },
      Wrong("drainInterval", "endless") { $0.drainInterval = .seconds(Int64.max) },
      Wrong("syncInterval", "too short") { $0.syncInterval = .milliseconds(9) },
      Wrong("ringDirectory", "empty") { $0.ringDirectory = "" },
    ]
  }

  @Test(
    "a setting out of its range is one error that names it, before anything is made",
    arguments: Wrong.all)
  func wrong(setting: Wrong) throws {
    let folder = TemporaryDirectory()
    var configuration = LogStore.Configuration()
    setting.change(&configuration)
    let error = logError {
      _ = try LogStore(directory: folder("new"), name: "n", configuration: configuration)
    }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.message.contains(setting.field) == true, "\(String(describing: error))")
    #expect(try folder.names() == [])
  }

  @Test(
    "a name that is no file's is one error that says why",
    arguments: [
      "", "a/b", "/", "../a", "a\u{0}", String(repeating: "n", count: 101),
      String(repeating: "\n", count: 54),
    ])
  func wrongName(name: String) throws {
    let folder = TemporaryDirectory()
    let error = logError { _ = try LogStore(directory: folder("new"), name: name) }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.message.contains("name") == true)
    #expect(try folder.names() == [])
  }

  @Test("an empty path is one error that says so")
  func emptyPath() {
    let error = logError { _ = try LogStore(directory: "", name: "n") }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.message.contains("directory") == true)
  }

  @Test(
    "unusual names work, also for recovery",
    arguments: [
      "a", "a.b", "a-b", "-", "ż🦆", "a b", "x-20200101T000000Z-y", ".", "..", ".hidden", "a\nb",
      "\u{85}",
      "100%", "%41",
      String(repeating: "n", count: 100),
    ])
  func name(name: String) throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: name)
    store.logger(label: "l").info("\(name)")
    let ring = try #require(try folder.names(ending: ".ring").first)
    let elsewhere = TemporaryDirectory()
    elsewhere.put(ring, try folder.bytes(ring))
    try store.close()
    #expect(Contents(folder.path).messages == [name])
    let next = try LogStore(directory: elsewhere.path, name: name)
    #expect(next.recoveredSessions.map(\.identity.storeName) == [name])
    try next.close()
  }

  @Test("every extreme of the settings works")
  func extremes() throws {
    let changes: [(inout LogStore.Configuration) -> Void] = [
      { $0.makeTiny() },
      { ($0.ringSize, $0.segmentSize) = (1 << 20, 64 << 10) },
      { $0.ringSize = 300 << 10 },
      { $0.ringSize = 64 << 20 },
      { ($0.ringSize, $0.segmentSize) = (9 * 16 << 20, 16 << 20) },
      { $0.rotation.size = nil },
      { $0.rotation.size = 4096 },
      { $0.compressionLevel = 0 },
      { $0.compressionLevel = 9 },
      { $0.fullRing = .wait(upTo: .seconds(Int64.max)) },
      { $0.drainInterval = .milliseconds(10) },
      { $0.drainInterval = .seconds(3600) },
      { $0.syncInterval = .seconds(1) },
      { $0.syncInterval = .seconds(Int64.max) },
      { $0.syncLevel = .trace },
    ]
    for (index, change) in changes.enumerated() {
      let test = try TestStore(change)
      for number in 0..<300 { test.log.info("\(number) \(String(repeating: "x", count: number))") }
      let contents = try test.closeAndRead()
      #expect(contents.isClean, "\(index)")
      #expect(contents.records.count == 300, "\(index)")
    }
  }

  @Test("zstd compresses records where the build has it, and else is refused with what it needs")
  func zstd() throws {
    do {
      let test = try TestStore { $0.compression = .zstd }
      for number in 0..<3000 { test.log.info("\(number) \(number % 7)") }
      let contents = try test.closeAndRead()
      #expect(contents.isClean && contents.records.count == 3000)
      #expect(CompressionFormat.zstd.isAvailable)
    } catch let error as LogError where !CompressionFormat.zstd.isAvailable {
      #expect(error.code == .invalidConfiguration)
      #expect("\(error)".contains("trait Zstd") && "\(error)".contains("libzstd-dev"))
    }
  }

  @Test("rings can be elsewhere, also in a directory that is not there yet")
  func ringDirectory() throws {
    let rings = TemporaryDirectory()
    let test = try TestStore { $0.ringDirectory = rings("a/b") }
    test.log.info("one")
    #expect(try rings.names("a/b").count == 1)
    // By these, a shipper knows whose ring it is.
    #expect(try test.folder.names(ending: ".settings") == ["test.settings"])
    #expect(try test.folder.names(ending: ".mmlog") == [])
    try test.store.flush(.archive)
    let contents = try test.closeAndRead()
    #expect(contents.messages == ["one"])
    #expect(try rings.names("a/b") == [])
  }
}
