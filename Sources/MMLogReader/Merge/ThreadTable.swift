import MMLogFormat

/// The threads of a session, one object for each.
final class ThreadTable {
  private var threads: [ThreadIdentity: LogReader.Thread] = [:]
  private var names: [UInt32: String] = [:]
  private var unknown: [UInt32: LogReader.Thread] = [:]
  /// Stands for all threads beyond the maximum.
  private let another = LogReader.Thread(ordinal: 0, id: 0, name: "")

  /// The maximum number of threads, and of threads of which only the ordinal is known: small files
  /// could have any number of either.
  private static let (maximum, maximumUnknown) = (1 << 20, 1 << 16)

  /// The thread with that identity. If the identity has no name, as in segments that threads share,
  /// the thread gets the name that its ordinal had elsewhere.
  func thread(_ identity: ThreadIdentity) -> LogReader.Thread {
    if let thread = threads[identity] { return thread }
    guard threads.count < Self.maximum else { return unknownThread(identity.ordinal) }
    if !identity.name.isEmpty { names[identity.ordinal] = identity.name }
    let name = identity.name.isEmpty ? names[identity.ordinal] ?? "" : identity.name
    let thread = LogReader.Thread(ordinal: identity.ordinal, id: identity.id, name: name)
    threads[identity] = thread
    return thread
  }

  /// A thread of which only the ordinal is known; not even that if there are too many.
  func unknownThread(_ ordinal: UInt32) -> LogReader.Thread {
    if let thread = unknown[ordinal] { return thread }
    guard unknown.count < Self.maximumUnknown else { return another }
    let thread = LogReader.Thread(ordinal: ordinal, id: 0, name: "")
    unknown[ordinal] = thread
    return thread
  }
}
