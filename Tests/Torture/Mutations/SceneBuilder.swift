import TestSupport
import CrashRecords
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Makes a directory of logs with real stores: sessions that close or die, one after the other or
/// side by side.
///
/// What a dead process leaves is what the directory held at a step of its store, copied then.
struct SceneBuilder {
  /// The files as they are in the end.
  private(set) var files: [String: [UInt8]] = [:]
  /// The versions of files over time, whether the files are still there or not: each that differs
  /// from the one before.
  private(set) var relics: [(name: String, bytes: [UInt8])] = []
  /// How many records of each lane were logged until its process ended.
  private(set) var logged: [Int: Int] = [:]
  private(set) var lanes: [Int: Lane] = [:]
  /// The lanes whose debug records are flight records, which may be evicted.
  private(set) var flightLanes: Set<Int> = []
  /// The session of each lane.
  private(set) var sessions: [Int: SessionID] = [:]
  /// The lanes whose archives limits may have deleted.
  private(set) var limitedLanes: Set<Int> = []
  private let folder: String
  private var random: SeededGenerator
  private var newest: [String: [UInt8]] = [:]

  /// - Parameter folder: Where the stores work.
  init(seed: UInt64, in folder: String) throws {
    self.folder = folder
    random = SeededGenerator(seed: seed)
    for _ in 0..<random.pick(2, 2, 3) { try addChain() }
  }

  /// Runs sessions one after the other in a directory of their own, and adds its files to the
  /// others.
  private mutating func addChain() throws {
    let place = "\(folder)/chain"
    defer { Folder.remove(place) }
    let configuration = self.configuration()
    let count = configuration.resumeLastArchive ? random.pick(2, 3, 4) : random.pick(1, 1, 2)
    for _ in 0..<count { try live(configuration, place) }
    // Rings and archives: what else there is has no records.
    for name in try Folder.names(place)
    where name.hasSuffix(FileNames.ringSuffix) || name.hasSuffix(FileNames.archiveSuffix) {
      var bytes = try Folder.read("\(place)/\(name)")
      // Half of the dead processes died before the machine was started.
      if name.hasSuffix(".ring"), random.oneIn(2) { bytes.withUnsafeMutableBytes(Image.reboot) }
      files[name] = bytes
    }
  }

  private mutating func configuration() -> LogStore.Configuration {
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    configuration.dictionarySize = 4 << 10
    configuration.segmentSize = 4 << 10
    configuration.level = .trace
    configuration.autoPrivacy = .public
    configuration.drainInterval = .seconds(3600)
    configuration.compressionLevel = random.pick(0, 1, 1, 6)
    configuration.retention = .unlimited
    configuration.rotation.size = random.pick(nil, 4 << 10, 8 << 10, 16 << 10)
    switch random.pick(0, 1, 1, 2, 3) {
    case 0: (configuration.archiveLevel, configuration.captureLevel) = (.info, .error)
    case 1: (configuration.resumeLastArchive, configuration.rotation.size) = (true, 256 << 10)
    case 2: (configuration.retention.count, configuration.rotation.size) = (2, 4 << 10)
    default: break
    }
    return configuration
  }

  /// One session, from opening to its end.
  private mutating func live(_ configuration: LogStore.Configuration, _ place: String) throws {
    let store = try LogStore(directory: place, name: "mutations", configuration: configuration)
    if let problem = store.recoveryFailures.first { throw problem }
    let sizes = 0...random.pick(30, 30, 300, 1500, 6000)
    let seed = random.next()
    let crew = Crew(
      store,
      lanes: (0..<random.pick(1, 2, 3)).map { Lane(lanes.count + $0, sizes: sizes, seed: seed) })
    let ring = try Folder.names(place).compactMap { FileNames.Ring(fileName: $0) }.first
    for lane in crew.lanes {
      lanes[lane.number] = lane
      sessions[lane.number] = ring?.session
    }
    if configuration.retention.count != nil { limitedLanes.formUnion(crew.lanes.map(\.number)) }
    if configuration.archiveLevel > .trace { flightLanes.formUnion(crew.lanes.map(\.number)) }
    let threads = try crew.start()
    for _ in 0..<random.pick(1, 2, 4, 6) {
      crew.log(random.scaled(3...40))
      if !random.oneIn(4) { try store.flush(.archive) }
      try keepVersions(place)
    }
    let death = try die(store, crew, place)
    for (lane, count) in zip(crew.lanes, crew.counts) { logged[lane.number] = count }
    crew.end()
    for thread in threads { thread.join() }
    try store.close()
    if let death {
      Folder.remove(place)
      try death.write(to: place)
    }
    try keepVersions(place)
  }

  /// What is left if the session's process dies; nil if its store is closed.
  private mutating func die(_ store: LogStore, _ crew: Crew, _ place: String) throws -> Image? {
    if random.oneIn(3) { return nil }
    crew.log(random.scaled(1...30))
    var image = try Image(still: place)
    if !random.oneIn(3) {
      let step = random.pick(
        TestPoint.drainerBeforeFrame, .drainerAfterFrame, .drainerAfterFrame, .drainerPublished,
        .segmentFreeing, .archiveHeaderWritten, .archiveFrameWritten, .archiveTrailerWritten)
      let moment = StepImage(step, of: place)
      try store.flush(.archive)
      // Nil if nothing was to be archived.
      if let taken = moment.image {
        image = taken
        // The ring does not say yet that the frame is there.
        if step == .archiveFrameWritten, random.oneIn(2) { image.tearLastFrame(&random) }
      }
    }
    if random.oneIn(3) { image.addCrash() }
    return image
  }

  private mutating func keepVersions(_ place: String) throws {
    let image = try Image(reading: place, isRebooted: false)
    for (name, bytes) in image.files.sorted(by: { $0.key < $1.key })
    where newest[name] != bytes && !name.hasPrefix(".") {
      newest[name] = bytes
      relics.append((name, bytes))
    }
  }
}

extension Image {
  /// Cuts the last frame of the newest archive, as if its process had died in the middle of writing
  /// it.
  fileprivate mutating func tearLastFrame(_ random: inout SeededGenerator) {
    let archives = files.keys.filter { $0.hasSuffix(".mmlog") }
    guard let name = archives.max(), let bytes = files[name],
      let last = LogFile(name, bytes).parts.last, last.kind == .frame(FrameType.records.rawValue)
    else { return }
    files[name] = Array(bytes.prefix(Int.random(in: last.range, using: &random)))
  }

  /// Makes rings say that their processes died of a fault.
  fileprivate mutating func addCrash() {
    let report = CrashReport.bytes(frames: [0x1010, 0x1020], registers: 17, module: "/bin/none")
    for name in files.keys where name.hasSuffix(".ring") {
      files[name]?.replaceSubrange(RingLayout.crash..<RingLayout.crash + report.count, with: report)
    }
  }
}
