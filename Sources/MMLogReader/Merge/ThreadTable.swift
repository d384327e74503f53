import MMLogFormat

/// The threads of a session that were seen last, one object for each.
///
/// A process may have any number of threads, one after the other. When the table is full, it begins
/// anew: whoever uses a thread keeps it.
final class ThreadTable {
  private var threads: [ThreadIdentity: LogReader.Thread] = [:]
  private var names: [UInt32: String] = [:]
  private var unknown: [UInt32: LogReader.Thread] = [:]
  private let maximum: Int

  /// - Parameter maximum: The maximum number of threads, and of those of which only the ordinal is
  ///   known: more than a process has at one time.
  init(maximum: Int = 1 << 16) { self.maximum = maximum }

  /// How many threads the table has.
  var count: Int { threads.count + unknown.count }

  /// The thread with that identity. If the identity has no name, as in segments that threads share,
  /// the thread gets the name that its ordinal had elsewhere.
  func thread(_ identity: ThreadIdentity) -> LogReader.Thread {
    if let thread = threads[identity] { return thread }
    if threads.count >= maximum { (threads, names) = ([:], [:]) }
    if !identity.name.isEmpty {
      names[identity.ordinal] = identity.name
      // Its further rows without a name get this one.
      threads[ThreadIdentity(ordinal: identity.ordinal, id: identity.id, name: "")] = nil
    }
    let name = identity.name.isEmpty ? names[identity.ordinal] ?? "" : identity.name
    let thread = LogReader.Thread(ordinal: identity.ordinal, id: identity.id, name: name)
    threads[identity] = thread
    return thread
  }

  /// A thread of which only the ordinal is known.
  func unknownThread(_ ordinal: UInt32) -> LogReader.Thread {
    if let thread = unknown[ordinal] { return thread }
    if unknown.count >= maximum { unknown = [:] }
    let thread = LogReader.Thread(ordinal: ordinal, id: 0, name: "")
    unknown[ordinal] = thread
    return thread
  }
}

/// The threads of a run's records. Whoever keeps the thread of a record keeps this.
final class RunThreads {
  private let table: ThreadTable
  private var known: [UInt32: LogReader.Thread] = [:]
  private var shared: [ThreadIdentity: LogReader.Thread] = [:]
  /// Stands for all threads beyond the maximum: a small file could have any number.
  private lazy var another = LogReader.Thread(ordinal: 0, id: 0, name: "")
  private static let maximum = 1 << 20

  init(_ table: ThreadTable) { self.table = table }

  /// Notes the threads of a frame, before any of its rows.
  func note(_ identities: [ThreadIdentity]) {
    for identity in identities.prefix(Self.maximum) {
      known[identity.ordinal] = table.thread(identity)
    }
  }

  /// The thread of an ordinal.
  func thread(_ ordinal: UInt32) -> LogReader.Thread {
    if let thread = known[ordinal] { return thread }
    guard known.count < Self.maximum else { return another }
    let thread = table.unknownThread(ordinal)
    known[ordinal] = thread
    return thread
  }

  /// The thread with that identity.
  func thread(_ identity: ThreadIdentity) -> LogReader.Thread {
    if let thread = shared[identity] { return thread }
    guard shared.count < Self.maximum else { return another }
    let thread = table.thread(identity)
    shared[identity] = thread
    return thread
  }
}
