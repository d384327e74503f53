import Glibc

/// Makes a system call, again for as long as a signal interrupts it: the one place for EINTR.
///
/// - Parameters:
///   - path: the path that an error names, and that a ``ForcedFault`` is chosen by.
///   - body: the call; returns -1 and sets errno where it fails.
/// - Throws: what errno says.
@inline(__always)
package func retrying<Result: FixedWidthInteger>(
  _ call: SystemCall, _ path: @autoclosure () -> String, _ body: () -> Result
) throws(SystemError) -> Result {
  try retrying(call, path(), count: 0) { _ in body() }
}

/// The same for a call that moves up to `count` bytes. `body` is given how many it may move: all of
/// them, unless a test asks for a short transfer.
@inline(__always)
func retrying<Result: FixedWidthInteger>(
  _ call: SystemCall, _ path: @autoclosure () -> String, count: Int, _ body: (Int) -> Result
) throws(SystemError) -> Result {
  while true {
    let code: CInt
    switch outcome(call, path(), count, body) {
    case .success(let result): return result
    case .failure(let failure): code = failure.errno
    }
    if code != EINTR { throw SystemError(call: call, errno: code, path: path()) }
  }
}

/// Makes a system call that must not be repeated when a signal interrupts it: close(2).
@inline(__always)
func once<Result: FixedWidthInteger>(
  _ call: SystemCall, _ path: @autoclosure () -> String, _ body: () -> Result
) throws(SystemError) -> Result {
  switch outcome(call, path(), 0, { _ in body() }) {
  case .success(let result): return result
  case .failure(let failure):
    throw SystemError(call: call, errno: failure.errno, path: path())
  }
}

/// An error number on its way out of one attempt.
private struct Failure: Error {
  let errno: CInt
}

/// One attempt, or in debug builds the fault that a test asked for in its place.
@inline(__always)
private func outcome<Result: FixedWidthInteger>(
  _ call: SystemCall, _ path: @autoclosure () -> String, _ count: Int, _ body: (Int) -> Result
) -> Swift.Result<Result, Failure> {
  var allowed = count
  #if DEBUG
    switch ForcedFault.next(call, path()) {
    case .errno(let code): return .failure(Failure(errno: code))
    case .short(let limit): allowed = min(count, limit)
    case .wait(let gate): gate.withLock {}
    case .death, nil: break
    }
    CallObserver.report(call, path(), .begins)
  #endif
  let result = body(allowed)
  let code = result == -1 ? errno : 0
  #if DEBUG
    CallObserver.report(call, path(), code == 0 ? .succeeded : .failed)
  #endif
  return result == -1 ? .failure(Failure(errno: code)) : .success(result)
}
