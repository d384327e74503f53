import MMLogReader
import MMLogReceiving
import MMLogStorage

/// The answer to a request.
struct Answer {
  var status: UInt32
  var fields: [(name: String, value: String)] = []
  var body = ""

  init(_ status: UInt32) { self.status = status }

  /// The answer that the receiver is alive.
  static var health: Answer {
    var answer = Answer(200)
    answer.setBody("application/json", "{\"status\":\"ok\"}")
    return answer
  }

  /// Makes the answer that says what became of an upload.
  init(_ receipt: Receipt) {
    self.init(receipt.outcome == .stored ? 201 : receipt.outcome == .incomplete ? 202 : 200)
    let isComplete = receipt.outcome != .incomplete
    var object = JSONObject()
    object.add("outcome", receipt.outcome.rawValue)
    object.add("size", receipt.size)
    setOffset(receipt.size, isComplete: isComplete)
    if isComplete {
      object.add("archive", receipt.path)
      object.add("crc32c", ArchiveChecksum.base64(receipt.checksum))
      object.add("records", receipt.recordCount)
      fields.append(("Repr-Digest", ArchiveChecksum.digest(receipt.checksum)))
    }
    setBody("application/json", object.text)
  }

  /// Makes the answer that says what the receiver has of an archive.
  init(_ holding: ReceivedArchives.Holding) {
    var object = JSONObject()
    switch holding {
    case .nothing:
      self.init(Refusal(.notFound, "Nothing of the archive is here. Send it from its beginning."))
      return
    case .unfinished(let size):
      self.init(200)
      object.add("size", size)
      setOffset(size, isComplete: false)
    case .stored(let path, let size):
      self.init(200)
      object.add("size", size)
      object.add("archive", path)
      setOffset(size, isComplete: true)
    }
    setBody("application/json", object.text)
  }

  /// Makes the answer that says why a request is not done, as RFC 9457 has it.
  init(_ refusal: Refusal) {
    self.init(refusal.status.rawValue)
    var object = JSONObject()
    object.add("title", refusal.status.title)
    object.add("status", refusal.status.rawValue)
    object.add("detail", refusal.sentence)
    if !refusal.corruption.isEmpty {
      let places = refusal.corruption.map { corruption in
        var place = JSONObject()
        place.add("offset", corruption.offset)
        place.add("size", corruption.size)
        place.add("reason", corruption.what)
        return place.text
      }
      object.add("corruption", json: JSONObject.array(places))
    }
    object.add("offset", refusal.offset)
    if let offset = refusal.offset { setOffset(offset, isComplete: false) }
    if let seconds = refusal.retryAfter { fields.append(("Retry-After", "\(seconds)")) }
    switch refusal.status {
    case .unauthorized: fields.append(("WWW-Authenticate", "Bearer realm=\"mmlog-receive\""))
    case .methodNotAllowed: fields.append(("Allow", "GET, HEAD, PUT"))
    default: break
    }
    setBody("application/problem+json", object.text)
  }

  private mutating func setOffset(_ offset: Int, isComplete: Bool) {
    fields.append(("Upload-Offset", "\(offset)"))
    fields.append(("Upload-Complete", isComplete ? "?1" : "?0"))
  }

  private mutating func setBody(_ type: String, _ text: String) {
    fields.append(("Content-Type", type))
    fields.append(("Cache-Control", "no-store"))
    body = text + "\n"
  }
}

extension Refusal.Status {
  fileprivate var title: String {
    switch self {
    case .badRequest: "Bad Request"
    case .unauthorized: "Unauthorized"
    case .notFound: "Not Found"
    case .methodNotAllowed: "Method Not Allowed"
    case .conflict: "Conflict"
    case .preconditionFailed: "Precondition Failed"
    case .contentTooLarge: "Content Too Large"
    case .unsupportedMediaType: "Unsupported Media Type"
    case .unprocessableContent: "Unprocessable Content"
    case .tooManyRequests: "Too Many Requests"
    case .internalServerError: "Internal Server Error"
    case .serviceUnavailable: "Service Unavailable"
    case .insufficientStorage: "Insufficient Storage"
    }
  }
}
