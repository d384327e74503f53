extension LogStore {
  /// A moment of a store's work on its files; see ``Configuration/maintenanceHook``.
  public enum MaintenancePhase: Equatable, Sendable {
    /// The calling thread is about to write, to rename or to delete.
    case willBegin
    /// The calling thread is done with that work, or has failed.
    case didEnd
  }
}

extension LogStore.Configuration {
  /// Does work on the store's files, and calls the hook before and after it.
  func maintaining<Answer, Failure: Error>(
    _ work: () throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    maintenanceHook?(.willBegin)
    defer { maintenanceHook?(.didEnd) }
    return try work()
  }
}
