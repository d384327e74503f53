import CCurl
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
    let transfer = CurlTransfer(job, settings)
    let request = CurlRequest(curl)
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
    _ curl: UnsafeMutableRawPointer, _ message: HTTPRequest, _ request: CurlRequest
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
    _ request: CurlRequest, _ message: HTTPRequest, _ secrets: inout [String]
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
    if case .bytes = message.body, !isSigned { try request.add("Expect", "") }
    try setCredentials(request, &secrets)
    request.setHeaders()
  }

  /// Whether requests are signed, with all of their headers.
  private var isSigned: Bool { if case .aws = settings.credentials { true } else { false } }

  private func setLimits(_ request: CurlRequest) {
    request.set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout.milliseconds)
    request.set(CURLOPT_TIMEOUT_MS, settings.timeout.milliseconds)
  }

  private func setMethod(_ request: CurlRequest, _ message: HTTPRequest) {
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

  private func setPeer(_ request: CurlRequest, _ secrets: inout [String]) throws(SettingError) {
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
    _ request: CurlRequest, _ secrets: inout [String]
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
    _ code: CURLcode, _ transfer: CurlTransfer, _ job: Job, _ secrets: [String]
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

extension HTTPFailure {
  fileprivate static var canceled: HTTPFailure {
    HTTPFailure(kind: .canceled, description: "the request was canceled")
  }

  fileprivate static func configuration(_ sentence: String) -> HTTPFailure {
    HTTPFailure(kind: .configuration, description: sentence)
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
