/// Runs what blocks in a thread of its own while a task waits for it: no thread of the tasks' is
/// taken.
///
/// - Parameters:
///   - name: The thread's.
///   - cancel: Is called when the task is canceled; `body` should then soon return.
/// - Throws: where there is no thread.
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

/// Runs what blocks in a thread of its own while a task waits for it.
///
/// - Parameters:
///   - name: The thread's.
///   - body: Is given what says whether the task was canceled; it should then soon return.
/// - Throws: what `body` throws, and ``SystemError`` where there is no thread.
package func onOwnThread<Value: Sendable>(
  _ name: String,
  _ body: @escaping @Sendable (_ isCanceled: @escaping @Sendable () -> Bool) throws -> Value
) async throws -> Value {
  let canceled = LockedValue(false)
  return try await onOwnThread(name, canceledBy: { canceled.withLock { $0 = true } }) {
    Result { try body { canceled.withLock { $0 } } }
  }.get()
}
