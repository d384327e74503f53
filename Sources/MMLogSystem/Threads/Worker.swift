import Synchronization

/// A background thread that works in passes: when it is woken, and after a while.
package final class Worker: Sendable {
  private let name: String
  private let requests = EventCount()
  private let isStopping = Atomic<Bool>(false)
  private let thread = LockedValue<Thread?>(nil)
  /// Held during a pass. A fork waits a little for it: if the thread was at work in the parent, the
  /// child may find a lock of the Swift runtime taken for ever.
  package let passLock = ForkSafeMutex()

  /// - Parameter name: The thread's, for ps and debuggers.
  package init(_ name: String) { self.name = name }

  /// Starts the thread, unless it was started before.
  ///
  /// - Parameter pass: Does the work, and returns in how many nanoseconds it is to be called again.
  ///   A pass that begins after ``finish()`` is the last one, and receives true.
  package func start(_ pass: @escaping @Sendable (_ isLast: Bool) -> Int64) throws(SystemError) {
    try thread.withLock { (thread) throws(SystemError) in
      if thread == nil { thread = try Thread(name: name) { [self] in run(pass) } }
    }
  }

  /// Whether the thread was started, ended or not.
  package var isStarted: Bool { thread.withLock { $0 != nil } }

  private func run(_ pass: (_ isLast: Bool) -> Int64) {
    while true {
      // Both are read before the pass: what comes during the pass is for another one.
      let seen = requests.current
      let isLast = isStopping.load(ordering: .acquiring)
      let pause = passLock.withLock { pass(isLast) }
      if isLast { return }
      requests.wait(since: seen, atMost: pause)
    }
  }

  /// Makes the thread begin a pass soon. Any thread.
  package func wake() { requests.advance() }

  /// Lets the thread end with a last pass.
  package func finish() {
    isStopping.store(true, ordering: .releasing)
    wake()
  }

  /// Lets the thread end with a last pass, and waits for it.
  package func stop() {
    finish()
    thread.withLock { $0 }?.join()
  }
}
