import CCurl
import MMLogFormat
import MMLogReader
import MMLogSystem

/// One easy handle of libcurl, which keeps a connection from one request to the next. Only the
/// thread that made it may use it.
final class CurlHandle {
  private let settings: HTTPSettings
  private let curl: UnsafeMutableRawPointer?
  private var errorText = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))

  /// libcurl is set up once, before any handle is made.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init(_ settings: HTTPSettings) {
    self.settings = settings
    curl = Self.isReady ? curl_easy_init() : nil
  }

  deinit { curl_easy_cleanup(curl) }

  /// Sends a request and waits for the answer.
  func perform(_ job: Job) throws(HTTPFailure) -> HTTPResponse {
    guard let curl else { throw .configuration("libcurl does not start") }
    if job.isCanceled { throw .canceled }
    let transfer = Transfer(job, settings)
    let request = Request(curl)
    var secrets: [String] = []
    do throws(SettingError) {
      try set(request, job.request, &secrets)
    } catch {
      throw .configuration(error.description)
    }
    // The request would go without its protection, or to another place.
    if let problem = request.problem { throw .configuration(problem) }
    let result = withExtendedLifetime(transfer) {
      request.attach(Unmanaged.passUnretained(transfer).toOpaque())
      return perform(curl, job.request, request)
    }
    guard result == CURLE_OK else {
      throw failure(result, transfer, job, secrets)
    }
    transfer.response.status = mmlog_curl_response_status(curl)
    return transfer.response.hiding(secrets)
  }

  private func perform(
    _ curl: UnsafeMutableRawPointer, _ message: HTTPRequest, _ request: Request
  ) -> CURLcode {
    errorText[0] = 0
    return errorText.withUnsafeMutableBufferPointer { text in
      request.set(CURLOPT_ERRORBUFFER, pointer: text.baseAddress)
      guard case .bytes(let bytes) = message.body else { return curl_easy_perform(curl) }
      return bytes.withUnsafeBytes { bytes in
        request.set(CURLOPT_POSTFIELDSIZE_LARGE, size: bytes.count)
        // libcurl makes no copy: the bytes stay where they are until it returns. With nil it would
        // ask a function for them.
        request.set(
          CURLOPT_POSTFIELDS, pointer: bytes.baseAddress ?? UnsafeRawPointer(text.baseAddress))
        return curl_easy_perform(curl)
      }
    }
  }

  // MARK: - What is set

  private func set(
    _ request: Request, _ message: HTTPRequest, _ secrets: inout [String]
  ) throws(SettingError) {
    request.set(CURLOPT_URL, message.url)
    // The path is sent as the URL has it, with any `.` and `..`.
    request.set(CURLOPT_PATH_AS_IS, 1)
    request.set(CURLOPT_PROTOCOLS_STR, "http,https")
    request.set(CURLOPT_FOLLOWLOCATION, 0)
    request.set(CURLOPT_NOSIGNAL, 1)
    request.set(CURLOPT_SSL_VERIFYPEER, 1)
    request.set(CURLOPT_SSL_VERIFYHOST, 2)
    request.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    request.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS), isNeeded: false)
    request.set(CURLOPT_TCP_KEEPALIVE, 1)
    request.set(CURLOPT_USERAGENT, "mmlog-ship")
    setLimits(request)
    setMethod(request, message)
    try setPeer(request, &secrets)
    for (name, value) in message.headers + settings.headers { try request.add(name, value) }
    // `Expect` would cost a second with a server that does not know it. With a file, libcurl asks
    // before it sends more than 1 MiB: the server may not take so much, or may have the file.
    // Without a body, libcurl never asks, and would sign an empty header that it does not send.
    if case .bytes = message.body, !signs { try request.add("Expect", "") }
    try setCredentials(request, &secrets)
    request.setHeaders()
  }

  /// Whether requests are signed, with all of their headers.
  private var signs: Bool { if case .aws = settings.credentials { true } else { false } }

  private func setLimits(_ request: Request) {
    request.set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout.milliseconds)
    request.set(CURLOPT_TIMEOUT_MS, settings.timeout.milliseconds)
  }

  private func setMethod(_ request: Request, _ message: HTTPRequest) {
    switch message.body {
    case .none where message.method == "HEAD": request.set(CURLOPT_NOBODY, 1)
    case .none where message.method == "GET": request.set(CURLOPT_HTTPGET, 1)
    case .none:
      request.set(CURLOPT_POST, 1)
      request.set(CURLOPT_POSTFIELDSIZE_LARGE, size: 0)
      request.set(CURLOPT_COPYPOSTFIELDS, "")
    case .bytes: request.set(CURLOPT_POST, 1)
    case .file(_, let range):
      request.set(CURLOPT_UPLOAD, 1)
      request.set(CURLOPT_INFILESIZE_LARGE, size: range.count)
    }
    request.set(CURLOPT_CUSTOMREQUEST, message.method)
  }

  private func setPeer(_ request: Request, _ secrets: inout [String]) throws(SettingError) {
    request.keepNoCertificates()
    if let path = settings.trustedCertificates {
      request.set(CURLOPT_CAINFO, path)
      // Otherwise libcurl may also trust the system's certificates.
      request.set(CURLOPT_CAPATH, pointer: nil, isNeeded: false)
    }
    if let path = settings.certificate { request.set(CURLOPT_SSLCERT, path) }
    if let path = settings.certificateKey ?? settings.certificate {
      request.set(CURLOPT_SSLKEY, path)
    }
    // Without a passphrase, OpenSSL would ask for it on the terminal.
    if settings.certificateKey ?? settings.certificate != nil {
      let passphrase = try settings.certificatePassphrase?.read(into: &secrets)
      request.set(CURLOPT_KEYPASSWD, passphrase ?? "")
    }
    if let proxy = settings.proxy { request.set(CURLOPT_PROXY, proxy) }
    if let (user, password) = settings.proxyCredentials {
      request.set(CURLOPT_PROXYUSERNAME, user)
      request.set(CURLOPT_PROXYPASSWORD, try password.read(of: user, into: &secrets))
    }
    if let path = settings.unixSocket { request.set(CURLOPT_UNIX_SOCKET_PATH, path) }
  }

  private func setCredentials(
    _ request: Request, _ secrets: inout [String]
  ) throws(SettingError) {
    switch settings.credentials {
    case .none: return
    case .bearer(let token):
      try request.add("Authorization", "Bearer \(try token.read(into: &secrets))")
    case .basic(let user, let password):
      request.set(CURLOPT_HTTPAUTH, Int(CURLAUTH_BASIC_))
      request.set(CURLOPT_USERNAME, user)
      request.set(CURLOPT_PASSWORD, try password.read(of: user, into: &secrets))
    case .header(let name, let value):
      let text = try value.read(into: &secrets)
      try request.add(name, text)
      // Servers repeat a key without the scheme before it, such as `ApiKey`. A short word is no
      // key, and may be anywhere in an answer.
      let words = text.split(separator: " ").dropFirst().filter { $0.utf8.count >= 8 }
      secrets += words.map(String.init)
    case .aws(let keys, let region, let service):
      let parts = try keys.read().split(separator: ":", maxSplits: 2).map(String.init)
      guard parts.count >= 2 else {
        throw SettingError("'\(keys)' has no keys: it must have 'ACCESS-KEY-ID:SECRET-KEY'")
      }
      secrets += parts.dropFirst()
      request.set(CURLOPT_USERNAME, parts[0])
      request.set(CURLOPT_PASSWORD, parts[1])
      request.set(CURLOPT_AWS_SIGV4, "aws:amz:\(region):\(service)")
      if parts.count == 3 { try request.add("x-amz-security-token", parts[2]) }
    }
  }

  // MARK: - What went wrong

  private func failure(
    _ code: CURLcode, _ transfer: Transfer, _ job: Job, _ secrets: [String]
  ) -> HTTPFailure {
    if job.isCanceled { return .canceled }
    if let error = transfer.failure { return error }
    let bytes = errorText.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    var text = String(decoding: bytes, as: UTF8.self)
    if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
    var whole = "\(text) (libcurl's error \(code.rawValue))".hiding(
      secrets + usersOfProxies)
    if code == CURLE_SSL_CERTPROBLEM, settings.certificatePassphrase == nil {
      whole += "; if the key is encrypted, set passphrase-file"
    }
    return HTTPFailure(
      kind: needsAction(code, text) ? .configuration : .unreachable, description: whole)
  }

  private func needsAction(_ code: CURLcode, _ text: String) -> Bool {
    // A proxy that does not let this client through.
    if [401, 403, 407].contains(mmlog_curl_connect_status(curl)) { return true }
    // A TLS alert: the server does not accept this client's certificate, or its version.
    if text.contains(" alert "), !text.contains("internal error") { return true }
    // An answer that is not HTTP has the same error number.
    if code == CURLE_UNSUPPORTED_PROTOCOL, !text.lowercased().contains("protocol") { return false }
    return Self.needAction.contains(code.rawValue)
  }

  /// Errors that do not go away by trying again.
  private static let needAction: Set<UInt32> = Set(
    [
      CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_NOT_BUILT_IN,
      CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
      CURLE_UNKNOWN_OPTION, CURLE_BAD_FUNCTION_ARGUMENT,
    ].map(\.rawValue))
}

/// `CURLAUTH_BASIC` is a macro with a cast in it.
private let CURLAUTH_BASIC_ = 1

/// The options of one request. Before and after it, the handle is as new, except for its
/// connections.
private final class Request {
  private let curl: UnsafeMutableRawPointer
  private var headers: UnsafeMutablePointer<curl_slist>?
  /// The first option that this libcurl has not taken, and why; nil if it has taken all.
  private(set) var problem: String?

  init(_ curl: UnsafeMutableRawPointer) {
    self.curl = curl
    curl_easy_reset(curl)
  }

  deinit {
    curl_easy_reset(curl)
    curl_slist_free_all(headers)
  }

  func set(_ option: CURLoption, _ value: Int, isNeeded: Bool = true) {
    note(mmlog_curl_set_number(curl, option, value), option, isNeeded)
  }
  func set(_ option: CURLoption, _ value: String) {
    note(mmlog_curl_set_text(curl, option, value), option)
  }
  func set(_ option: CURLoption, size: Int) {
    note(mmlog_curl_set_size(curl, option, curl_off_t(size)), option)
  }
  func set(_ option: CURLoption, pointer: UnsafeRawPointer?, isNeeded: Bool = true) {
    note(mmlog_curl_set_pointer(curl, option, pointer), option, isNeeded)
  }

  func keepNoCertificates() { mmlog_curl_keep_no_certificates(curl) }

  private func note(_ code: CURLcode, _ option: CURLoption, _ isNeeded: Bool = true) {
    if code == CURLE_OK || !isNeeded || problem != nil { return }
    let why = String(cString: curl_easy_strerror(code))
    problem = "libcurl does not take its option \(option.rawValue): \(why); install a newer one"
  }

  /// Adds a header. An empty value removes a header that libcurl would send.
  func add(_ name: String, _ value: String) throws(SettingError) {
    let line = value.isEmpty ? "\(name):" : "\(name): \(value)"
    guard line.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw SettingError("the header '\(name)' must have no control characters")
    }
    headers = curl_slist_append(headers, line)
  }

  func setHeaders() { set(CURLOPT_HTTPHEADER, pointer: headers) }

  /// Lets the transfer receive and give bytes.
  func attach(_ transfer: UnsafeMutableRawPointer) {
    set(CURLOPT_WRITEDATA, pointer: transfer)
    _ = mmlog_curl_set_transfer(curl, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      Transfer.at(context).receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    set(CURLOPT_HEADERDATA, pointer: transfer)
    _ = mmlog_curl_set_transfer(curl, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      Transfer.at(context).receive(
        header: UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    set(CURLOPT_READDATA, pointer: transfer)
    _ = mmlog_curl_set_transfer(curl, CURLOPT_READFUNCTION) { bytes, size, count, context in
      Transfer.at(context).give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }
    set(CURLOPT_SEEKDATA, pointer: transfer)
    _ = mmlog_curl_set_seek(curl) { context, offset, _ in Transfer.at(context).seek(Int(offset)) }
    set(CURLOPT_XFERINFODATA, pointer: transfer)
    _ = mmlog_curl_set_progress(curl) { context, _, received, toSend, sent in
      Transfer.at(context).mayGoOn(received: received, sent: sent, of: toSend) ? 0 : 1
    }
    set(CURLOPT_NOPROGRESS, 0)
  }
}

/// The callbacks of libcurl during a request, on the thread that waits for it.
private final class Transfer {
  private static let maximumOfHeaders = 64 << 10

  var response = HTTPResponse()
  var failure: HTTPFailure?
  private let job: Job
  private let maximum: Int
  private let stallTimeout: Duration
  /// How many bytes of bodies have moved, and since when no more have.
  private var moved = (count: curl_off_t(0), since: Clock.monotonic())
  private let file: SentFile?
  private let range: Range<Int>
  private var position = 0
  private var headerBytes = 0

  init(_ job: Job, _ settings: HTTPSettings) {
    (self.job, maximum) = (job, settings.maximumResponse)
    stallTimeout = settings.stallTimeout
    (file, range) =
      if case .file(let file, let range) = job.request.body { (file, range) } else { (nil, 0..<0) }
  }

  static func at(_ context: UnsafeMutableRawPointer?) -> Transfer {
    // `attach` has given this pointer to libcurl.
    Unmanaged<Transfer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  }

  /// Whether to go on. libcurl asks about once a second.
  func mayGoOn(received: curl_off_t, sent: curl_off_t, of toSend: curl_off_t) -> Bool {
    if job.isCanceled { return false }
    // Before the connection is there, and while the server works on its answer, nothing stalls.
    let isWaiting = received == 0 && (sent == 0 || sent >= toSend)
    let (count, now) = (received + sent, Clock.monotonic())
    if isWaiting || count != moved.count { moved = (count, now) }
    if .nanoseconds(Int64(clamping: now - moved.since)) < stallTimeout { return true }
    failure = HTTPFailure(
      kind: .unreachable, description: "nothing of a body has moved for \(stallTimeout)")
    return false
  }

  /// Returns how many bytes were taken: any other number than that of `bytes` ends the transfer.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard response.body.count + bytes.count <= maximum else {
      failure = HTTPFailure(
        kind: .tooLarge, description: "the answer is larger than \(maximum) bytes")
      return 0
    }
    response.body.append(contentsOf: bytes)
    return bytes.count
  }

  func receive(header bytes: UnsafeRawBufferPointer) -> Int {
    headerBytes += bytes.count
    guard headerBytes <= Self.maximumOfHeaders else {
      failure = HTTPFailure(
        kind: .tooLarge,
        description: "the answer's headers are larger than \(Self.maximumOfHeaders) bytes")
      return 0
    }
    let line = String(decoding: bytes, as: UTF8.self)
    // The headers of a proxy's answer or of an interim answer come first.
    if line.hasPrefix("HTTP/") { response.headers.removeAll() }
    if let colon = line.firstIndex(of: ":") {
      let value = line[line.index(after: colon)...]
      response.headers.append((line[..<colon].lowercased(), String(value.trimmed())))
    }
    return bytes.count
  }

  func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, range.count - position)
    guard count > 0 else { return 0 }
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    do throws(SystemError) {
      let read = try file?.file.readFully(into: part, at: range.lowerBound + position)
      if read == count {
        position += count
        return count
      }
      failure = .unreadable("it ends before byte \(range.lowerBound + position + count)")
    } catch {
      failure = .unreadable("\(error)")
    }
    return Int(CURL_READFUNC_ABORT)
  }

  func seek(_ offset: Int) -> CInt {
    guard 0...range.count ~= offset else { return CInt(CURL_SEEKFUNC_FAIL) }
    position = offset
    return CInt(CURL_SEEKFUNC_OK)
  }
}

extension HTTPFailure {
  fileprivate static var canceled: HTTPFailure {
    HTTPFailure(kind: .canceled, description: "the request was canceled")
  }

  fileprivate static func unreadable(_ why: String) -> HTTPFailure {
    HTTPFailure(kind: .unreadable, description: "cannot read all of what is to be sent: \(why)")
  }

  fileprivate static func configuration(_ sentence: String) -> HTTPFailure {
    HTTPFailure(kind: .configuration, description: sentence)
  }
}

extension Secret {
  /// Reads the secret, and notes it among the secrets that no error may show.
  fileprivate func read(into secrets: inout [String]) throws(SettingError) -> String {
    let secret = try read()
    secrets.append(secret)
    return secret
  }

  /// Reads a user's password in the same way, and also notes what the header of Basic
  /// authentication has.
  fileprivate func read(
    of user: String, into secrets: inout [String]
  ) throws(SettingError) -> String {
    let password = try read()
    var encoded = TextBuffer()
    Array("\(user):\(password)".utf8).withUnsafeBytes { encoded.append(base64: $0) }
    // The longer one comes first, since the other may be a part of it.
    secrets += [encoded.text(), password]
    return password
  }
}

extension HTTPResponse {
  /// Returns the answer with stars where the server repeats a secret. The server's words end up in
  /// errors, also those about single records in a successful answer.
  fileprivate func hiding(_ secrets: [String]) -> HTTPResponse {
    var response = self
    response.headers = headers.map { ($0.name, $0.value.hiding(secrets)) }
    for secret in secrets { response.body.hide(Array(secret.utf8)) }
    return response
  }
}

extension [UInt8] {
  /// Replaces each byte of a secret with a star, so that lengths in the content stay right.
  fileprivate mutating func hide(_ secret: [UInt8]) {
    guard let first = secret.first else { return }
    var index = 0
    while index + secret.count <= count {
      let end = index + secret.count
      if self[index] == first, self[index..<end].elementsEqual(secret) {
        for place in index..<end { self[place] = UInt8(ascii: "*") }
        index = end
      } else {
        index += 1
      }
    }
  }
}

extension String {
  func hiding(_ secrets: [String]) -> String {
    // This works on bytes: the end of a secret may form one character with what follows.
    let bytes = secrets.filter { !$0.isEmpty }.reduce(Array(utf8)) {
      $0.replacing($1.utf8, with: "***".utf8)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The users and passwords of the proxies that variables of the environment name: libcurl's texts
/// have them.
private var usersOfProxies: [String] {
  ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].compactMap { name in
    guard let bytes = CurrentProcess.variable(name).map({ Array($0.utf8) }),
      let at = bytes.lastIndex(of: UInt8(ascii: "@"))
    else { return nil }
    let start = bytes.firstRange(of: "://".utf8)?.upperBound ?? 0
    return start < at ? String(decoding: bytes[start..<at], as: UTF8.self) : nil
  }
}

extension Duration {
  /// The duration in milliseconds, at least 1.
  fileprivate var milliseconds: Int {
    let seconds = min(components.seconds, 1 << 40)
    return Int(max(1, seconds * 1000 + components.attoseconds / 1_000_000_000_000_000))
  }
}
