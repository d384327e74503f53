import CMMLogCore
import Glibc

/// A thread of the operating system that runs one closure: pthread_create(3).
///
/// Every signal is blocked in it, so that the host's handlers run on the host's threads; except
/// those that a fault of its own raises (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT,
/// SIGSYS), which a crash reporter wants to see. A thread that nobody joins is freed by itself at
/// its end.
///
/// Proof of `@unchecked Sendable`: `isJoined` is touched under `mutex` only, and the rest never
/// changes.
package final class Thread: @unchecked Sendable {
  private let handle: pthread_t
  private let process = CurrentProcess.id
  private let mutex = ForkSafeMutex()
  private var isJoined = false

  /// Starts a thread.
  ///
  /// - Parameter name: for ps and debuggers; the kernel keeps its first 15 bytes.
  /// - Throws: EAGAIN where the process may have no more threads.
  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var handle = pthread_t()
    do throws(SystemError) {
      _ = try retrying(.pthreadCreate, name) {
        mmlog_thread_start(&handle, runThread, start.toOpaque())
      }
    } catch {
      start.release()
      throw error
    }
    self.handle = handle
  }

  deinit {
    if !isJoined, isOfThisProcess { pthread_detach(handle) }
  }

  /// Waits until the thread has ended: pthread_join(3). May be called more than once.
  ///
  /// Returns at once if the thread joins itself, and in a child of fork, which has no such thread.
  package func join() {
    if !isOfThisProcess || pthread_equal(pthread_self(), handle) != 0 { return }
    mutex.withLock {
      if isJoined { return }
      pthread_join(handle, nil)
      isJoined = true
    }
  }

  // A handle means nothing in a child of fork.
  private var isOfThisProcess: Bool { CurrentProcess.id == process }
}

/// What a new thread is given.
private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

// A function of the file, not a closure: a closure that is made on the main actor traps on any
// other thread.
private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument else { return nil }
  let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
  mmlog_set_thread_name(start.name)
  start.body()
  return nil
}
