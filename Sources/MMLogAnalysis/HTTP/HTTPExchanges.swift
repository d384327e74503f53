import MMLogFormat
package import MMLogReader

/// The HTTP exchanges of a log: spans whose fields have OpenTelemetry's names for HTTP, as
/// MMLogHTTP records them.
///
/// Memory is bounded. Of many exchanges, those are kept that are open or took longest, 200,000 or
/// more; the others only count in their routes. If more exchanges than that are open, the oldest
/// count once, as open. Header fields and bodies may take 512 MiB; methods, URLs and errors may
/// take 256 MiB. If these texts are long, fewer exchanges are kept. Exchanges for which there is
/// still no room count as one route. For one thread at a time.
package struct HTTPExchanges {
  /// An exchange. Values that were not read are nil.
  package struct Exchange: Sendable {
    package var session: SessionID
    package var number: UInt64?
    package var start: Timestamp
    package var duration: Duration?
    package var hasFailed = false
    package var label = ""
    package var method: String?
    package var url: String?
    package var status: Int?
    package var size: Int?
    package var error: String?
    /// Whether there was room for its method and its URL.
    fileprivate(set) var hasNames = true
    package var request = Message()
    package var response = Message()

    /// An exchange that was still in flight when the log ended is open.
    package var outcome: LogSpans.Outcome { duration == nil ? .open : hasFailed ? .failed : .ok }

    fileprivate var nameSize: Int {
      [method, url, error].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }

    fileprivate var textSize: Int { request.textSize + response.textSize }
  }

  /// A request or a response.
  package struct Message: Sendable {
    /// Header fields in their order.
    package var headers: [(name: String, value: String)] = []
    package var body: String?
    package var bodySize: Int?
    /// Whether only the beginning of the body was recorded.
    package var isBodyCut = false
    /// How many header fields there were, if more than were recorded.
    package var headerCount: Int?

    /// The type of the body, as the header fields say.
    package var contentType: String? { headers.first { $0.name == "content-type" }?.value }

    fileprivate var textSize: Int {
      headers.reduce(body?.utf8.count ?? 0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
  }

  private let capacity: Int
  private let outcomes: Set<LogSpans.Outcome>
  private var exchanges: [Exchange] = []
  private var indexes: [Key: Int] = [:]
  /// For methods, URLs and errors.
  private var nameBytes: TextBudget
  /// For header fields and bodies.
  private var textBytes = TextBudget(512 << 20)
  /// The number of exchanges after the last time that some were dropped to make room for names.
  private var countAfterMakingRoom = 0
  /// The sessions that have open exchanges which are counted and not kept. If an unknown exchange
  /// of such a session ends, it may be one of these, and would count again.
  private var countedOpen: Set<SessionID> = []
  private let keepsBodies: Bool
  /// The number of listed exchanges that are not kept.
  package private(set) var others = 0
  /// What the exchanges that are not kept add to their routes.
  private(set) var otherRoutes = HTTPRoutes()

  private struct Key: Hashable {
    let session: SessionID
    let number: UInt64
  }

  /// Makes an empty list.
  ///
  /// - Parameters:
  ///   - keepsBodies: Whether bodies and header fields are kept.
  ///   - outcomes: The outcomes of exchanges to list.
  ///   - capacity: How many exchanges are kept at least.
  ///   - maximumBytes: How many bytes methods, URLs and errors may take in memory.
  package init(
    keepsBodies: Bool, outcomes: Set<LogSpans.Outcome> = LogSpans.Outcome.all,
    capacity: Int = 200_000, maximumBytes: Int = 256 << 20
  ) {
    (self.keepsBodies, self.outcomes, self.capacity) = (keepsBodies, outcomes, capacity)
    nameBytes = TextBudget(maximumBytes)
  }

  /// All exchanges that are listed and were kept, by their start.
  package var list: [Exchange] {
    exchanges.filter { outcomes.contains($0.outcome) }
      .sorted { ($0.start, $0.number ?? 0) < ($1.start, $1.number ?? 0) }
  }

  /// The routes of all listed exchanges.
  var routes: HTTPRoutes {
    var routes = otherRoutes
    for exchange in exchanges where outcomes.contains(exchange.outcome) { routes.add(exchange) }
    return routes
  }

  /// Adds what a reader gave.
  package mutating func add(_ item: LogReader.Item) {
    guard case .record(let record) = item else { return }
    let key = record.spanNumber.map { Key(session: record.session.id, number: $0) }
    switch record.span?.event {
    case .begin: begin(record, key)
    case .end(let start, let duration, let failed): end(record, key, start, duration, failed)
    case nil: if keepsBodies, let key, let index = indexes[key] { addBody(record, to: index) }
    }
  }

  private mutating func begin(_ record: LogReader.Record, _ key: Key?) {
    let fields = HTTPFields(record)
    guard let key, fields.method != nil || fields.url != nil else { return }
    makeRoom(for: fields)
    let index = make(record, key, record.time)
    keepNames(fields, index)
    if keepsBodies { keepHeaders(of: fields, "http.request.header.", \.request, index) }
  }

  private mutating func end(
    _ record: LogReader.Record, _ key: Key?, _ start: Timestamp, _ duration: Duration,
    _ failed: Bool
  ) {
    let fields = HTTPFields(record)
    makeRoom(for: fields)
    let known = key.flatMap { indexes[$0] }
    // The beginning may have been deleted.
    guard known != nil || fields.status != nil && !countedOpen.contains(record.session.id),
      case let index = known ?? make(record, key, start), exchanges[index].outcome == .open
    else { return }
    exchanges[index].duration = duration
    exchanges[index].hasFailed = failed
    exchanges[index].status = fields.status
    exchanges[index].size = fields.responseSize
    exchanges[index].error = kept(fields.error)
    keepNames(fields, index)
    if keepsBodies { keepHeaders(of: fields, "http.response.header.", \.response, index) }
  }

  private mutating func make(
    _ record: LogReader.Record, _ key: Key?, _ start: Timestamp
  ) -> Int {
    if exchanges.count >= 2 * capacity { keepLongest(capacity) }
    let index = exchanges.count
    exchanges.append(
      Exchange(session: record.session.id, number: key?.number, start: start, label: record.label))
    if let key { indexes[key] = index }
    return index
  }

  private mutating func keepLongest(_ count: Int) {
    exchanges.removeAll { $0.outcome != .open && !outcomes.contains($0.outcome) }
    if exchanges.count > count {
      // Of the open exchanges, the newest are the likeliest to end.
      func order(_ exchange: Exchange) -> (Duration, Timestamp) {
        (exchange.duration ?? .seconds(Int64.max), exchange.start)
      }
      exchanges.sort { order($0) > order($1) }
      for exchange in exchanges[count...] where outcomes.contains(exchange.outcome) {
        otherRoutes.add(exchange)
        others += 1
        if exchange.outcome == .open { countedOpen.insert(exchange.session) }
      }
      exchanges.removeSubrange(count...)
    }
    indexes.removeAll(keepingCapacity: true)
    for (index, exchange) in exchanges.enumerated() {
      guard let number = exchange.number else { continue }
      indexes[Key(session: exchange.session, number: number)] = index
    }
    nameBytes.clear()
    textBytes.clear()
    for exchange in exchanges {
      _ = nameBytes.take(exchange.nameSize)
      _ = textBytes.take(exchange.textSize)
    }
  }

  // MARK: - Texts

  /// Drops exchanges if there is no room for the names of others. It drops no open exchange,
  /// because that would count again when it ends. It waits until there are a quarter more exchanges
  /// than after the last time: otherwise dropping would take longer than all else.
  private mutating func makeRoom(for fields: HTTPFields) {
    if nameBytes.hasRoom(for: fields.nameSize)
      || exchanges.count - countAfterMakingRoom <= countAfterMakingRoom / 4
    {
      return
    }
    keepLongest(max(exchanges.count { $0.outcome == .open }, exchanges.count / 2))
    countAfterMakingRoom = exchanges.count
  }

  private mutating func keepNames(_ fields: HTTPFields, _ index: Int) {
    var exchange = exchanges[index]
    exchange.method = exchange.method ?? kept(fields.method)
    exchange.url = exchange.url ?? kept(fields.url)
    let isWhole =
      (exchange.method != nil || fields.method == nil) && (exchange.url != nil || fields.url == nil)
    // The record at the end of an exchange does not have its names.
    exchange.hasNames = isWhole && (exchange.hasNames || exchange.url != nil)
    exchanges[index] = exchange
  }

  /// A text, if there is room for it.
  private mutating func kept(_ name: String?) -> String? {
    guard let name, nameBytes.take(name.utf8.count) else { return nil }
    return name
  }

  private mutating func keepHeaders(
    of fields: HTTPFields, _ prefix: String, _ place: WritableKeyPath<Exchange, Message>,
    _ index: Int
  ) {
    let headers = fields.headers(prefix)
    let size = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    let hasRoom = textBytes.take(size)
    exchanges[index][keyPath: place].headers = hasRoom ? headers : []
    exchanges[index][keyPath: place].headerCount =
      fields.number(prefix + "count") ?? (hasRoom ? nil : headers.count)
  }

  private mutating func addBody(_ record: LogReader.Record, to index: Int) {
    let fields = HTTPFields(record)
    for (name, place) in [
      ("request", \Exchange.request), ("response", \.response),
    ] as [(String, WritableKeyPath<Exchange, Message>)] {
      guard let size = fields.number("http.\(name).body.size") else { continue }
      exchanges[index][keyPath: place].bodySize = size
      exchanges[index][keyPath: place].isBodyCut = fields.isCut
      if let body = fields.text("http.\(name).body.content"), textBytes.take(body.utf8.count) {
        exchanges[index][keyPath: place].body = body
      }
    }
  }
}

/// The fields of a record by OpenTelemetry's names.
private struct HTTPFields {
  private let fields: [(name: String, value: Value)]

  init(_ record: LogReader.Record) { fields = record.fields }

  var method: String? { text("http.request.method") }
  var url: String? { text("url.full") }
  var status: Int? { number("http.response.status_code") }
  var responseSize: Int? { number("http.response.body.size") }
  var error: String? {
    guard let type = text("error.type") else { return nil }
    return text("error.message").map { "\(type): \($0)" } ?? type
  }

  /// Whether the record has less than the exchange had.
  var isCut: Bool {
    fields.contains { if case .bool(true) = $0.value { $0.name == "cut" } else { false } }
  }

  /// The bytes of the fields that are kept of all exchanges.
  var nameSize: Int { [method, url, error].reduce(0) { $0 + ($1?.utf8.count ?? 0) } }

  func text(_ name: String) -> String? {
    fields.first { $0.name == name }?.value.string
  }

  func number(_ name: String) -> Int? {
    fields.lazy.filter { $0.name == name }.compactMap { field in
      switch field.value {
      case .int(let number): Int(number)
      case .uint(let number): Int(clamping: number)
      default: nil
      }
    }.first
  }

  /// Header fields, with the prefix removed from their names.
  func headers(_ prefix: String) -> [(name: String, value: String)] {
    fields.compactMap { field in
      let name = field.name.utf8
      guard name.starts(with: prefix.utf8), let text = field.value.string else { return nil }
      return (String(Substring(name.dropFirst(prefix.utf8.count))), text)
    }
  }
}
