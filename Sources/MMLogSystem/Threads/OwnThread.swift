/// Runs a blocking body on a thread of its own, while a task waits for it: the body takes none of
/// the threads that tasks run on.
///
/// - Parameters:
///   - name: The thread's.
///   - cancel: Called when the task is canceled; `body` should then soon return.
/// - Throws: an error if no thread can be started.
package func onOwnThread<Value: Sendable>(
  _ name: String, canceledBy cancel: @escaping @Sendable () -> Void,
  _ body: @escaping @Sendable () -> Value
) async throws(SystemError) -> Value {
  let result: Result<Value, SystemError> = await withTaskCancellationHandler {
    await withCheckedContinuation { answer in
      do throws(SystemError) {
        _ = try Thread(name: name) { answer.resume(returning: .success(body())) }
      } catch {
        answer.resume(returning: .failure(error))
      }
    }
  } onCancel: {
    cancel()
  }
  return try result.get()
}

/// Runs a blocking body on a thread of its own, while a task waits for it.
///
/// - Parameters:
///   - name: The thread's.
///   - body: Receives a function that says whether the task was canceled; if so, `body` should soon
///     return.
/// - Throws: what `body` throws, and ``SystemError`` if no thread can be started.
package func onOwnThread<Value: Sendable>(
  _ name: String,
  _ body: @escaping @Sendable (_ isCanceled: @escaping @Sendable () -> Bool) throws -> Value
) async throws -> Value {
  let canceled = LockedValue(false)
  return try await onOwnThread(name, canceledBy: { canceled.withLock { $0 = true } }) {
    Result { try body { canceled.withLock { $0 } } }
  }.get()
}
