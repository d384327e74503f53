import MMLogStorage
import MMLogSystem

/// Runs what waits on a thread of its own, so that none of Swift's concurrency is kept from its
/// work.
func onOwnThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws(LogError) -> Value
) async throws(LogError) -> Value {
  let result: Result<Value, LogError>
  do throws(SystemError) {
    result = try await onOwnThread("mmlog-wait", canceledBy: {}) { Result(catching: body) }
  } catch {
    throw LogError(error, while: "Starting a thread that waits failed")
  }
  return try result.get()
}
