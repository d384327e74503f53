import MMLogStorage
import MMLogSystem

/// Runs what waits on a thread of its own, so that none of Swift's concurrency is kept from its
/// work.
func onOwnThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws(LogError) -> Value
) async throws(LogError) -> Value {
  let result: Result<Value, LogError> = await withCheckedContinuation { continuation in
    do throws(SystemError) {
      _ = try Thread(name: "mmlog-wait") {
        continuation.resume(returning: Result(catching: body))
      }
    } catch {
      let what = "Starting a thread that waits failed"
      continuation.resume(returning: .failure(LogError(error, while: what)))
    }
  }
  return try result.get()
}
