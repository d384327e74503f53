extension Retention {
  /// Why a limit does not delete an archive.
  @nonexhaustive
  public enum Obstacle: String, CaseIterable, Sendable {
    /// A process is writing it.
    case active
    /// It is pinned.
    case pinned
    /// It is of a session that died, whose recovery still needs it.
    case unrecovered
    /// It lies before or after one of the newest crashes; see ``Retention/crashes``.
    case aroundCrash
    /// It is one of the newest, which are not deleted for the sake of free space; see
    /// ``Retention/minimumSize``.
    case newest
    /// It has not been shipped; see ``Retention/unsentSize``.
    case unsent
    /// The store's observer does not let it be deleted.
    case observer

    /// What is said of an archive that stays for this reason.
    package var words: String {
      switch self {
      case .active: "being written by a process"
      case .pinned: "pinned"
      case .unrecovered: "needed to recover a session that died (mmlog-decode recover)"
      case .unsent: "not shipped yet (retention.unsentSize)"
      case .aroundCrash: "around one of the newest crashes (retention.crashes)"
      case .newest: "among the newest, which stay whatever is free (retention.minimumSize)"
      case .observer: "wanted by the service"
      }
    }
  }
}
