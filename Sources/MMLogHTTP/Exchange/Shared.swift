import MMLog
import MMLogFormat
import MMLogSystem
import Synchronization

extension HTTPLog {
  /// What copies of a log share.
  @usableFromInline
  final class Shared: Sendable {
    let log: Logger
    let options: Options
    // The options that each exchange needs: copying all options would count many references.
    private let level, headersLevel: Logger.Level
    private let elements: Elements
    private let longestURL: Int
    private let redactor: Redactor.Compiled
    private let filter: Filter?
    /// The types of bodies that are recorded as text.
    let contentTypes: [Glob]
    /// Whether exchanges are counted.
    private let isCounting: Bool
    /// Whether the end needs more of the beginning than its span.
    private let isExtended: Bool
    /// Whether bodies are recorded if their level is on. They need the exchange's place.
    private let hasBodies: Bool
    private let count = Atomic<UInt64>(0)
    /// How long an exchange may take, in nanoseconds, and the clocks at some time before any
    /// exchange.
    private let slow: (limit: UInt64, ticks: UInt64, time: UInt64)?

    init(_ log: Logger, _ options: Options) {
      (self.log, self.options) = (log, options)
      (level, elements, longestURL) = (options.level, options.request, options.longestURL)
      headersLevel = options.headersLevel
      redactor = options.redactor.compiled
      filter = Filter(options)
      contentTypes = options.contentTypes.map { Glob($0.lowercased()) }
      let ends = options.response.union(options.error)
      slow = options.slowerThan.map {
        let limit = max(.zero, min($0, .seconds(30 * 86400))) / Duration.nanoseconds(1)
        return (UInt64(limit), Clock.ticks(), Clock.monotonic())
      }
      isCounting =
        options.sampling > 1 || options.reporter != nil
        || elements.union(ends).contains(.serialNumber)
      isExtended = isCounting || !ends.isDisjoint(with: [.method, .url])
      hasBodies = elements.union(options.response).contains(.body)
    }

    var isEnabled: Bool { log.isEnabled(level) }

    /// Whether a response with that status is a failure.
    func isFailure(_ status: Int) -> Bool {
      options.isFailure?(status) ?? (status >= (options.role == .client ? 400 : 500))
    }

    /// Whether an exchange that ends now has taken too long. This makes no system call, and stores
    /// nothing in the exchange: the exchange's share of the ticks since the log was made is its
    /// share of the time.
    func isSlow(_ span: Logger.Span) -> Bool {
      guard let slow else { return false }
      let (ticks, time) = (Clock.ticks(), Clock.monotonic())
      let share = Double(ticks &- span.ticks) / Double(max(1, ticks &- slow.ticks))
      return Double(time &- slow.time) * share > Double(slow.limit)
    }

    /// Whether header fields are recorded now, if they are among the elements.
    var recordsHeaders: Bool { log.isEnabled(headersLevel) }

    /// The number of the next exchange; nil if it is not in the sample.
    private func nextNumber() -> UInt64? {
      guard isCounting else { return 0 }
      let number = count.wrappingAdd(1, ordering: .relaxed).newValue
      return options.sampling <= 1 || number % options.sampling == 1 ? number : nil
    }

    /// Begins an exchange in this log and in others.
    @usableFromInline @inline(never)
    func begin(
      beside others: Others?, _ method: String, _ url: String, _ headers: () -> HTTPHeaders,
      _ task: () -> String?, _ place: SourceLocation
    ) -> Exchange {
      guard let others else { return begin(method, url, headers, task, place) }
      let further = others.all.map { $0.begin(method, url, headers, task, place) }
      return begin(method, url, headers, task, place).adding(further.filter(\.isRecorded))
    }

    /// Begins an exchange in this log.
    private func begin(
      _ method: String, _ url: String, _ headers: () -> HTTPHeaders, _ task: () -> String?,
      _ place: SourceLocation
    ) -> Exchange {
      guard isEnabled, filter?.passes(method, url) ?? true, let number = nextNumber() else {
        return Exchange()
      }
      var fields: Logger.Metadata?
      if elements.contains(.taskDescription), let task = task() {
        fields.append(.string(task), for: "http.task")
      }
      if elements.contains(.serialNumber) { fields.append(.uint(number), for: "http.serial") }
      if elements.contains(.headers), recordsHeaders {
        appendHeaders(headers, "http.request.header.", to: &fields)
      }
      let span = begin(method, url, fields, place)
      guard span.isRecorded else { return Exchange() }
      let needsExtra = isExtended || hasBodies && log.isEnabled(options.bodyLevel)
      let extra = needsExtra ? Exchange.Extra(.init(number, method, url, place)) : nil
      let exchange = Exchange(self, span, extra)
      if isCounting { exchange.report(.request, fields) }
      return exchange
    }

    private func begin(
      _ method: String, _ url: String, _ fields: Logger.Metadata?, _ place: SourceLocation
    ) -> Logger.Span {
      guard elements.isSuperset(of: [.method, .url]) else {
        var fields = fields
        append(method, url, elements, to: &fields)
        return log.begin(
          "request", metadata: fields, level: level, file: place.file, function: place.function,
          line: place.line, column: place.column)
      }
      return withRedacted(url, .url) { url in
        log.begin(
          """
          \(method, name: "http.request.method", privacy: .public) \
          \(utf8: url, name: "url.full")
          """,
          metadata: fields, level: level, file: place.file, function: place.function,
          line: place.line, column: place.column)
      }
    }

    // MARK: - Fields

    /// Calls `body` with a text as it may be recorded.
    @inline(__always)
    func withRedacted<Result>(
      _ text: String, _ kind: PairRedaction.Kind, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
      var text = text
      return text.withUTF8 { bytes in
        let capacity = min(Redactor.capacity(for: bytes.count), max(longestURL, 16))
        return RedactedOutput.with(capacity: capacity) { output in
          redactor.append(UnsafeRawBufferPointer(bytes), kind, to: &output)
          output.markCut()
          return body(output.bytes)
        }
      }
    }

    /// A text as it may be recorded.
    func redacted(_ text: String, _ kind: PairRedaction.Kind) -> String {
      withRedacted(text, kind) { String(decoding: $0, as: UTF8.self) }
    }

    /// Adds method and URL to the fields of a record, if they are among its elements.
    func append(
      _ method: String, _ url: String, _ elements: Elements, to fields: inout Logger.Metadata?
    ) {
      if elements.contains(.method) {
        fields.append(.string(method), for: "http.request.method")
      }
      if elements.contains(.url) { fields.append(.string(redacted(url, .url)), for: "url.full") }
    }

    /// Returns a text that is cut to a number of bytes, at least 16.
    static func cut(_ value: String, to limit: Int) -> String {
      let limit = max(limit, 16)
      if value.utf8.count <= limit { return value }
      var value = value
      return value.withUTF8 { bytes in
        RedactedOutput.with(capacity: limit) { output in
          if let start = bytes.baseAddress { output.append(start, bytes.count) }
          output.markCut()
          return String(decoding: output.bytes, as: UTF8.self)
        }
      }
    }

    /// Adds header fields to those of a record, up to the maximum number.
    func appendHeaders(
      _ headers: () -> HTTPHeaders, _ prefix: String, to fields: inout Logger.Metadata?
    ) {
      let (all, maximum) = (headers().fields, max(0, options.maximumHeaders))
      for (name, value) in all.prefix(maximum) {
        guard let value = options.redactor.redacted(header: value, named: name) else { continue }
        let name = String(name.unicodeScalars.prefix(256)).lowercased()
        fields.append(.string(Self.cut(value, to: longestURL)), for: prefix + name)
      }
      if all.count > maximum {
        fields.append(.int(Int64(all.count)), for: prefix + "count")
      }
    }
  }
}

extension Logger.Metadata? {
  /// Adds a pair, as the first one if there is none.
  mutating func append(_ value: Logger.MetadataValue, for key: String) {
    self = self ?? Logger.Metadata()
    self?.append(value, for: key)
  }
}
