import CCurl
import MMLogFormat
import MMLogSystem

/// The callbacks of libcurl during a request, on the thread that waits for it.
final class CurlTransfer {
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

  static func at(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    // `attach` has given this pointer to libcurl.
    Unmanaged<CurlTransfer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
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
  fileprivate static func unreadable(_ why: String) -> HTTPFailure {
    HTTPFailure(kind: .unreadable, description: "cannot read all of what is to be sent: \(why)")
  }
}
