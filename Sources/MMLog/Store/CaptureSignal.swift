import Synchronization

/// Counts how often the process was asked to capture its flight records. One word, so that a signal
/// handler can.
enum CaptureSignal {
  private static let requests = Atomic<UInt32>(0)

  static func request() { requests.add(1, ordering: .releasing) }

  static var count: UInt32 { requests.load(ordering: .acquiring) }
}
