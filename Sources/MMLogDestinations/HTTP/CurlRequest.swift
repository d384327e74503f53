import CCurl

/// The options of one request. Before and after it, the handle is as new, except for its
/// connections.
final class CurlRequest {
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
      CurlTransfer.at(context).receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    set(CURLOPT_HEADERDATA, pointer: transfer)
    _ = mmlog_curl_set_transfer(curl, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      CurlTransfer.at(context).receive(
        header: UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    set(CURLOPT_READDATA, pointer: transfer)
    _ = mmlog_curl_set_transfer(curl, CURLOPT_READFUNCTION) { bytes, size, count, context in
      CurlTransfer.at(context).give(
        UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }
    set(CURLOPT_SEEKDATA, pointer: transfer)
    _ = mmlog_curl_set_seek(curl) { context, offset, _ in CurlTransfer.at(context).seek(Int(offset))
    }
    set(CURLOPT_XFERINFODATA, pointer: transfer)
    _ = mmlog_curl_set_progress(curl) { context, _, received, toSend, sent in
      CurlTransfer.at(context).mayGoOn(received: received, sent: sent, of: toSend) ? 0 : 1
    }
    set(CURLOPT_NOPROGRESS, 0)
  }
}
