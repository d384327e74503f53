import Glibc
import MMLog
import MMLogReader
import Synchronization
import TestSupport
import Testing

/// A service that handles many requests at once, and dies when it has logged a number of records.
private struct Service: Sendable {
  let log: Logger
  let stock: Stock
  let life: Life

  /// Each request takes from the stock, and other requests come in between.
  actor Stock {
    private let (log, life): (Logger, Life)
    private var left = 1000

    init(_ log: Logger, _ life: Life) { (self.log, self.life) = (log, life) }

    func take(_ request: Int) async {
      life.after { log.info("\(request) finds \(left)") }
      await Task.yield()
      left -= 1
      life.after { log.debug("\(request) leaves \(left)", metadata: ["left": .int(Int64(left))]) }
    }
  }

  /// Ends the process after so many log calls have returned.
  final class Life: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func after<Result>(_ body: () -> Result) -> Result {
      let result = body()
      if left.subtract(1, ordering: .relaxed).newValue == 0 { kill(getpid(), SIGKILL) }
      return result
    }
  }

  /// Handles a request. The messages of its records begin with its number.
  func handle(_ request: Int) async {
    let span = life.after { log.begin("\(request) accepted") }
    let fields: Logger.Metadata = ["request": .int(Int64(request)), "text": "request \(request)"]
    await withLogFields(fields, span: span, trace: Self.trace(of: request)) {
      let own = log.with(["worker": .int(Int64(request % 7))])
      life.after { own.info("\(request) begins") }
      await withTaskGroup { group in
        for part in 0..<3 { group.addTask { await handle(part, of: request) } }
      }
      let inner = life.after { log.begin("\(request) commits") }
      await Task.yield()
      life.after { inner.end("\(request) committed") }
      life.after { own.info("\(request) ends") }
    }
    life.after { span.end("\(request) answered") }
  }

  private func handle(_ part: Int, of request: Int) async {
    await stock.take(request)
    await withLogFields(["part": .int(Int64(part))]) {
      await Task.yield()
      life.after { log.notice("\(request) has part \(part)") }
    }
  }

  static func trace(of request: Int) -> TraceContext? {
    let digits = String(1 << 40 + request, radix: 16)
    let text = String(repeating: "0", count: 16 - digits.count) + digits
    return TraceContext(traceID: text + text, spanID: text, flags: UInt8(request % 2))
  }
}

@Suite("Requests of a service that is killed") struct RequestTests {
  @Test(
    "every record has the fields, the span and the trace of its own request",
    arguments: [false, true])
  func requests(isTiny: Bool) async throws {
    let folder = TemporaryDirectory()
    var random = SeededGenerator.fresh()
    let count = Int.random(in: 1000...8000, using: &random)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.path as String, isTiny = isTiny as Bool, count = count as Int] in
      var configuration = LogStore.Configuration()
      if isTiny { configuration.makeTiny() }
      configuration.fullRing = .wait(upTo: .seconds(60))
      configuration.level = .debug
      let store = try LogStore(directory: path, name: "requests", configuration: configuration)
      let (log, life) = (store.logger(label: "service"), Service.Life(count))
      let service = Service(
        log: log, stock: Service.Stock(store.logger(label: "stock"), life), life: life)
      await withTaskGroup { group in
        for client in 0..<16 {
          group.addTask { for turn in 0..<1000 { await service.handle(client + 16 * turn) } }
        }
      }
    }
    let before = try check(Contents(folder.path), atLeast: count)
    let store = try LogStore(directory: folder.path, name: "requests")
    #expect(store.recoveredSessions.count == 1)
    try store.blockingClose()
    #expect(try check(Contents(folder.path), atLeast: count) == before)
  }

  /// Compares each record with its request. Returns how many records there are by the second word
  /// of their messages.
  private func check(_ contents: Contents, atLeast count: Int) throws -> [String: Int] {
    #expect(contents.isClean && contents.records.count >= count)
    var spans: [Int: UInt64] = [:]
    var counts: [String: Int] = [:]
    for record in contents.records {
      let words = record.message.split(separator: " ")
      let request = try #require(Int(words[0]))
      counts[String(words[1]), default: 0] += 1
      switch words[1] {
      case "accepted":
        spans[request] = record.spanNumber
        #expect(record.span?.event == .begin(parent: nil))
        #expect(record.trace == nil && record.fields.isEmpty)
      case "answered":
        #expect(record.spanNumber == spans[request])
        #expect(record.trace == nil && record.fields.isEmpty)
      default: try check(record, of: request, String(words[1]), in: #require(spans[request]))
      }
    }
    #expect(counts.count == 9)
    return counts
  }

  private func check(
    _ record: LogReader.Record, of request: Int, _ what: String, in span: UInt64
  ) throws {
    let text = Array("request \(request)".utf8)
    var expected: [(String, Value)] = [
      ("request", .int(Int64(request))), ("text", .string(text)),
    ]
    switch what {
    case "begins", "ends": expected.insert(("worker", .int(Int64(request % 7))), at: 0)
    case "leaves":
      let left = try #require(Int64(record.message.split(separator: " ")[2]))
      expected.insert(("left", .int(left)), at: 0)
    case "has":
      let part = try #require(Int64(record.message.split(separator: " ")[3]))
      expected.append(("part", .int(part)))
    default: break
    }
    let found = record.fields
    #expect(found.map(\.name) == expected.map(\.0) && found.map(\.value) == expected.map(\.1))
    #expect(record.trace == Service.trace(of: request))
    switch record.span?.event {
    case nil: #expect(record.spanNumber == span)
    case .begin(let parent): #expect(parent == span && record.spanNumber != span)
    default: #expect(what == "committed" && record.spanNumber != span)
    }
  }
}
