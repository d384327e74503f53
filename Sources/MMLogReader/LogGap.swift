/// Records of a session that were logged and are not among what was read.
public struct LogGap: Sendable {
  /// Why they are not there.
  public enum Cause: Hashable, Sendable {
    /// These archives of the session are not among the files, though earlier ones are. A limit of retention
    /// may have deleted them; nothing tells that apart from any other removal.
    case archivesNotHere(ClosedRange<Int>)
  }

  /// The session that they are of.
  public let session: LogSession
  /// Why they are not there.
  public let cause: Cause

  package init(session: LogSession, cause: Cause) { (self.session, self.cause) = (session, cause) }

  /// `archives 2 to 5 are not here; retention may have deleted them`
  package var summary: String {
    switch cause {
    case .archivesNotHere(let numbers):
      let first = numbers.lowerBound
      return numbers.count == 1
        ? "archive \(first) is not here; retention may have deleted it"
        : "archives \(first) to \(numbers.upperBound) are not here; retention may have deleted them"
    }
  }
}
