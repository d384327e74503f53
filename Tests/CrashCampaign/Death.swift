import Glibc
package import MMLogStorage
import TestSupport

/// How a process is to die before it comes to its end.
package enum Death {
  /// The process is killed from outside, after so many microseconds.
  case after(UInt32)
  /// One of the process's threads gets a fatal signal, after so many microseconds.
  case ofSignal(CInt, UInt32)
  /// The process gets SIGTERM, after so many microseconds, and does not handle it.
  case terminated(UInt32)
  /// The process dies when it has come to a test point so many times.
  case at(TestPoint, Int)
  /// The process dies in place of one of its system calls. Its writes have so many bytes at most.
  case inCall(Int, maximumWritten: Int?)

  var arguments: [String] {
    switch self {
    case .after, .ofSignal, .terminated: []
    case .at(let point, let count): ["--die-at", "\(point):\(count)"]
    case .inCall(let call, let maximum):
      ["--die-at-call", "\(call)"] + (maximum.map { ["--short-writes", "\($0)"] } ?? [])
    }
  }

  /// A death that is recorded.
  static func ofSignal(_ random: inout SeededGenerator) -> Death {
    let signal = random.pick(SIGSEGV, SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP)
    return .ofSignal(signal, UInt32(random.scaled(1...150_000)))
  }

  /// A death at any instant.
  static func after(_ random: inout SeededGenerator, isLogging: Bool) -> Death {
    .after(UInt32(random.scaled(1...(isLogging ? 150_000 : 15_000))))
  }

  /// Any other death of a process that logs, or that only recovers.
  static func random(_ random: inout SeededGenerator, isLogging: Bool) -> Death {
    let instant = after(&random, isLogging: isLogging)
    if isLogging, random.oneIn(6), case .after(let time) = instant { return .terminated(time) }
    #if DEBUG
      if !random.oneIn(3) { return instant }
      let call = random.scaled(1...(isLogging ? 200 : 120))
      return .inCall(call, maximumWritten: random.pick(nil, random.scaled(1...4096)))
    #else
      return instant
    #endif
  }
}

extension TestPoint {
  /// Whether a process that only opens and closes a store comes to the point if another died
  /// before.
  package var isOfRecovery: Bool { rawValue >= TestPoint.recoveryLocked.rawValue }

  /// Whether only a process that starts after another has ended in order comes to the point.
  package var isOfSuccessor: Bool { self == .archiveResumed }

  /// Whether any process can come to the point, as the tests are built.
  package var isReachable: Bool {
    switch self {
    case .forkPrepared, .forkDetached, .forkReopened: canFork
    // Campaigns ship nothing, and their signal handlers find room.
    case _ where isOfShipping: false
    case .signalLossCounting: false
    default: true
    }
  }

  /// Whether only a shipper comes to the point.
  package var isOfShipping: Bool {
    (TestPoint.consumerFileMade.rawValue...TestPoint.recordPutAside.rawValue).contains(rawValue)
  }

  /// Whether the point is where archives are deleted and marked.
  package var isOfMaintenance: Bool {
    (TestPoint.retentionBegins.rawValue...TestPoint.stateNoted.rawValue).contains(rawValue)
  }

  /// The highest count that is worth a try: how often a process comes to the point in a tenth of a
  /// second.
  package var maximumTimes: Int {
    switch self {
    case .ringCreated, .ringLocked, .ringMapped, .ringHeaderWritten, .ringNamed, .sessionStarted: 1
    case .blockReusing, .blockTaken: 1
    case .closeBegun, .closeSealed, .closeMarked, .closeArchived, .closeFinished, .closeRingRemoved:
      1
    case .recoveryLocked, .recoveryUnfinishedRemoved, .recoveryCutOff, .recoveryLossesWritten,
      .recoveryClosed, .recoveryRingRemoved:
      1
    case .recoveryBeforeFrame, .recoveryAfterFrame: 2
    case .forkDetached, .forkReopened, .archiveResumed: 1
    case .forkPrepared: 3
    case .dictionaryAdding, .recordBuilt: 6
    case .archiveCreated, .archiveHeaderWritten, .archiveNamed: 6
    case .archiveBeforeTrailer, .archiveTrailerWritten, .archiveSynced, .archiveClosed: 6
    case _ where isOfMaintenance: 6
    default: 60
    }
  }
}
