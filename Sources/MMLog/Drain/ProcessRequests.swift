import Synchronization

/// Counts what signal handlers have asked of all stores of the process. Each count is one word,
/// because a handler can do no more than raise a word.
enum ProcessRequests {
  private static let captureCount = Atomic<UInt32>(0)
  private static let reopenCount = Atomic<UInt32>(0)

  /// Asks for flight records to be captured.
  static func capture() { captureCount.wrappingAdd(1, ordering: .releasing) }

  /// Asks for another archive in place of the open one.
  static func reopen() { reopenCount.wrappingAdd(1, ordering: .releasing) }

  /// How often a capture was asked for.
  static var captures: UInt32 { captureCount.load(ordering: .acquiring) }

  /// How often another archive was asked for.
  static var reopenings: UInt32 { reopenCount.load(ordering: .acquiring) }
}
