extension LogStore.Event {
  /// What is said of it where nobody listens, and its kind, of which one is said a minute; nil if
  /// nobody needs to act.
  var trouble: (kind: String, text: String)? {
    switch self {
    case .failed(let error): ("failed", error.message)
    case .dropped(let losses): ("dropped", "\(losses). See store.losses.")
    case .stalled(let duration):
      (
        "stalled",
        "Archives have not been written for \(duration.components.seconds) seconds: the disk "
          + "hangs, its file system is frozen, or the process gets no time. The ring keeps records "
          + "as long as it has room."
      )
    case .takenAway(let path):
      (
        "takenAway",
        "Somebody renamed, removed, replaced or cut \(path). What is still in the ring goes into a "
          + "new file."
      )
    case .tapFailed(let tap, let error): ("tapFailed", "The tap \(tap) cannot write: \(error)")
    case .notDeleted(let archive, let error):
      ("notDeleted", "\(archive.path) could not be deleted: \(error)")
    case .limitExceeded(let rule, let kept):
      (
        "limitExceeded",
        "The limit \(rule) does not hold, though all was deleted that may be"
          + (kept.isEmpty
            ? "." : ": \(kept.values.reduce(0, +)) archives are pinned, leased or not sent.")
      )
    case .lowSpace(let available):
      ("lowSpace", "Only \(available >> 20) MiB are left on the file system of the archives.")
    case .willRotate, .rotated, .sealed, .willDelete, .deleted, .recovered, .levelsSet, .captured,
      .resumed, .tapResumed, .notUploaded, .ringFilling, .pendingReached, .sizeReached:
      nil
    }
  }
}
