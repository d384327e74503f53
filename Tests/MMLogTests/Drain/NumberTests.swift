import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import Testing
import TestSupport

/// The entries that are missing from a folder's archives, as the entries' numbers say.
private struct Numbers {
  var gaps: [EntryNumbers.Gap] = []
  /// How many entries the archives have, and how many of them have numbers.
  var entries = 0
  var numbered = 0

  init(_ folder: TemporaryDirectory) throws {
    var numbers = EntryNumbers()
    for name in try folder.names(ending: ".mmlog") {
      for archive in try ArchiveFile.all(in: File.open(folder(name), .read)) {
        for frame in archive.frames where frame.header.type == .records {
          numbers.add(frame.header)
          if !frame.header.isFlight { entries += Int(frame.header.summary.count) }
          numbered += frame.header.ranges.reduce(0) { $0 + Int($1.numbers?.count ?? 0) }
        }
      }
    }
    gaps = numbers.gaps()
  }

  var missing: UInt64 { gaps.reduce(0) { $0 + $1.count } }
}

/// Every writer numbers what it commits and what it loses.
@Suite("The numbers of entries")
struct NumberTests {
  private let filler = String(repeating: "f", count: 1000)

  /// Logs from several threads at once: small records, large ones in fragments, calls in calls,
  /// flight records.
  private func logMuch(_ log: Logger) throws {
    let filler = filler
    let threads = try (0..<4).map { number in
      try Thread(name: "t\(number)") {
        for index in 0..<400 {
          log.info("\(number) \(index) \(filler)")
          log.debug("in flight \(index)")
          if index % 40 == 0 { log.notice("\(String(repeating: "l", count: 40_000))") }
          if index % 10 == 0 {
            log.warning("outer \(Self.nested(log, index))")
          }
        }
      }
    }
    for thread in threads { thread.join() }
  }

  private static func nested(_ log: Logger, _ index: Int) -> Int {
    log.error("inner \(index)")
    return index
  }

  @Test("have no gap where nothing is lost", arguments: [Level.trace, .info])
  func withoutLosses(archiveLevel: Level) throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.archiveLevel = archiveLevel
    }
    try logMuch(test.log)
    try logMuch(test.log)
    try test.store.close()
    let numbers = try Numbers(test.folder)
    // A call inside another waits only a millisecond, so some may be lost. Entries that are lost
    // last of all leave no gap.
    #expect(numbers.missing <= test.store.losses.total(.ringFull))
    #expect(numbers.numbered == numbers.entries && numbers.entries > 3000)
  }

  @Test("go on where a recovery does", arguments: [Level.trace, .info])
  func recovery(archiveLevel: Level) throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.archiveLevel = archiveLevel
      $0.drainInterval = .seconds(3600)
    }
    try logMuch(test.log)
    try test.store.flush(.archive)
    for index in 0..<50 { test.log.info("later \(index)") }
    let copy = try test.copy()
    let store = try LogStore(directory: copy.path, name: "test")
    #expect(store.recoveredSessions.count == 1)
    try store.close()
    let numbers = try Numbers(copy)
    #expect(numbers.missing <= test.store.losses.total(.ringFull))
    #expect(numbers.numbered == numbers.entries && numbers.entries > 1500)
    try test.store.close()
  }

  #if DEBUG
    private func fillAndGoOn(_ test: TestStore) throws {
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      for index in 0..<600 { test.log.info("\(index) \(filler)") }
      test.log.info("\(String(repeating: "l", count: 40_000))")
      ForcedFault.clear(under: test.folder.path)
      try test.store.flush(.archive)
      test.log.info("after all of it")
      try test.store.close()
    }

    @Test("show where the records are missing that found the ring full")
    func ringFull() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .dropNewest
      }
      try fillAndGoOn(test)
      let numbers = try Numbers(test.folder)
      #expect(test.store.losses.total(.ringFull) > 300)
      #expect(numbers.missing == test.store.losses.total(.ringFull))
      #expect(numbers.gaps.allSatisfy { $0.before != nil && $0.after.numbers.thread == 1 })
    }

    @Test("show where the records are missing that were overwritten")
    func overwritten() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .overwriteOldest
      }
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      for index in 0..<3000 { test.log.info("\(index) \(filler)") }
      ForcedFault.clear(under: test.folder.path)
      try test.store.close()
      let numbers = try Numbers(test.folder)
      #expect(test.store.losses.total(.overwritten) > 1000)
      #expect(numbers.missing == test.store.losses.total(.overwritten))
    }
  #endif
}
