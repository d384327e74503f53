import Glibc

/// Functions that run around every fork of the process.
package enum ForkHandlers {
  /// A function of C; it must not be a closure that captures anything.
  package typealias Handler = @convention(c) () -> Void

  /// Makes functions run around fork(2), from now on and for good: pthread_atfork(3).
  ///
  /// Installed twice, they run twice. In a process with several threads, `child` may call only
  /// async-signal-safe functions.
  /// - Parameters:
  ///   - prepare: runs before, in the parent; the functions that were installed last run first.
  ///   - parent: runs after, in the parent, also when the fork failed.
  ///   - child: runs after, in the child.
  package static func install(
    prepare: Handler? = nil, parent: Handler? = nil, child: Handler? = nil
  ) throws(SystemError) {
    _ = try retrying(.pthreadAtFork, "") {
      failing(pthread_atfork(prepare, parent, child))
    }
  }
}

/// A value for each thread, and a function that receives it when the thread ends:
/// pthread_key_create(3).
package struct ThreadExit: Sendable {
  private let key: pthread_key_t

  /// Makes each thread that has set a value call `function` with the value at its end.
  ///
  /// Not when the process ends, and not for the main thread when it returns from main. There is no
  /// way to undo it: a process has some 1024 of these.
  /// - Throws: EAGAIN where the process may have no more of them.
  package init(
    _ function: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
  ) throws(SystemError) {
    var key = pthread_key_t()
    _ = try retrying(.pthreadKeyCreate, "") { failing(pthread_key_create(&key, function)) }
    self.key = key
  }

  /// Sets the calling thread's value; nil: no call at the thread's end: pthread_setspecific(3).
  ///
  /// - Returns: false where there is no memory for it.
  @discardableResult
  package func set(_ value: UnsafeMutableRawPointer?) -> Bool {
    pthread_setspecific(key, value) == 0
  }
}

/// Turns the result of a pthread function, an error number, into the usual -1 and errno.
private func failing(_ code: CInt) -> CInt {
  if code == 0 { return 0 }
  errno = code
  return -1
}
