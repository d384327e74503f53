import CrashRecords
import Glibc
import MMLogCrypto
import MMLogFormat
import MMLogReader
package import MMLogStorage
import TestSupport

/// What a child is asked to do.
package struct Settings {
  package var seed: UInt64 = 1
  package var threads = 4
  package var sizes = 0...200
  package var burst: Int?
  package var records: Int?
  package var isNested = false
  package var hasSignals = false
  package var flushes = false
  package var forks = 0
  package var labels = 1
  package var ring = 256
  package var segment = 4
  package var dictionary = 64
  package var archive = 32
  package var compression = 1
  package var drainThreads = 1
  package var policy = Policy.wait
  package var hasRingsElsewhere = false
  /// How many archives are kept; nil: all. Debug builds only: in others, nobody knows what was
  /// deleted.
  package var keep: Int?
  /// Whether archives are leased, marked, pinned and removed while processes log.
  package var hasHands = false
  /// Whether a session's first archive goes into the file of the last one.
  package var resumes = false
  /// Whether a process opens the store with other limits, and sets the right ones before it logs or
  /// forks.
  package var changesLimits = false
  /// Whether what is noted about archives is in files beside them.
  package var hasSidecars = false

  /// What captures debug records, which stay in the ring; nil: they do not stay there.
  package var flight: Flight?
  package var hasSpans = false
  /// Whether spans decide about flight records: all records of spans that fail have to be there,
  /// and none of others.
  package private(set) var spansDecide = false
  /// Whether a part of the records has fields, a trace and a span of a bound logger or a task.
  package var hasContexts = false
  /// Whether threads store in state slots how far they are.
  package var hasStates = false
  /// Whether processes record the fatal signal that ends them. If so, some are ended by one.
  package var recordsCrashes = false
  /// Whether a process that has all its records exits without closing its store.
  package var leavesOpen = false
  /// Whether processes survive a fatal signal before they die.
  package var survives = false
  /// Whether another process turns off levels below `warning` now and then.
  package var changesLevels = false

  /// Whether rings and archives are encrypted.
  package var isEncrypted = false
  /// Whether frames are chained by hashes.
  package var isChained = false

  package enum Flight: String {
    /// Nothing but the process's death.
    case none
    /// Records of the level `error`.
    case error
  }

  package enum Policy: String {
    case wait, drop, overwrite
  }

  package init() {}

  /// Settings that follow from a seed.
  package init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    self.seed = seed
    // With large segments, the ring may have fewer than sixteen segments.
    threads = random.pick(1, 2, 4, 4, 4, 8, 16)
    segment = random.pick(4, 4, 8, 16, 20)
    sizes = 0...random.pick(50, 500, 1000, 3000, 20_000)
    burst = random.pick(nil, nil, 20, 200)
    records = random.pick(nil, nil, nil, nil, 40, 400)
    isNested = random.pick(true, false)
    hasSignals = random.oneIn(4)
    flushes = random.oneIn(3)
    forks = random.oneIn(4) && canFork ? random.pick(1, 3) : 0
    // A hundred labels leave no room for call sites.
    labels = random.pick(1, 1, 1, 100)
    dictionary = labels > 1 ? 4 : 64
    ring = random.pick(256, 256, 512, 1024)
    archive = random.pick(4, 4, 16, 64, 256)
    compression = random.pick(0, 1, 1, 6)
    policy = random.pick(.wait, .wait, .wait, .drop, .overwrite)
    hasRingsElsewhere = random.oneIn(6)
    #if DEBUG
      if random.oneIn(3) { keep = random.pick(1, 2, 3, 10, 30) }
      hasHands = keep != nil && random.oneIn(2)
      hasSidecars = random.oneIn(3)
      resumes = random.oneIn(3)
    #endif
    if random.oneIn(3) { flight = random.pick(Flight.none, .error) }
    hasSpans = random.oneIn(3)
    // A sanitizer has handlers of its own.
    recordsCrashes = random.oneIn(3) && !isSanitized
    changesLevels = random.oneIn(4)
    #if DEBUG
      changesLimits = forks > 0 && random.oneIn(2)
      // The limits that are set keep everything, so that a deleted archive is a finding.
      if changesLimits { (keep, hasHands) = (1_000_000, false) }
    #endif
    leavesOpen = records != nil && random.oneIn(3)
    // With the policy `overwrite`, the record of a survived signal may be evicted, too.
    survives = recordsCrashes && records == nil && policy != .overwrite && random.oneIn(3)
    if survives {
      // The process lives for seconds. Small archives would be thousands, which are all read again
      // and again.
      archive = 256
    }
    hasContexts = random.oneIn(2)
    hasStates = random.oneIn(2)
    drainThreads = random.pick(1, 2)
    isEncrypted = random.oneIn(3) && Cryptography.isAvailable
    isChained = random.oneIn(3) && Cryptography.isAvailable
    if random.oneIn(5) { decideBySpans(records: random.pick(40, 200, 400)) }
  }

  /// Lets spans decide about flight records. The records are so few that none is evicted for want
  /// of room.
  package mutating func decideBySpans(records: Int) {
    (spansDecide, hasSpans, flight) = (true, true, Flight.none)
    (threads, ring, segment, sizes) = (min(threads, 4), 1024, 4, 0...50)
    (self.records, labels, dictionary, policy) = (records, 1, 64, .wait)
    (isNested, hasSignals, forks, survives, changesLevels) = (false, false, 0, false, false)
    if changesLimits { (changesLimits, keep) = (false, nil) }
    isEncrypted = false
  }

  /// Changes the settings that keep a child from ever coming to a test point.
  package mutating func suit(_ point: TestPoint) {
    spansDecide = false
    switch point {
    case .spanRecordMarked, .spanRecordErased, .spanFrameWritten: decideBySpans(records: 400)
    case .closeBegun, .closeSealed, .closeMarked, .closeArchived, .closeFinished, .closeRingRemoved:
      records = records ?? 40
    case .discardAcquired, .discardCounted: policy = .overwrite
    case .discardFragmentCounted: (policy, sizes, segment) = (.overwrite, 0...20_000, 4)
    case .segmentRetained, .segmentEvicting: flight = flight ?? Flight.none
    case .flightBeforeFrame, .flightAfterFrame, .flightNoted: flight = .error
    case .fragmentWritten: sizes = 0...20_000
    case .blockReusing: threads = max(threads, 2)
    case .overflowLocked: (threads, segment, ring, burst) = (16, 20, 256, nil)
    case .forkPrepared, .forkDetached, .forkReopened: forks = canFork ? 3 : 0
    case .archiveBeforeTrailer, .archiveTrailerWritten, .archiveSynced, .archiveClosed: archive = 4
    case .archiveResumed:
      (resumes, archive, keep, hasHands) = (true, 256, nil, false)
      (records, sizes, policy) = (40, 0...500, .wait)
    case .stateAttributeSet: (keep, archive, hasHands, hasSidecars) = (3, 4, true, false)
    case .stateSidecarWritten: (keep, archive, hasHands, hasSidecars) = (3, 4, true, true)
    case _ where point.isOfMaintenance: (keep, archive, hasHands) = (3, 4, true)
    default: break
    }
    // Some steps take several processes, limits, an end of their own.
    (changesLimits, leavesOpen, survives) = (false, false, false)
    switch point {
    case .discardAcquired, .discardFragmentCounted, .discardCounted, .fragmentWritten,
      .overflowLocked,
      _ where point.isOfRecovery:
      records = nil
    default: break
    }
  }

  /// - Parameter name: Gives a path for a name in the folder of the round.
  package func storeArguments(_ name: (String) -> String) -> [String] {
    [
      "--ring", "\(ring + keySlots)", "--segment", "\(segment)", "--dictionary", "\(dictionary)",
      "--archive", "\(archive)", "--compression", "\(compression)",
      "--drain-threads", "\(drainThreads)",
    ] + (hasRingsElsewhere ? ["--rings", name("rings")] : [])
      + (keep.map { ["--keep", "\($0)", "--ledger", name("ledger")] } ?? [])
      + (hasSidecars ? ["--sidecars"] : []) + (resumes ? ["--resume"] : [])
      + recipientArguments
      + (isChained ? ["--hash-chain"] : [])
  }

  /// The size of an encrypted ring's key slots, in KiB. They are added, so that the ring has as
  /// many segments.
  private var keySlots: Int { isEncrypted ? KeySlotsLayout.areaSize >> 10 : 0 }

  private var recipientArguments: [String] {
    isEncrypted ? CampaignIdentity.recipients.flatMap { ["--recipient", $0.description] } : []
  }

  var logArguments: [String] {
    var arguments = [
      "--seed", "\(seed)", "--threads", "\(threads)", "--minimum", "\(sizes.lowerBound)",
      "--maximum", "\(sizes.upperBound)", "--labels", "\(labels)", "--policy", policy.rawValue,
      "--forks", "\(forks)",
    ]
    if let burst { arguments += ["--burst", "\(burst)"] }
    if let records { arguments += ["--records", "\(records)"] }
    if isNested { arguments.append("--nested") }
    if hasSignals { arguments.append("--signals") }
    if flushes { arguments.append("--flush") }
    if hasHands { arguments.append("--hands") }
    if changesLimits { arguments.append("--set-limits") }
    if let flight { arguments += ["--flight", flight.rawValue] }
    if hasSpans { arguments.append("--spans") }
    if spansDecide { arguments.append("--span-capture") }
    if hasContexts { arguments.append("--contexts") }
    if hasStates { arguments.append("--states") }
    if recordsCrashes { arguments.append("--crashes") }
    if leavesOpen { arguments.append("--leave-open") }
    if survives { arguments.append("--survive") }
    return arguments
  }

  /// The lane with a number, whichever process it is of.
  func lane(_ number: Int) -> Lane {
    Lane(
      number, sizes: isHandler(number) ? 0...0 : sizes, seed: seed, spansDecide: spansDecide)
  }

  /// Whether a record of a lane may be dropped and counted, because its call does not wait for
  /// long.
  func mayDrop(_ lane: Int) -> Bool { policy != .wait || lane % 2 == 1 }

  /// Whether a record of a lane may be evicted without being a loss: it is at the level `debug`, as
  /// `Lane.log` says, and no other record is logged in it.
  func isFlight(_ lane: Int, _ sequence: Int) -> Bool {
    flight != nil && sequence % 4 == 2 && !isHandler(lane) && !isOuter(lane, sequence)
  }

  /// Whether the level of a record may have been off. Levels from `warning` on never are.
  func mayBeOff(_ lane: Int, _ sequence: Int) -> Bool {
    if !changesLevels || spanEdge(lane, sequence) != nil { return false }
    return isHandler(lane) || isOuter(lane, sequence) || sequence % 2 == 0
  }

  /// Whether a record begins or ends a span.
  func spanEdge(_ lane: Int, _ sequence: Int) -> Lane.SpanEdge? {
    hasSpans && lane % 2 == 0 ? self.lane(lane).spanEdge(at: sequence) : nil
  }

  /// What a record has of its logger and its task.
  func context(_ lane: Int, _ sequence: Int) -> LaneContext {
    guard hasContexts, !isHandler(lane) else { return LaneContext() }
    return self.lane(lane).context(
      of: sequence, isOuter: isOuter(lane, sequence), spanEdge(lane, sequence))
  }

  /// The number of the record that began the last span of the thread that logged a given record;
  /// nil if there was no span.
  func lastSpan(_ lane: Int, before sequence: Int) -> Int? {
    guard hasSpans else { return nil }
    let (process, thread) = (lane / CountPage.laneCount, lane % CountPage.laneCount / 2)
    // Neither the main thread nor a child by fork logs in bursts.
    let isInBursts = thread < threads && process % (1 + forks) == 0
    let first = isInBursts ? burst.map { sequence - (sequence - 1) % $0 } ?? 1 : 1
    return (first..<sequence).suffix(40).last { spanEdge(lane, $0) == .begins }
  }

  /// Whether it is the lane of a signal handler: an odd one.
  func isHandler(_ lane: Int) -> Bool {
    lane % CountPage.laneCount == CountPage.laneCount - 1
  }

  /// Whether other records are logged in a record.
  private func isOuter(_ lane: Int, _ sequence: Int) -> Bool {
    isNested && lane % 2 == 0 && Lane.isOuter(sequence)
  }

  /// How many records may be counted as lost although they are there or were not acknowledged, if a
  /// process is killed in the middle of log calls. With a policy that drops the record at hand, it
  /// is one for each call that is under way. With whole segments evicted, it is the records of a
  /// segment for each call: they are counted before the segment is emptied.
  var maximumUncertain: Int {
    let calls = threads + (hasSignals ? 2 : 0)
    // The shortest record has three leading words, two numbers and an empty text.
    return policy == .overwrite ? calls * (segment << 10) / 48 : calls
  }
}

/// Whether processes may fork: the thread sanitizer supports no threads in a fork's child.
let canFork = dlsym(nil, "__tsan_init") == nil
