import MMLogFormat
package import MMLogShipping
import MMLogSystem

/// A command that reads lines of JSON from its standard input: run by `sh -c` once for each batch.
///
/// Exit status 0 says that the command has the batch; 65 (`EX_DATAERR`) that it never takes the
/// content; any other status that the same batch is to be sent again. The variable `MMLOG_BATCH`
/// has the batch's id, by which the command can drop a batch that it has already.
package final class CommandDestination: LogDestination {
  private let command: String
  private let timeout: Duration

  /// Names a command of the shell.
  ///
  /// - Parameter timeout: A command that runs longer is killed, and the batch is sent again.
  package init(command: String, timeout: Duration = .seconds(60)) {
    (self.command, self.timeout) = (command, timeout)
  }

  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    var lines = BatchLines()
    let body = lines.encode(batch).withUnsafeBytes { Array($0) }
    let (command, timeout, id) = (command, timeout.nanoseconds, batch.id)
    let result = try await onOwnThread("mmlog-command") { isCanceled in
      try FedProgram.run(
        command, environment: [("MMLOG_BATCH", id)], input: body, timeout: timeout,
        isCanceled: isCanceled)
    }
    let said = String(decoding: result.said, as: UTF8.self).excerpt
    let words = said.isEmpty ? "" : ": \(said)"
    switch result.ending {
    case .exited(0) where result.hasTakenInput: return .accepted
    case .exited(0):
      throw DeliveryError.unavailable("'\(command)' ended before it had read all records\(words)")
    case .exited(65): throw DeliveryError.refused("'\(command)' refuses the records\(words)")
    case .exited(126), .exited(127):
      throw DeliveryError.blocked("'\(command)' cannot be run\(words)")
    case .exited(let status):
      throw DeliveryError.unavailable("'\(command)' ended with status \(status)\(words)")
    case .killed(let signal):
      throw DeliveryError.unavailable("'\(command)' was killed by signal \(signal)\(words)")
    case .timedOut:
      throw DeliveryError.unavailable("'\(command)' was killed: it ran longer than \(self.timeout)")
    case .canceled: throw CancellationError()
    }
  }
}
