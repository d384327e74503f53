import CommandLineTool
import LogCommands
import MMLogReader
import MMLogStorage
import MMLogSystem

/// The rings in some directories, and the archives beside them.
struct FoundRings {
  let paths: [String]
  private(set) var running: [RingStatus] = []
  /// The rings of dead processes, which wait for their recovery.
  private(set) var dead: [RingStatus] = []
  private(set) var archives: [ArchiveInfo] = []
  /// Whether all could be read.
  private(set) var isComplete = true
  /// Whether a ring or a directory of rings cannot be read. Then processes may run that are not
  /// known.
  private var hasUnreadableRings = false
  private var said: Set<String> = []

  init(_ paths: [String], withArchives: Bool) {
    self.paths = paths
    for path in paths { addRings(path) }
    if withArchives { scanArchives() }
  }

  /// The named directories, and the directories of the named rings.
  var folders: [String] {
    var folders: [String] = []
    for path in paths {
      let isRing = path.hasSuffix(FileNames.ringSuffix)
      let folder = isRing ? path.splitAtLastSlash.directory : path
      if !folders.contains(folder) { folders.append(folder) }
    }
    return folders
  }

  private mutating func addRings(_ path: String) {
    var problems: [LogError] = []
    do throws(LogError) {
      let rings = try RingStatus.all(in: path) { problems.append($0) }
      running += rings.filter(\.isRunning)
      dead += rings.filter { !$0.isRunning }
    } catch {
      problems.append(error)
    }
    if problems.contains(where: { !$0.isNotFound }) { hasUnreadableRings = true }
    for problem in problems { complain(problem.message) }
  }

  /// Finds out what archives there are now.
  mutating func scanArchives() {
    archives = []
    for path in paths where !path.hasSuffix(FileNames.ringSuffix) {
      // If it cannot be opened, the search for its rings has said so.
      guard (try? Directory.open(path).status()) != nil else { continue }
      var problems: [String] = []
      do throws(LogError) {
        archives += try Catalog(of: path, store: nil).scan { problems.append("\($0)") }
      } catch {
        problems.append(error.message)
      }
      for problem in problems { complain(problem) }
    }
  }

  /// The paths of further rings and archives in the named directories: they cannot be read, or have
  /// names that no store gives.
  var others: [String] {
    let known = Set((running + dead).map(\.image.path) + archives.map(\.path))
    let suffixes = [
      FileNames.archiveSuffix, FileNames.ringSuffix,
      FileNames.ringSuffix + FileNames.unreadableSuffix,
    ]
    return paths.filter { !$0.hasSuffix(FileNames.ringSuffix) }.flatMap { path in
      guard let directory = try? Directory.open(path) else { return [String]() }
      return ((try? directory.names()) ?? []).sorted()
        .filter { name in suffixes.contains { name.hasSuffix($0) } }
        .map { directory.path(of: $0) }.filter { !known.contains($0) }
    }
  }

  /// Reports a problem once, though archives are searched for twice.
  private mutating func complain(_ sentence: String) {
    isComplete = false
    if said.insert(sentence).inserted { Command.complain(sentence) }
  }

  /// The archives of a ring's store, of all processes: those beside the ring. If none are there,
  /// the store may keep its archives in another directory, which has no ring of that name.
  func archives(of ring: RingStatus) -> [ArchiveInfo] {
    let store = ring.identity.storeName
    let named = Dictionary(grouping: archives.filter { $0.storeName == store }) {
      Self.folder(of: $0.path)
    }
    if let own = named[Self.folder(of: ring.image.path)] { return own }
    let others = (running + dead).filter { $0.identity.storeName == store }
    let homes = Set(others.map { Self.folder(of: $0.image.path) })
    return named.filter { !homes.contains($0.key) }.flatMap(\.value)
  }

  /// One directory may have several paths. Nil if it is gone.
  private static func folder(of path: String) -> FileStatus.Identity? {
    try? File.status(ofPath: path.splitAtLastSlash.directory).identity
  }

  /// Says that no process runs, if nothing else was said.
  func reportNone() -> Program.Status {
    if isComplete { Command.complain("no process logs into \(paths.joined(separator: ", "))") }
    return statusOfNone
  }

  /// The exit status if nothing was found: nothing is there, or it cannot be read.
  var statusOfNone: Program.Status {
    hasUnreadableRings ? .corruptionOrLoss : .nothingReadable
  }
}

extension LogError {
  /// Whether there is no such file or directory.
  var isNotFound: Bool { (cause as? SystemError)?.isNotFound == true }
}
