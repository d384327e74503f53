/// Where records are shipped: a receiver of batches.
///
/// A destination has to implement one function. A service that had a writer for BufferedLogger or
/// an output for Puree moves the body of that writer here.
///
/// ```swift
/// import MMLogShipping
///
/// struct Lines: LogDestination {
///   func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
///     var lines = ""
///     batch.forEach { lines += "\($0.time) \($0.level) \($0.message)\n" }
///     try await post(lines, key: batch.id)
///     return .accepted
///   }
/// }
/// ```
///
/// The shipper calls ``send(_:)`` for one batch after the other, never for two at a time. Several
/// destinations have shippers of their own, and none waits for another.
public protocol LogDestination: Sendable {
  /// Sends a batch, and returns when the receiver has it, as safely as it ever will be there.
  ///
  /// The shipper moves its cursor when this returns, and never before. A batch that is sent again,
  /// also by another process after this one was killed, has the same ``LogBatch/id`` and the same
  /// records, so that a receiver can drop it. When the task is canceled, the function should soon
  /// throw.
  ///
  /// - Parameter batch: What to send. Never empty: it has records, or gaps, or both.
  /// - Returns: ``LogBatch/Answer/accepted``, or which records the receiver has refused.
  /// - Throws: ``DeliveryError``, which says what to do. Any other error counts as
  ///   ``DeliveryError/unavailable(_:retryAfter:)``: the batch is sent again later.
  func send(_ batch: LogBatch) async throws -> LogBatch.Answer

  /// Finds out whether the receiver answers, and would take a batch. Sends no record. Default: does
  /// nothing.
  ///
  /// - Throws: As ``send(_:)``.
  func check() async throws
}

extension LogDestination {
  /// Does nothing, and never throws.
  public func check() async throws {}
}
