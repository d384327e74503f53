/// What a ring says of its session: see ``SessionStateLayout``.
package struct SessionState {
  /// False if the process died, or is alive.
  package let isClosedCleanly: Bool
  /// What stands in place of a state; nil if that is a state.
  package let unknownState: UInt32?
  /// The number of the newest archive that was begun, whether or not it still is there; 0 if there
  /// was none.
  package let newestArchive: UInt32
  /// How many frames the newest archive has at least, and whether it was sealed: see
  /// ``SessionStateLayout``.
  package let newestFrames: UInt32
  /// The archive behind which the session began its first one; nil if the first one has a file of
  /// its own.
  package let resumed: ArchiveID?
  /// How the process ended, if it noted that itself.
  package let end: SessionEnd?

  package init(_ area: UnsafeRawBufferPointer) {
    let state = area.load(SessionStateLayout.state, as: UInt32.self)
    isClosedCleanly = state == RingLayout.stateClosed
    unknownState = isClosedCleanly || state == RingLayout.stateOpen ? nil : state
    newestArchive = area.load(SessionStateLayout.newestArchive, as: UInt32.self)
    newestFrames = area.load(SessionStateLayout.newestFrames, as: UInt32.self)
    let archive = ArchiveID(area, at: SessionStateLayout.resumed)
    resumed = archive.number == 0 ? nil : archive
    end = SessionEnd(area.slice(SessionStateLayout.ending, SessionEndLayout.size))
  }

  /// Whether the newest archive may have been sealed, so that a limit may have deleted it.
  package var mayNewestBeSealed: Bool { newestFrames & SessionStateLayout.mayBeSealed != 0 }
}
