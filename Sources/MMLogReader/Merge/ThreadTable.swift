import MMLogFormat

/// The threads of a session, each one object.
final class ThreadTable {
  private var threads: [ThreadIdentity: LogReader.Thread] = [:]
  private var names: [UInt32: String] = [:]

  /// The thread with that identity. Where the identity has no name, as in segments that threads
  /// share, it gets the one that the thread's ordinal had elsewhere.
  func thread(_ identity: ThreadIdentity) -> LogReader.Thread {
    if let thread = threads[identity] { return thread }
    if !identity.name.isEmpty { names[identity.ordinal] = identity.name }
    let name = identity.name.isEmpty ? names[identity.ordinal] ?? "" : identity.name
    let thread = LogReader.Thread(ordinal: identity.ordinal, id: identity.id, name: name)
    threads[identity] = thread
    return thread
  }
}
