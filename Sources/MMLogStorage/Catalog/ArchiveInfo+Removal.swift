package import MMLogFormat

extension ArchiveInfo {
  /// Whether the archive is the same as when it was listed: no store has gone on with it since.
  package func isUnchanged(since listed: ArchiveInfo) -> Bool {
    isSealed == listed.isSealed && size == listed.size
  }

  /// Why a program may not remove an archive, and what to do about it; nil: it may.
  ///
  /// - Parameters:
  ///   - current: The archive as it is now; nil: it is gone.
  ///   - isNeeded: Whether a recovery needs it.
  package func whyNotToRemove(
    _ current: ArchiveInfo?, isNeeded: Bool = false, at now: Timestamp
  ) -> LogError? {
    guard let current else { return .missingArchive(path) }
    if current.isActive {
      return inUse("is being written: rotate the store that writes it first")
    }
    if isNeeded {
      return inUse(
        "is needed for the recovery of a process that died: open a store of its name first, which "
          + "recovers it")
    }
    if let reason = current.state.pinned {
      let words = reason.isEmpty ? "is pinned" : "is pinned (\(reason))"
      return inUse("\(words): unpin it first")
    }
    if let lease = current.state.lease, lease.isInForce(at: now) {
      return inUse(lease.obstacle)
    }
    if !current.isUnchanged(since: self) {
      return LogError(
        .changedArchive,
        "The archive \(path) has changed since it was listed: list it again, to see what would be "
          + "removed",
        path: path)
    }
    return nil
  }

  private func inUse(_ problem: String) -> LogError {
    LogError(.archiveInUse, "The archive \(path) \(problem). It was not removed.", path: path)
  }
}
