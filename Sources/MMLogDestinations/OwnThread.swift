import MMLogShipping
import MMLogSystem

/// Runs what blocks in a thread of its own while a task waits for it.
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
  return try await onOwnThread(name, canceledBy: { canceled.withLock { $0 = true } }) {
    Result { try body { canceled.withLock { $0 } } }
  }.get()
}
