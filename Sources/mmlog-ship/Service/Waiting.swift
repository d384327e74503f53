import MMLogSystem

/// Runs asynchronous work to its end on other threads, while this one waits.
func waiting<Value: Sendable>(for work: @escaping @Sendable () async throws -> Value) throws
  -> Value
{
  let answer = Promise<Result<Value, any Error>>()
  Task.detached {
    do { answer.fulfill(.success(try await work())) } catch { answer.fulfill(.failure(error)) }
  }
  while true {
    if let result = answer.wait(atMost: 3_600_000_000_000) { return try result.get() }
  }
}
