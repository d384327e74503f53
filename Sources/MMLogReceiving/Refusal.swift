package import MMLogStorage
import MMLogSystem

/// Why a request is not done, as its answer says it.
package struct Refusal: Error, Sendable {
  /// The statuses of RFC 9110, 6585 and 4918 that a refusal has.
  package enum Status: UInt32, Sendable {
    case badRequest = 400
    case unauthorized = 401
    case notFound = 404
    case methodNotAllowed = 405
    case conflict = 409
    case preconditionFailed = 412
    case contentTooLarge = 413
    case unsupportedMediaType = 415
    case unprocessableContent = 422
    case tooManyRequests = 429
    case internalServerError = 500
    case serviceUnavailable = 503
    case insufficientStorage = 507
  }

  package let status: Status
  /// What is wrong and what to do about it: whole sentences.
  package let sentence: String
  /// What is corrupted in the archive, and where.
  package var corruption: [Corruption] = []
  /// How many bytes of the upload the receiver has.
  package var offset: Int?
  /// After how many seconds the request may succeed.
  package var retryAfter: Int?
  /// The receiver's file that the refusal is about, only for the receiver's log.
  package private(set) var path: String?

  package init(
    _ status: Status, _ sentence: String, corruption: [Corruption] = [], offset: Int? = nil,
    retryAfter: Int? = nil
  ) {
    (self.status, self.sentence, self.corruption) = (status, sentence, corruption)
    (self.offset, self.retryAfter) = (offset, retryAfter)
  }

  /// Makes the refusal for an error of the system. The client is not told the path: it cannot
  /// change anything there.
  init(_ error: SystemError) {
    if error.isOutOfSpace {
      self.init(
        .insufficientStorage, "The receiver's disk is full. Send the archive again later.",
        retryAfter: 60)
    } else {
      self.init(
        .internalServerError,
        "The receiver cannot store the archive: \(SystemError.text(of: error.errno)). "
          + "Its log says where.",
        retryAfter: 60)
    }
    path = error.path
  }

  /// Makes the refusal for any error: the same if it is one. The client is not told the path.
  init(_ error: any Error) {
    let cause: any Error = (error as? LogError)?.cause as? SystemError ?? error
    switch cause {
    case let refusal as Refusal: self = refusal
    case let error as SystemError: self.init(error)
    default:
      self.init(
        .internalServerError, "The receiver cannot store the archive. Its log says where.",
        retryAfter: 60)
      path = (error as? LogError)?.path
    }
  }
}
