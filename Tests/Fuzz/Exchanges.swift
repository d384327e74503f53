import Glibc
import MMLog
import MMLogHTTP
import MMLogSystem
import TestSupport

/// The secret that must not come out.
private let secret = "5ecre7"

/// A log of exchanges whose records all stay in its ring.
private struct FuzzedExchanges {
  let store: LogStore
  let http: HTTPLog
  let ring: UnsafeRawBufferPointer

  init() throws {
    let folder = try Folder.temporary()
    var configuration = LogStore.Configuration()
    (configuration.ringSize, configuration.segmentSize) = (256 << 10, 16 << 10)
    (configuration.level, configuration.archiveLevel) = (.trace, .critical)
    (configuration.captureLevel, configuration.fullRing) = (.critical, .overwriteOldest)
    store = try LogStore(directory: folder, name: "fuzz", configuration: configuration)
    var options = HTTPLog.Options()
    options.contentTypes.append("text/*")
    options.request.insert(.taskDescription)
    http = HTTPLog(store.logger(label: "http"), options: options)
    let name = try Folder.names(folder).first { $0.hasSuffix(".ring") } ?? ""
    let file = try File.open("\(folder)/\(name)", .read)
    let size = try file.status().size
    let address = mmap(nil, size, PROT_READ, MAP_SHARED, file.descriptor, 0)
    guard let address, address != MAP_FAILED else { fatalError("mmap: errno \(errno)") }
    ring = UnsafeRawBufferPointer(start: address, count: size)
  }

  /// Whether the secret stands in the ring.
  var hasSecret: Bool {
    let (word, first) = (Array(secret.utf8), CInt(UInt8(ascii: "5")))
    guard let start = ring.baseAddress else { return false }
    var place = 0
    // Most of the ring is zeros.
    while let found = memchr(start + place, first, ring.count - place) {
      place = UnsafeRawPointer(found) - start
      if ring.count - place < word.count { return false }
      if memcmp(found, word, word.count) == 0 { return true }
      place += 1
    }
    return false
  }
}

/// Only one thread uses this.
nonisolated(unsafe) private let exchanges: FuzzedExchanges = {
  do { return try FuzzedExchanges() } catch { fatalError("\(error)") }
}()

/// Puts a secret behind an encoded name into each place of an exchange that is redacted, with
/// made-up bytes before and behind it, and in pieces. The secret must not come to the ring.
func logExchange(_ bytes: UnsafeRawBufferPointer) {
  guard bytes.count > 4 else { return }
  let noise = bytes.dropFirst(4).prefix { $0 != 0 }
  let before = String(decoding: noise, as: UTF8.self)
  let behind = String(decoding: bytes.dropFirst(5 + noise.count), as: UTF8.self)
  // Names of header fields are recorded in small letters.
  if hasSecret((before + behind).lowercased()) { return }
  let encoding = Encoding(bits: UInt32(bytes[1]) << 8 | UInt32(bytes[2]), style: bytes[0])
  let pair = "\(encoding.percent)=\(secret)"
  redact("\(before)&\(pair)\(behind)", "\(before)\"\(encoding.json)\" :\"\(secret)\"\(behind)")
  // Most of the time would go to the ring.
  if bytes[1] % 16 != 0 { return }
  let exchange = exchanges.http.begin(
    method: "GET", url: "\(before)&\(pair)\(behind)",
    headers: HTTPHeaders([
      (name: encoding.header, value: secret + behind), (name: before, value: "\(behind);\(pair)"),
    ]))
  send(
    "\(before)&\(pair)&\(behind)", cut: bytes[3], in: exchange,
    "application/x-www-form-urlencoded")
  let field = "\"\(encoding.json)\" :\"\(secret)"
  for type in ["application/json", "text/plain"] {
    send("\(before)\(field)\"\(behind)", cut: bytes[3], in: exchange, type)
    send("\(before),\(field)", cut: bytes[3], in: exchange, type)
  }
  exchange.fail(Failure("\(before)?\(pair)\(behind)"))
  precondition(!exchanges.hasSecret, "a secret is in the ring")
}

private func redact(_ pairs: String, _ json: String) {
  let redactor = Redactor.standard
  let texts = [
    redactor.redacted(url: pairs), redactor.redacted(form: pairs), redactor.redacted(text: pairs),
    String(decoding: redactor.redacted(json: Array(json.utf8)), as: UTF8.self),
  ]
  for text in texts { precondition(!hasSecret(text), "a secret comes out: \(text)") }
}

/// Whether the secret's bytes stand in a text. They do also where a combining mark behind them
/// changes the last character.
private func hasSecret(_ text: String) -> Bool { text.utf8.contains(secret.utf8) }

private func send(_ body: String, cut: UInt8, in exchange: HTTPLog.Exchange, _ type: String) {
  let bytes = Array(body.utf8)
  let part = exchange.body(of: .request, contentType: type)
  let middle = min(Int(cut), bytes.count)
  part?.append(bytes[..<middle])
  part?.append(bytes[middle...])
  part?.finish()
}

/// The name of a secret, encoded in one of several ways.
private struct Encoding {
  private let name: [UInt8]
  private let bits: UInt32

  init(bits: UInt32, style: UInt8) {
    let names = ["password", "api_key", "Client-Secret", "sid", "X-Access-Token"]
    name = Array(names[Int(style) % names.count].utf8)
    self.bits = bits
  }

  private func encoded(_ change: (UInt8) -> String) -> String {
    name.enumerated().map { index, byte in
      bits >> (index & 15) & 1 == 1 ? change(byte) : String(UnicodeScalar(byte))
    }.joined()
  }

  private func hex(_ byte: UInt8, _ digits: Int) -> String {
    let text = String(byte, radix: 16)
    return String(repeating: "0", count: digits - text.utf8.count) + text
  }

  var percent: String { encoded { (bits & 1 == 0 ? "%" : "%25") + hex($0, 2) } }
  var json: String { encoded { "\\u" + hex($0, 4) } }
  var header: String { encoded { String(UnicodeScalar($0)).uppercased() } }
}
