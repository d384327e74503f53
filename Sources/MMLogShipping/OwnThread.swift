package import MMLogSystem

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
