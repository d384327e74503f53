/// Named steps at which a crash test may end the process. Nothing in release builds.
///
/// Each is a state that a process may leave behind and that no system call marks, or that is worth
/// being hit on purpose. `Tools/torture crash` dies at every one of them.
package enum TestPoint: UInt8, CaseIterable, Sendable {
  // A ring is made, and its drainer is started.
  case ringCreated, ringLocked, ringMapped, ringHeaderWritten, ringNamed, sessionStarted
  // A thread that has not logged before inspects what an ended thread has left, and has taken a
  // block.
  case blockReusing, blockTaken

  // A segment is taken, written, sealed.
  case segmentOpening, segmentSealing
  case dictionaryAdding, recordBuilt, fragmentWritten, overflowLocked
  // A signal handler has found no room for its record.
  case signalLossCounting

  // A segment is given up to newer records, or emptied after it was archived.
  case discardAcquired, discardFragmentCounted, discardCounted
  case segmentFreeing, segmentFreed

  // Flight records are left in the ring, and captured.
  case segmentRetained, segmentEvicting, flightBeforeFrame, flightAfterFrame, flightNoted
  // Spans decide about their flight records.
  case spanRecordMarked, spanRecordErased, spanFrameWritten

  // Records go from the ring to an archive.
  case drainerBeforeFrame, drainerAfterFrame, drainerPublished, drainerFreed

  // An archive is begun, written and closed.
  case archiveCreated, archiveHeaderWritten, archiveNamed, archiveResumed, archiveFrameWritten
  case archiveBeforeTrailer, archiveTrailerWritten, archiveSynced, archiveClosed

  // Archives that a limit does not allow are deleted; the state of an archive is changed.
  case retentionBegins, retentionBeforeDelete, trashMade, trashTaken, retentionDeleted, trashRemoved
  case directoryLocked, stateAttributeSet, stateSidecarWritten, stateNoted

  // A consumer notes a batch, sends it, and notes that it is acknowledged.
  case consumerFileMade, consumerStateWritten
  case batchFormed, batchNoted, batchSent, batchSettled, recordPutAside

  // A store is closed.
  case closeBegun, closeSealed, closeMarked, closeArchived, closeFinished, closeRingRemoved

  // A process is copied.
  case forkPrepared, forkDetached, forkReopened

  // What a dead process left is recovered.
  case recoveryLocked, recoveryUnfinishedRemoved, recoveryCutOff
  case recoveryBeforeFrame, recoveryAfterFrame, recoveryLossesWritten, recoveryClosed
  case recoveryRingRemoved

  #if DEBUG
    /// Called with each step that is reached. Set once, before threads are started.
    nonisolated(unsafe) package static var handler: (@Sendable (TestPoint) -> Void)?
  #endif

  /// Says that a step has been reached. Async-signal-safe, if the handler is.
  @inline(__always)
  package static func reach(_ point: TestPoint) {
    #if DEBUG
      handler?(point)
    #endif
  }
}
