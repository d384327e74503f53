import MMLogSystem

/// Runs what blocks in a thread of its own while a task waits for it: no thread of the tasks' is
/// taken.
///
/// - Parameters:
///   - name: The thread's.
///   - body: Is given what says whether the task was canceled; it should then soon return.
/// - Throws: what `body` throws, and ``SystemError`` where there is no thread.
func onOwnThread<Value: Sendable>(
  _ name: String,
  _ body: @escaping @Sendable (_ isCanceled: @escaping @Sendable () -> Bool) throws -> Value
) async throws -> Value {
  let canceled = LockedValue(false)
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      do throws(SystemError) {
        _ = try Thread(name: name) {
          continuation.resume(with: Result { try body { canceled.withLock { $0 } } })
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  } onCancel: {
    canceled.withLock { $0 = true }
  }
}
