import MMLogStorage
import MMLogSystem

/// A thread that encodes a frame while the drainer collects the next one and writes the one before.
///
/// Its methods are for the drainer's thread, and for whoever closes the store after that thread has
/// ended.
final class EncodingThread: Sendable {
  private struct Job: Sendable {
    let frame: PendingFrame
    let encoder: FrameEncoder
  }

  private let worker = Worker("mmlog-encoder")
  /// Nil once it is done.
  private let job = LockedValue<Job?>(nil)
  private let done = EventCount()

  /// See ``Worker/passLock``.
  var passLock: ForkSafeMutex { worker.passLock }

  /// Starts the thread.
  func start() throws(SystemError) {
    try worker.start { [self] _ in
      if let job = job.withLock(\.self) {
        job.frame.encode(job.encoder)
        self.job.withLock { $0 = nil }
        done.advance()
      }
      return Self.longestSleep
    }
  }

  /// Ends the thread. From then on, ``begin(_:_:)`` encodes on its caller's thread.
  func stop() { worker.stop() }

  /// Gives a frame to the thread to encode. The frame belongs to the thread until ``wait()``
  /// returns. Called only after the frame before is encoded.
  func begin(_ frame: PendingFrame, _ encoder: FrameEncoder) {
    job.withLock { $0 = Job(frame: frame, encoder: encoder) }
    worker.wake()
  }

  /// Waits until the thread has no frame.
  func wait() {
    while true {
      let seen = done.current
      if job.withLock({ $0 == nil }) { return }
      done.wait(since: seen, atMost: Self.longestSleep)
    }
  }

  private static let longestSleep: Int64 = 1_000_000_000
}
