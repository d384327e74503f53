import Foundation
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Does random things to a log directory, and compares what is there with a simple model of what
/// must be there.
@Suite struct MaintenanceModelTests {
  @Test("what is there is what must be", arguments: [1, 2, 3] as [UInt64])
  func whatIsThereIsWhatMustBe(seed: UInt64) async throws {
    // More steps for whoever has the time.
    let steps = Int(ProcessInfo.processInfo.environment["MMLOG_MODEL_STEPS"] ?? "") ?? 250
    var model = try Model(seed: seed)
    for step in 0..<steps {
      let what = try await model.step()
      let (there, expected) = (try model.there(), model.expected)
      if there != expected {
        Issue.record(
          "seed \(seed), step \(step): after \(what): there is \(there), there must be \(expected)")
        break
      }
    }
    try model.store.blockingClose()
  }
}

/// A store and what its directory must hold.
private struct Model {
  /// An archive that must be there.
  struct Archive {
    var name: String
    /// Nanoseconds since 1970.
    var begun: Timestamp
    var lastTime: Timestamp
    /// The size on the disk, in bytes.
    var size: Int
    var died = false
    var isUploaded = false
    var isPinned = false
    /// Whether it is an archive of the open store.
    var isOwn = false
  }

  let folder = TemporaryDirectory()
  let store: LogStore
  private let log: Logger
  private var random: SeededGenerator
  private var archives: [Archive] = []
  private var retention = Retention.unlimited
  private var hasUnarchived = false
  private var madeUp: UInt64 = 0

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    var configuration = LogStore.Configuration()
    configuration.makeTiny()
    configuration.drainInterval = .seconds(3600)
    configuration.retention = .unlimited
    store = try LogStore(directory: folder.path, name: "test", configuration: configuration)
    log = store.logger(label: "model")
  }

  /// The archives that must be there, except the one being written.
  var expected: [String] { archives.map(\.name).sorted() }

  /// The archives that are there.
  func there() throws -> [String] {
    try store.archives().filter(\.isSealed).map(\.fileName).sorted()
  }

  /// Does something, and returns what it did.
  mutating func step() async throws -> String {
    let store = store
    switch Int.random(in: 0..<14, using: &random) {
    case 0..<4:
      log.info("something")
      hasUnarchived = true
      return try await roll()
    case 4: return try await roll()
    case 5, 6: return try addArchiveOfAnother()
    case 7: return try change("mark", { try store.markUploaded($0) }) { $0.isUploaded = true }
    case 8: return try change("unmark", { try store.unmarkUploaded($0) }) { $0.isUploaded = false }
    case 9: return try change("pin", { try store.pin($0) }) { $0.isPinned = true }
    case 10: return try change("unpin", { try store.unpin($0) }) { $0.isPinned = false }
    case 11: return try deleteBehindItsBack()
    case 12: return try changeLimits()
    default: return try removeUploaded()
    }
  }

  private mutating func roll() async throws -> String {
    let archive = try await store.rotate()
    #expect((archive != nil) == hasUnarchived)
    hasUnarchived = false
    if let archive {
      archives.append(
        Archive(
          name: archive.fileName, begun: archive.created,
          lastTime: archive.contents?.times?.upperBound ?? .distantPast,
          size: archive.allocatedSize,
          isOwn: true))
    }
    try applyLimits()
    return "rolling"
  }

  /// Adds an archive of another process, which may have died or had another clock.
  private mutating func addArchiveOfAnother() throws -> String {
    madeUp += 1
    let days = Int64.random(in: -1...20, using: &random)
    let age = Duration.seconds(days * 86400 + Int64(madeUp) * 2)
    let begun = Timestamp.now - age
    let identity = SessionIdentity(
      session: SessionID(words: (madeUp, 1)), bootID: Host.bootID(), processID: 1, startTime: begun,
      processName: "another", hostName: "", timeZone: "UTC", storeName: "test")
    let writer = try ArchiveWriter(
      in: Directory.open(folder.path),
      ArchiveHeader(identity: identity, number: 1, created: begun), compressionLevel: 0)
    let died = Bool.random(using: &random)
    try writer.append(LossLedger())
    try writer.append(SessionEnd(died ? .killed : .closed, time: begun))
    try writer.close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
    archives.append(
      Archive(
        name: writer.fileName, begun: begun, lastTime: begun, size: writer.info.allocatedSize,
        died: died))
    try applyLimits()
    return "another's archive of \(age) ns ago"
  }

  private mutating func change(
    _ what: String, _ body: (ArchiveInfo) throws -> Void, _ note: (inout Archive) -> Void
  ) throws -> String {
    guard let index = archives.indices.randomElement(using: &random) else { return "nothing" }
    let name = archives[index].name
    let archive = try #require(try store.archives().first { $0.fileName == name })
    try body(archive)
    note(&archives[index])
    try applyLimits()
    return "\(what) of \(name)"
  }

  private mutating func deleteBehindItsBack() throws -> String {
    guard let index = archives.indices.randomElement(using: &random) else { return "nothing" }
    let archive = archives.remove(at: index)
    try FileManager.default.removeItem(atPath: folder(archive.name))
    try applyLimits()
    return "removing \(archive.name) by hand"
  }

  private mutating func changeLimits() throws -> String {
    retention = .unlimited
    retention.count = Bool.random(using: &random) ? .random(in: 1...12, using: &random) : nil
    retention.totalSize =
      Bool.random(using: &random) ? .random(in: 1...20, using: &random) * 4096 : nil
    retention.age =
      Bool.random(using: &random) ? .seconds(86400 * Int.random(in: 1...20, using: &random)) : nil
    retention.crashes = .random(in: 0...2, using: &random)
    try store.update { $0.retention = retention }
    try applyLimits()
    return "limits \(retention)"
  }

  private mutating func removeUploaded() throws -> String {
    let all = try store.archives()
    let some = all.filter { _ in Bool.random(using: &random) }
    let removed = Set(try store.removeUploaded(some).map(\.fileName))
    let must = Set(some.map(\.fileName)).intersection(
      archives.filter { $0.isUploaded && !$0.isPinned }.map(\.name))
    #expect(removed == must)
    archives.removeAll { removed.contains($0.name) }
    try applyLimits()
    return "removing what is uploaded"
  }

  // MARK: - What the limits must do

  private mutating func applyLimits() throws {
    // An archive that is deleted at once has the size that it had the last time.
    for index in archives.indices {
      archives[index].size = blocks(archives[index].name) ?? archives[index].size
    }
    try store.applyRetention()
    let now = Timestamp.now
    let isSetBack = archives.contains { $0.begun > now + .seconds(3600) }
    archives.sort {
      let (a, b) = (isSetBack && $0.isOwn, isSetBack && $1.isOwn)
      return a == b ? ($0.begun, $0.name) < ($1.begun, $1.name) : !a
    }
    // An archive that is being written would count. There is none: only rolling moves anything into
    // an archive.
    let crashes = archives.indices.filter { archives[$0].died }.suffix(retention.crashes)
    let spared = Set(
      crashes.flatMap { [$0, $0 + 1] }.filter { $0 < archives.count }.map { archives[$0].name })
    let mayGo = { (archive: Archive) in !archive.isPinned && !spared.contains(archive.name) }
    if let age = retention.age {
      let limit = now - age
      archives.removeAll { mayGo($0) && $0.lastTime < limit }
    }
    while isOver() {
      let next =
        archives.firstIndex { mayGo($0) && $0.isUploaded } ?? archives.firstIndex { mayGo($0) }
      guard let next else { break }
      archives.remove(at: next)
    }
  }

  private func blocks(_ name: String) -> Int? {
    var status = stat()
    return lstat(folder(name), &status) == 0 ? Int(status.st_blocks) * 512 : nil
  }

  private func isOver() -> Bool {
    // Archives of other processes have no records.
    if archives.count(where: \.isOwn) > retention.count ?? .max { return true }
    return archives.reduce(0) { $0 + $1.size } > retention.totalSize ?? .max
  }
}
