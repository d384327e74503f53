// A server of Vapor, whose log outlives it.
//
//   swift run --package-path Examples/VaporServer orders serve
//   curl http://localhost:8080/orders/7
//   swift run mmlog-decode /var/log/orders      of root; of others, ~/.local/state/orders
import Logging
import MMLogSwiftLog
import Vapor

let store = try LogStore(name: "orders")
// In place of LoggingSystem.bootstrap(from: &environment).
LoggingSystem.bootstrap { MMLogHandler(label: $0, store: store) }

let application = try await Application.make(.detect())
application.get("orders", ":id") { request in
  let id = try request.parameters.require("id", as: Int.self)
  request.logger.info("order is read", metadata: ["order": .stringConvertible(id)])
  return "order \(id)\n"
}
let outcome = await Task { try await application.execute() }.result  // until SIGTERM or SIGINT
try await application.asyncShutdown()
try store.close()
try outcome.get()
