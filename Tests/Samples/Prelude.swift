// What the documentation's samples take for granted: the names that a reader imagines. Never run.
// Tools/check-samples
#if canImport(Logging)
  import Logging
#endif
import Foundation
import MMLog
import MMLogHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func imagined<T>() -> T { fatalError("Samples are compiled, and not run") }

// A service.
struct Order: Sendable {
  let id = 42
  let price = 1234.5
}
var order: Order { imagined() }
var id: Int { imagined() }
var card: String { imagined() }
var user: String { imagined() }
var venue: String { imagined() }
var elapsed: Double { imagined() }
var status: Int { imagined() }
var error: any Error { imagined() }
var attempt: Int { imagined() }
var limit: Int { imagined() }
var queue: [Order] { imagined() }
var host: String { imagined() }
var pid: Int32 { imagined() }
struct Book: Sendable {
  func match(_ order: Order, in span: MMLog.Logger.Span) throws -> [Order] { imagined() }
}
var book: Book { imagined() }
func load(_ id: Int) async throws -> Book { imagined() }
func serve(_ id: Int) async throws {}
func upload(_ path: String) async throws {}
func post(_ lines: String, key: String) async throws {}
func alert(_ text: String) {}
enum Device {
  static func holdAwake() {}
  static func letSleep() {}
}
struct Response {
  var headers: [String: String] = [:]
  var body = ""
}
var response: Response {
  get { imagined() }
  set {}
}

var request: URLRequest { imagined() }
var session: URLSession { imagined() }

// Its log.
var store: LogStore { imagined() }
var stores: LogStores { imagined() }
var archive: ArchiveInfo { imagined() }
var log: MMLog.Logger { imagined() }
var span: MMLog.Logger.Span { imagined() }
var http: HTTPLog { imagined() }
var configuration: LogStore.Configuration {
  get { imagined() }
  set {}
}
#if canImport(Logging)
  var logger: Logging.Logger { imagined() }
#endif
