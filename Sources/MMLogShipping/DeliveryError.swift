/// Why a receiver has not taken what was sent to it, and what to do about it.
public struct DeliveryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the shipper does.
  @nonexhaustive
  public enum Remedy: Hashable, Sendable {
    /// Sends the same batch again later: not before the delay, if one is given.
    case tryAgain(after: Duration?)
    /// The content was refused: halves the batch until the refused record is alone, puts that
    /// record aside, and goes on.
    case halve
    /// The batch was too large: halves it, and makes smaller batches from then on. A single record
    /// that is too large is put aside.
    case makeSmaller
    /// The receiver takes nothing until somebody acts: reports that, and keeps trying slowly.
    case waitForAction
  }

  /// What the shipper does.
  public let remedy: Remedy
  /// What failed and how to fix it, for people. Without secrets.
  public let message: String

  private init(_ remedy: Remedy, _ message: String) {
    (self.remedy, self.message) = (remedy, message)
  }

  /// The receiver is not there, is overloaded, or does not answer: the same is sent again later.
  /// For a refused connection, a timeout, and statuses 408, 429, 500, 502, 503, 504 of HTTP.
  ///
  /// - Parameters:
  ///   - message: What failed, for people.
  ///   - retryAfter: How long to wait at least, as `Retry-After` says. Nil: as the retry rule says.
  public static func unavailable(_ message: String, retryAfter: Duration? = nil) -> DeliveryError {
    DeliveryError(.tryAgain(after: retryAfter), message)
  }

  /// The receiver cannot take what is in the batch, and never will: for statuses 400 and 422 of
  /// HTTP.
  public static func refused(_ message: String) -> DeliveryError {
    DeliveryError(.halve, message)
  }

  /// The batch is too large for the receiver: for status 413 of HTTP.
  public static func tooLarge(_ message: String) -> DeliveryError {
    DeliveryError(.makeSmaller, message)
  }

  /// The receiver takes nothing until somebody changes credentials or configuration, here or there:
  /// for statuses 401, 403, 404 and redirects of HTTP, and certificates that are not valid.
  public static func blocked(_ message: String) -> DeliveryError {
    DeliveryError(.waitForAction, message)
  }

  /// The message.
  public var description: String { message }

  /// Takes over an error of a destination. An error of any other type counts as
  /// ``unavailable(_:retryAfter:)``.
  init(_ error: any Error) {
    self = error as? DeliveryError ?? .unavailable("\(error)")
  }
}
