import TestSupport
import Glibc
import MMLog
import MMLogStorage

extension RealFault {
  static let ofFiles = [
    RealFault("archive-deleted") { place in
      try meddle(place, mayLack: true) { unlink($0) }
    },
    RealFault("archive-renamed") { place in
      try meddle(place) { archive in
        rename(
          archive,
          "\(archive.dropLast(FileNames.archiveSuffix.count)).renamed\(FileNames.archiveSuffix)")
      }
    },
    RealFault("archive-truncated") { place in
      try meddle(place, mayLack: true, mayComplain: true) { truncate($0, 3000) }
    },
    RealFault("archive-emptied") { place in
      try meddle(place, mayLack: true, mayComplain: true) { truncate($0, 0) }
    },
    RealFault("archive-replaced") { place in
      try meddle(place, mayLack: true, mayComplain: true) { archive in
        try? Folder.write(Array("not a log".utf8), to: "\(place)/foreign")
        rename("\(place)/foreign", archive)
      }
    },
    // A crash would need the ring of a process that lives; closing does not.
    RealFault("ring-deleted") { place in
      try meddle(place, suffix: FileNames.ringSuffix) { unlink($0) }
    },
    RealFault("ring-replaced") { place in
      try meddle(place, suffix: FileNames.ringSuffix, mayComplain: true) { ring in
        try? Folder.write(Array("not a ring".utf8), to: "\(place)/foreign")
        rename("\(place)/foreign", ring)
      }
    },
    RealFault("directory-deleted") { try deleteDirectory($0, isMadeAgain: false) },
    RealFault("directory-made-again") { try deleteDirectory($0, isMadeAgain: true) },
  ]

  /// Someone does something to the current archive, or to the ring.
  private static func meddle(
    _ place: String, suffix: String = FileNames.archiveSuffix, mayLack: Bool = false,
    mayComplain: Bool = false, _ body: (String) -> Void
  ) throws -> [String] {
    var problems: [String] = []
    let service = try Service(in: "\(place)/store")
    for _ in 0..<3 {
      service.logOn(100)
      try service.store.flush(.archive)
      if let name = try Folder.names(service.folder).last(where: { $0.hasSuffix(suffix) }) {
        body("\(service.folder)/\(name)")
      }
      // More than an archive holds, so that the next is begun.
      service.logOn(400)
    }
    try service.store.flush(.archive)
    if let error = service.end() { problems.append("closing fails: \(error)") }
    problems += service.problems(mayLack: mayLack, mayComplain: mayComplain)
    return problems + othersWork(in: service.folder)
  }

  /// Deletes the directory with everything in it. Its records are gone, and nothing else may be
  /// harmed.
  private static func deleteDirectory(_ place: String, isMadeAgain: Bool) throws -> [String] {
    var problems: [String] = []
    let service = try Service(in: "\(place)/store")
    service.logOn(200)
    try service.store.flush(.archive)
    Folder.remove(service.folder)
    if isMadeAgain { try Folder.make(service.folder) }
    // Logs until an archive is full: a deleted archive can still be written by whoever has it open.
    service.logOn(600)
    service.waitForFailure(&problems)
    // Closing succeeds if the store has made its directory and a ring anew by now.
    _ = service.end()
    return problems + othersWork(in: service.folder)
  }

  /// Checks that the next store there opens, logs and closes.
  private static func othersWork(in folder: String) -> [String] {
    do {
      let next = try Service(in: folder)
      next.logOn(20)
      if let error = next.end() { return ["the next store does not close: \(error)"] }
      return []
    } catch {
      return ["the next store does not open: \(error)"]
    }
  }
}
