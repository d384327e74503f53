package import MMLogReader
import MMLogSystem

/// Exchanges by method and route. A route is a path with `{id}` in place of numbers and other ids.
///
/// Memory is bounded: there are at most 20,000 routes. Exchanges of further routes count as one
/// route, and so do those of routes whose names have no room.
struct HTTPRoutes {
  /// Exchanges of one route.
  struct Route {
    let name: String
    var count = 0
    var failed = 0
    var bytes = 0
    var milliseconds = Percentiles()

    fileprivate mutating func add(
      _ exchange: HTTPExchanges.Exchange, _ bucketsLeft: inout Int
    ) {
      count += 1
      failed += exchange.outcome == .failed ? 1 : 0
      bytes = bytes.addingReportingOverflow(exchange.size ?? 0).partialValue
      if let duration = exchange.duration {
        milliseconds.add(Double(duration.nanoseconds) / 1e6, of: &bucketsLeft)
      }
    }
  }

  private static let maximum = 20_000

  private var routes: [Bytewise: Route] = [:]
  private var nameBytes: TextBudget
  /// How many more buckets the percentiles of all routes may have.
  private var bucketsLeft = Percentiles.maximumOfAll

  /// - Parameter maximumBytes: How many bytes the names of routes may take in memory.
  init(maximumBytes: Int = 32 << 20) { nameBytes = TextBudget(maximumBytes) }

  /// The routes, those with most time first.
  var list: [Route] {
    routes.values.sorted { ($1.milliseconds.sum, $0.name) < ($0.milliseconds.sum, $1.name) }
  }

  /// Adds an exchange to its route.
  mutating func add(_ exchange: HTTPExchanges.Exchange) {
    let own = "\(exchange.method ?? "-") \(HTTPExchanges.route(of: exchange.url ?? "-"))"
    let isKnown = routes[Bytewise(own)] != nil
    let hasRoom =
      exchange.hasNames
      && (isKnown || routes.count < Self.maximum && nameBytes.take(own.utf8.count))
    let name = hasRoom ? own : "(other routes)"
    routes[Bytewise(name), default: Route(name: name)].add(exchange, &bucketsLeft)
  }
}

extension HTTPExchanges {
  /// A URL without scheme and query, in which parts with digits that look like an id are `{id}`.
  static func route(of url: String) -> String {
    let plain = url.unicodeScalars.prefix { $0 != "?" && $0 != "#" }
    let parts = plain.split(separator: "/", omittingEmptySubsequences: false).map(Substring.init)
    let isAbsolute = parts.count > 2 && parts[0].hasSuffix(":") && parts[1].isEmpty
    let head = isAbsolute ? parts[2...2] : []
    let path = isAbsolute ? parts[3...] : parts[...]
    return (head.map(String.init) + path.map { isID($0) ? "{id}" : String($0) })
      .joined(separator: "/")
  }

  /// Whether a part of a path names a thing, and not a kind of thing: a number, a UUID, a hash.
  private static func isID(_ part: Substring) -> Bool {
    let digits = part.utf8.count { ("0"..."9").contains(UnicodeScalar($0)) }
    if digits == 0 { return false }
    let isHex = part.unicodeScalars.allSatisfy { $0 == "-" || $0.properties.isASCIIHexDigit }
    return digits == part.utf8.count || isHex && part.utf8.count >= 8
      || part.utf8.count >= 20 && digits >= 2
  }

  /// Appends a line for each route: how many, how many failed, percentiles in milliseconds, bytes.
  package func appendRoutes(_ style: Style, to output: inout TextBuffer) {
    let head = ["COUNT", "FAILED", "P50 MS", "P90", "P99", "MAX", "BYTES"]
    append(head, "ROUTE", style, to: &output)
    for route in routes.list.prefix(style.rows) {
      let percentiles = [0.5, 0.9, 0.99, 1].map { part in
        route.milliseconds.value(at: part).map {
          milliseconds(.nanoseconds(Int64(clamping: Int128($0 * 1e6))))
        } ?? "-"
      }
      append(
        ["\(route.count)", "\(route.failed)"] + percentiles + ["\(route.bytes)"], route.name,
        style, to: &output)
    }
  }

  private func append(
    _ cells: [String], _ name: String, _ style: Style, to output: inout TextBuffer
  ) {
    var line = TextBuffer(capacity: 128)
    for cell in cells {
      line.append(UInt8(ascii: " "), count: max(1, 10 - cell.count))
      line.append(text: cell)
    }
    line.append(text: "  ")
    line.append(name, .plain)
    output.append(line: line.text(), within: style.columns)
  }
}
