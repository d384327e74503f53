import MMLogFormat
import MMLogShipping
import MMLogStorage
import MMLogSystem

/// What the destinations over HTTP have in common: sends requests to a server that takes batches.
///
/// Any thread.
final class Receiver: Sendable {
  let settings: HTTPSettings
  private let client: HTTPClient

  init(_ settings: HTTPSettings) {
    self.settings = settings
    client = HTTPClient(settings)
  }

  /// Sends a request.
  ///
  /// - Parameter tooLarge: The error for an answer that is larger than allowed. Default: the URL
  ///   takes no logs, and the next answer would be as large.
  /// - Throws: what kept an answer from coming; ``LogError`` where the body cannot be read.
  func send(
    _ request: HTTPRequest,
    tooLarge: (String) -> DeliveryError = DeliveryError.wrongPath
  ) async throws -> HTTPResponse {
    do {
      let response = try await client.send(request)
      if response.isForeign {
        throw DeliveryError.unavailable(
          "\(request.url.withoutQuery) answers \(response.status) with a page of HTML: something "
            + "else than the destination seems to answer; check the URL, and what is before it")
      }
      return response
    } catch let error as HTTPFailure {
      let sentence = "\(request.url.withoutQuery): \(error)"
      switch error.kind {
      case .unreachable: throw DeliveryError.unavailable(sentence)
      case .unreadable: throw LogError(.system, sentence)
      case .tooLarge: throw tooLarge(sentence)
      case .configuration: throw DeliveryError.blocked(sentence)
      case .canceled: throw CancellationError()
      }
    }
  }

  /// Posts a body, which is compressed unless the settings say otherwise.
  ///
  /// - Parameter tooLarge: As of ``send(_:tooLarge:)``.
  func post(
    _ body: consuming TextBuffer, to url: String, headers: [(name: String, value: String)],
    tooLarge: (String) -> DeliveryError = DeliveryError.wrongPath
  ) async throws -> HTTPResponse {
    try await send(request(body, to: url, headers: headers), tooLarge: tooLarge)
  }

  /// A request that posts a body, which is compressed unless the settings say otherwise.
  func request(
    _ body: borrowing TextBuffer, to url: String, headers: [(name: String, value: String)]
  ) -> HTTPRequest {
    var request = HTTPRequest("POST", url, headers: headers)
    let zipped = settings.compresses ? body.withUnsafeBytes { gzip($0) } : nil
    if let zipped {
      request.headers.append(("Content-Encoding", "gzip"))
      request.body = .bytes(zipped)
    } else {
      request.body = .bytes(body.withUnsafeBytes { Array($0) })
    }
    return request
  }
}

extension DeliveryError {
  /// The error of a URL that takes no logs.
  static func wrongPath(_ sentence: String) -> DeliveryError {
    .blocked("\(sentence); check the URL's path")
  }
}

extension HTTPResponse {
  /// Whether this success is not the destination's, but a page of a login or of a proxy. Status 201
  /// does not count: Apache's mod_dav says in a page that it has created a file.
  fileprivate var isForeign: Bool {
    guard isSuccess, status != 201 else { return false }
    return header("content-type")?.lowercased().hasPrefix("text/html") == true
      && body.first { ![9, 10, 13, 32].contains($0) } == UInt8(ascii: "<")
  }

  /// Returns what an answer that is not a success means for the batch.
  ///
  /// - Parameters:
  ///   - url: Where it came from.
  ///   - words: What the server says; nil for the body, or for the title of a page.
  ///   - answers: What the server answers; nil for the status.
  func error(
    from url: String, _ words: String? = nil, answers: String? = nil
  ) -> DeliveryError {
    let said = (words ?? title ?? text).excerpt
    let answer = "\(url.withoutQuery) answers \(answers ?? "\(status)")"
    let sentence = answer + (said.isEmpty ? "" : ": \(said)")
    switch status {
    // nginx says this about a client, whatever the client has sent; halving would put every record
    // aside.
    case 400 where Self.aboutConnections.contains(where: said.contains):
      return .blocked("\(sentence); check certificate-file, key-file and the URL")
    case 400, 422: return .refused(sentence)
    case 413: return .tooLarge(sentence)
    // gRPC says this behind the server that takes HTTP. The same batch would be too large forever.
    case 500 where said.contains("message larger than max"): return .tooLarge(sentence)
    case 409 where header("retry-after") != nil:
      return .unavailable(sentence, retryAfter: retryAfter)
    case 408, 425, 429, 500, 502, 503, 504, 507, 509, 520...599:
      return .unavailable(sentence, retryAfter: retryAfter)
    case 300..<400:
      let place = header("location").map { "; it names \($0.excerpt.withoutQuery)" } ?? ""
      return .blocked(
        "\(answer)\(place): redirects are not followed, "
          + "so configure the URL that takes the logs")
    case 401, 403, 407: return .blocked("\(sentence); check the credentials")
    case 404, 405: return .wrongPath(sentence)
    case 415:
      return .blocked("\(sentence); if the server does not know gzip, set compression = none")
    default: return .blocked(sentence)
    }
  }

  /// The title of a page of HTML, as proxies answer: nobody wants to read the rest of the page.
  private var title: String? {
    guard header("content-type")?.lowercased().hasPrefix("text/html") == true else { return nil }
    return text.elements("title").first.map(String.init)
  }

  /// What a proxy says that has accepted the connection, but not the client.
  private static let aboutConnections = [
    "No required SSL certificate was sent", "The SSL certificate error",
    "The plain HTTP request was sent to HTTPS port",
  ]

  /// How long the server asks to wait: RFC 9110, 10.2.3. At most a day.
  private var retryAfter: Duration? {
    guard let text = header("retry-after") else { return nil }
    let seconds =
      Int64(text) ?? Timestamp(httpDate: text).map { ($0 - serverTime).components.seconds }
    return seconds.map { .seconds(min(max(0, $0), 86_400)) }
  }

  /// The time by the server's clock. If that clock is wrong, `Retry-After` is wrong by as much.
  private var serverTime: Timestamp { header("date").flatMap(Timestamp.init(httpDate:)) ?? .now }
}

extension Timestamp {
  /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`.
  init?(httpDate text: String) {
    let parts = text.split(whereSeparator: { $0 == " " || $0 == ":" })
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    guard parts.count == 8, parts[7] == "GMT", let day = Int(parts[1]),
      let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3]),
      1970...2200 ~= year, let hour = Int(parts[4]), let minute = Int(parts[5]),
      let second = Int(parts[6])
    else { return nil }
    var time = CivilTime()
    (time.year, time.month, time.day) = (year, month + 1, day)
    (time.hour, time.minute, time.second) = (hour, minute, second)
    guard let second = LocalTime.utcSecond(at: time) else { return nil }
    self.init(nanosecondsSince1970: Int64(second) * 1_000_000_000)
  }
}

extension String {
  /// The first 300 Unicode scalars on one line, for an error. This counts scalars, since what
  /// people see as one character may have any number of them.
  var excerpt: String {
    var (line, count) = (String.UnicodeScalarView(), 0)
    // What a server answers may be long, and nothing but spaces.
    for scalar in unicodeScalars.prefix(1 << 16) {
      let isSpace = scalar.properties.isWhitespace
      if isSpace, line.isEmpty || line.last == " " { continue }
      if count == 300 { return String(line).trimmingSpace + "…" }
      line.append(isSpace ? " " : scalar)
      count += 1
    }
    return String(line).trimmingSpace
  }

  private var trimmingSpace: String { hasSuffix(" ") ? String(dropLast()) : self }

  /// A URL as errors show it: the query may have what others should not see.
  var withoutQuery: String { String(unicodeScalars.prefix { $0 != "?" }) }
}
