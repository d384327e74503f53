import Foundation
import MMLog
import MMLogHTTP
import MMLogURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A client of a service, which keeps the bodies of requests that failed or were slow, and of no
// others.
//
//     mmlog-failed-requests DIRECTORY URL
//
// It sends 20 orders to URL, as JSON with secrets in it, and then one more for which it waits. It
// prints 'ready' before that one. Kill it then, and see what is left:
//
//     mmlog-decode http --outcome open DIRECTORY            # what was in flight
//     mmlog-decode http --outcome failed --messages DIRECTORY

guard CommandLine.arguments.count == 3, let base = URL(string: CommandLine.arguments[2]) else {
  print("usage: mmlog-failed-requests DIRECTORY URL")
  exit(2)
}

var configuration = LogStore.Configuration()
// Bodies stay in the ring, until the exchange that they belong to has ended.
configuration.level = .trace
configuration.archiveLevel = .info
configuration.spanCapture = SpanCapture()

let store = try LogStore(
  directory: CommandLine.arguments[1], name: "client", configuration: configuration)

var options = HTTPLog.Options()
options.isFailure = { $0 >= 500 }
options.slowerThan = .seconds(1)
options.request = [.method, .url, .body]
options.response = [.status, .size, .body]
let http = HTTPLog(store.logger(label: "http.client"), options: options)

func send(order number: Int) async {
  var request = URLRequest(url: base.appendingPathComponent("orders/\(number)"))
  request.httpMethod = "POST"
  request.setValue("application/json", forHTTPHeaderField: "content-type")
  let body = #"{"order":"order-\#(number)","customer":"Ann","password":"5ecre7"}"#
  do {
    _ = try await URLSession.shared.upload(for: request, from: Data(body.utf8), log: http)
  } catch {
    // The log has the error.
  }
}

for number in 1...20 { await send(order: number) }
// Erases what belongs to exchanges that ended well, sooner than the drainer would by itself.
try store.flush(.archive)
print("ready")
fflush(nil)
await send(order: 21)
try store.close()
