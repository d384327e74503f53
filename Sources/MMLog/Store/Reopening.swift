import Synchronization

/// Counts how often all files of the process were asked to be reopened. One word, so that a signal
/// handler can.
enum Reopening {
  private static let requests = Atomic<UInt32>(0)

  static func request() { requests.add(1, ordering: .releasing) }

  static var count: UInt32 { requests.load(ordering: .acquiring) }
}
