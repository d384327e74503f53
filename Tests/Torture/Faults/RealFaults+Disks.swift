import TestSupport
import Glibc
import MMLog
import MMLogSystem

extension RealFault {
  static let ofDisks = [
    RealFault("full-tmpfs", needsRoot: true) { place in
      try Folder.make("\(place)/mount")
      try ChildProcess.run(
        "mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", "\(place)/mount"],
        output: "\(place)/tools")
      defer { umount2("\(place)/mount", CInt(MNT_DETACH)) }
      return try fillAndEmpty("\(place)/mount")
    },
    RealFault("full-ext4", needsRoot: true) { place in
      let disk = try Disk(in: place, size: 8 << 20)
      try disk.mount()
      defer { disk.unmount() }
      return try fillAndEmpty(disk.folder)
    },
    RealFault("read-only-ext4", needsRoot: true) { place in
      let disk = try Disk(in: place, size: 16 << 20)
      try disk.mount(options: "errors=remount-ro")
      defer { disk.unmount() }
      return try turnReadOnly(disk)
    },
    RealFault("remounted-read-only", needsRoot: true) { place in
      let disk = try Disk(in: place, size: 16 << 20)
      try disk.mount()
      defer { disk.unmount() }
      return try remountReadOnly(disk, rings: "\(place)/rings")
    },
  ]

  /// The administrator remounts the file system of the archives read-only, and later writable
  /// again. The kernel lets him while no archive is open: between two of them, and with the ring
  /// elsewhere.
  private static func remountReadOnly(_ disk: Disk, rings: String) throws -> [String] {
    var problems: [String] = []
    var configuration = Service.configuration
    configuration.ringDirectory = rings
    let service = try Service(in: "\(disk.folder)/store", configuration)
    for _ in 0..<3 {
      service.logOn(200)
      try service.pause {
        try service.store.flush(.disk)
        _ = try service.store.rotate(within: .seconds(10))
        try disk.change("remount,ro")
      }
      service.logOn(100)
      service.waitForFailure(&problems)
      try disk.change("remount,rw")
      service.waitForResumption(&problems)
    }
    if let error = service.end() { problems.append("closing fails: \(error)") }
    return problems + service.problems()
  }

  /// Someone else fills the disk, and empties it again.
  private static func fillAndEmpty(_ mount: String) throws -> [String] {
    var problems: [String] = []
    let service = try Service(in: "\(mount)/store")
    for _ in 0..<2 {
      service.logOn(200)
      fill("\(mount)/filler")
      service.waitForFailure(&problems)
      unlink("\(mount)/filler")
      service.waitForResumption(&problems)
    }
    service.logOn(50)
    if let error = service.end() { problems.append("closing fails: \(error)") }
    return problems + service.problems()
  }

  private static func fill(_ path: String) {
    let chunk = [UInt8](repeating: 0x55, count: 4096)
    guard let file = try? File.open(path, [.write, .create]) else { return }
    // Also fills what archives leave of their last blocks when they are closed.
    var offset = 0
    for size in [4096, 512, 1] {
      while case let part = chunk.prefix(size),
        (try? part.withUnsafeBytes({ try file.writeFully($0, at: offset) })) != nil
      {
        offset += size
      }
    }
  }

  /// The kernel turns a file system read-only when it finds an error in it.
  private static func turnReadOnly(_ disk: Disk) throws -> [String] {
    var problems: [String] = []
    let service = try Service(in: "\(disk.folder)/store")
    service.logOn(200)
    let before = service.count
    try service.store.flush(.disk)
    try disk.breakIt()
    service.waitForFailure(&problems)
    service.logOn(100)
    if (try? service.store.flush(.disk)) != nil {
      problems.append("flushing to a dead disk succeeds")
    }
    let error = service.end()
    if error == nil { problems.append("closing on a dead disk succeeds") }
    problems += service.problems()
    // What follows is as after a power cut.
    try disk.remount()
    let reading = Reading("\(disk.folder)/store", Service.lanes)
    problems += reading.problems
    if reading.counts.reduce(0, +) < before { problems.append("flushed records are missing") }
    return problems
  }
}
