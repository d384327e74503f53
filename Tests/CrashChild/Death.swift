import CMMLogCore
import CommandLineTool
import CrashRecords
import MMLogStorage
import MMLogSystem

/// How this process is to die, if not killed by another. Debug builds only.
enum Death {
  /// Where a death is noted: a fork's child has another page than its parent.
  nonisolated(unsafe) static var page: CountPage?

  static func arm(_ arguments: Arguments, _ page: CountPage) throws {
    self.page = page
    #if DEBUG
      let directory = arguments.required(.directory)
      try arm(point: arguments.value(of: .point), arguments.value(of: .ledger), directory)
      if arguments.isSet(.sidecars) {
        ForcedFault.force(.fsetxattr, errno: notSupported, times: .max, under: directory)
      }
      if let count = try arguments.integer(of: .short, in: 1...Int.max) {
        ForcedFault.forceShort(.pwrite, count: count, times: .max, under: directory)
      }
      if let call = try arguments.integer(of: .call, in: 1...Int.max) {
        ForcedFault.die(onCall: call, under: directory)
      }
      if let fail = arguments.value(of: .fail) {
        let numbers = fail.split(separator: ":").compactMap { Int($0) }
        guard numbers.count == 2 else { throw UsageError("--fail-writes takes FIRST:COUNT") }
        ForcedFault.force(
          .pwrite, errno: noSpace, onCall: numbers[0], times: numbers[1], under: directory)
      }
    #endif
  }

  #if DEBUG
    /// ENOSPC.
    private static let noSpace: CInt = 28

    /// EOPNOTSUPP.
    private static let notSupported: CInt = 95

    /// - Parameters:
    ///   - text: The point to die at, if there is one.
    ///   - ledger: The folder in which archives get another name before one is deleted.
    private static func arm(point text: String?, _ ledger: String?, _ directory: String) throws {
      let ledger = ledger.map { ArchiveLedger($0) }
      let (expected, count) = try text.map { try parse(point: $0) } ?? (nil, 0)
      let counter = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
      counter.initialize(to: 0)
      let counted = UInt(bitPattern: counter)
      // The handler neither allocates nor locks, except where archives are deleted: it may be
      // called in a signal handler.
      TestPoint.handler = { reached in
        if reached == .retentionBeforeDelete, let ledger { link(directory, ledger) }
        guard reached.rawValue == expected,
          let counter = UnsafeMutablePointer<UInt64>(bitPattern: counted),
          mmlog_fetch_add_u64(counter, 1) + 1 == count
        else { return }
        Death.page?.deathPoint = expected
        CurrentProcess.die()
      }
    }

    /// How many archives can be deleted before an archive without another name is deleted.
    private static let linkedAhead = LockedValue(0)

    /// Gives archives another name before one is deleted: not before each deletion if there are
    /// thousands, since the oldest are deleted first.
    private static func link(_ directory: String, _ ledger: ArchiveLedger) {
      linkedAhead.withLock { ahead in
        ahead -= 1
        if ahead < 0 { ahead = ledger.link(archivesIn: directory) / 2 - 100 }
      }
    }

    private static func parse(point text: String) throws -> (UInt8?, UInt64) {
      let parts = text.split(separator: ":")
      guard parts.count == 2, let count = UInt64(parts[1]),
        let point = TestPoint.allCases.first(where: { "\($0)" == parts[0] })
      else { throw UsageError("--die-at takes POINT:N") }
      return (point.rawValue, count)
    }
  #endif
}
