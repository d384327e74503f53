extension LogStore.Event {
  /// The kind of trouble; nil if nobody needs to act. While nobody listens, one event of each kind
  /// is written to standard error a minute.
  package var trouble: String? {
    switch self {
    case .failed: "failed"
    case .dropped: "dropped"
    case .stalled: "stalled"
    case .takenAway: "takenAway"
    case .tapFailed: "tapFailed"
    case .notDeleted: "notDeleted"
    case .limitExceeded: "limitExceeded"
    case .lowSpace: "lowSpace"
    case .recovered(let session): session.corruption.isEmpty ? nil : "recovered"
    case .willRotate, .rotated, .sealed, .willDelete, .deleted, .levelsSet, .captured,
      .resumed, .tapResumed, .notUploaded, .ringFilling, .pendingReached, .sizeReached:
      nil
    }
  }

  /// What happened, for people, in one line. For trouble, also what to do about it.
  package var text: String {
    switch self {
    case .failed(let error): error.message
    case .dropped(let losses): "\(losses).\(losses.advice)"
    case .stalled(let duration):
      "Archives have not been written for \(duration.components.seconds) seconds: the disk hangs, "
        + "its file system is frozen, or the process gets no time. The ring keeps records as long "
        + "as it has room; archiving goes on when that is over."
    case .takenAway(let path):
      "Somebody renamed, removed, replaced or cut \(path), or the program closed its descriptor. "
        + "What is still in the ring goes into a new file. If nobody meant to, find out who did."
    case .tapFailed(let tap, let error):
      "The tap \(tap) cannot write: \(error). It tries again by itself, and the archives have all "
        + "records; check what it writes to."
    case .notDeleted(let archive, let error): "\(archive.path) could not be deleted: \(error)"
    case .limitExceeded(let rule, let kept):
      "The limit \(rule) does not hold, though all was deleted that may be. " + Self.advice(kept)
    case .lowSpace(let available):
      "Only \(available >> 20) MiB are left on the file system of the archives. Free some, or "
        + "lower the limits of what is kept."
    case .willRotate(let archive, let reason):
      "The archive \(archive) is about to be closed (\(reason))."
    case .rotated(let archive): "The archive \(archive) was closed."
    case .sealed(let archive): "The archive \(archive.path) is complete and synced."
    case .willDelete(let archive, let rule):
      "The archive \(archive.path) is about to be deleted (\(rule))."
    case .deleted(let archive, let rule): "The archive \(archive.path) was deleted (\(rule))."
    case .recovered(let session): Self.text(of: session)
    case .levelsSet(let rules):
      rules.isEmpty
        ? "The levels that somebody outside had set do not hold any more."
        : "Somebody outside has set levels: \(rules.map(\.description).joined(separator: ","))."
    case .captured(let count, let reason): "\(count) flight records were captured (\(reason))."
    case .resumed: "Archives can be written again."
    case .tapResumed(let tap, let missed):
      "The tap \(tap) writes again. It has missed \(missed) records, which the archives have."
    case .notUploaded(let archive, let error):
      "The archive \(archive.path) was not sent: \(error). It comes again."
    case .ringFilling(let fraction):
      "The ring is \(Int(fraction * 100)) % full of records that are not archived yet (segments "
        + "that threads are writing to do not count): archives are written more slowly than "
        + "records come."
    case .pendingReached(let bytes): "Archives that are not uploaded take \(bytes) bytes."
    case .sizeReached(let bytes): "All archives take \(bytes) bytes."
    }
  }

  private static func text(of recovered: RecoveredSession) -> String {
    "The session of process \(recovered.identity.processID), which had ended without closing its "
      + "store, was recovered, with \(recovered.recordCount) records from its ring."
      + (recovered.corruptionSentence.map {
        " \($0) mmlog-decode shows how many records are known to be lost; check the disk."
      } ?? "")
  }

  /// What to do about a limit that archives exceed.
  private static func advice(_ kept: [Retention.Obstacle: Int]) -> String {
    if kept.isEmpty { return "Others take the space: free some, or change the limit." }
    let reasons = Retention.Obstacle.allCases.compactMap { obstacle in
      kept[obstacle].map { "\($0) \(obstacle.words)" }
    }
    return "Archives that stay: \(reasons.joined(separator: ", ")). 'mmlogctl prune --explain "
      + "--dry-run DIRECTORY' names them. Change what keeps them, or raise the limit."
  }
}

extension LossLedger {
  /// What to do about the causes of losses, a sentence for each.
  fileprivate var advice: String {
    let fixes: [(causes: [Cause], sentence: String)] = [
      (
        [.ringFull, .overwritten],
        "The ring was full: make it larger, log less, or give archives a faster disk."
      ),
      ([.cut], "Values were too long, or memory was short: log less of them."),
      (
        [.tooDeep],
        "Calls were nested too deep: in signal handlers, use recordInSignalHandler, in C "
          + "mmlog_signal_write."
      ),
      (
        [.noRing],
        "There was no ring, or no memory for a thread to use it: open the store before the first "
          + "log call, close it after the last, and give the process more memory."
      ),
      ([.corrupted], "Bytes of records changed in memory: look for what writes there."),
      ([.tooLarge], "Records were too large: log less at once."),
    ]
    var sentences = fixes.filter { $0.causes.contains { total($0) > 0 } }.map(\.sentence)
    if lostCount > 0 { sentences.append("mmlog-decode shows where records are missing.") }
    return sentences.map { " \($0)" }.joined()
  }
}
