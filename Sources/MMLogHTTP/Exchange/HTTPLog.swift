public import MMLog
import Synchronization

/// Records HTTP exchanges. Each is a span, whose fields have the names of OpenTelemetry's semantic
/// conventions. Secrets are redacted before anything is stored.
///
/// ```swift
/// let http = HTTPLog(store.logger(label: "http.client"))
///
/// let exchange = http.begin(method: "GET", url: "https://shop.example/orders?token=…")
/// do {
///   try await serve(id)
///   exchange.end(
///     status: 200, headers: HTTPHeaders(response.headers), size: response.body.utf8.count)
/// } catch {
///   exchange.fail(error)
/// }
/// ```
///
/// It depends on no HTTP library: adapters, or the caller, give it values. Its ``Options`` say
/// which exchanges are recorded, and what of them. At run time, the level of its label decides from
/// outside: with `mmlogctl set-level http.client=debug` it records header fields, and with `trace`
/// bodies as well.
///
/// A call below its level costs what any such log call does. Otherwise the beginning and the end of
/// an exchange are a log call each, and the URL is read once. Neither allocates nor locks as long
/// as a URL has less than 480 bytes, and there are no header fields, reporters or filters.
///
/// A value: copies share the numbers of their exchanges. Any thread; not for signal handlers.
public struct HTTPLog: Sendable {
  @usableFromInline let log: Logger
  @usableFromInline let level: Logger.Level
  @usableFromInline let shared: Shared
  /// Further logs that get the same exchanges; nil: none.
  @usableFromInline let others: Others?

  /// Makes a log of exchanges.
  ///
  /// - Parameters:
  ///   - logger: The logger that records them.
  ///   - options: What is recorded, and of which exchanges. Default: see ``Options``.
  public init(_ logger: Logger, options: Options = Options()) {
    self.init(Shared(logger, options), nil)
  }

  /// Joins several logs, which then get the same exchanges. Each records the exchanges that its own
  /// options let through, in its own way.
  ///
  /// - Parameters:
  ///   - first: A log.
  ///   - others: Further logs.
  public init(_ first: HTTPLog, _ others: HTTPLog...) {
    let all = others.flatMap { [$0.shared] + ($0.others?.all ?? []) }
    self.init(first.shared, Others((first.others?.all ?? []) + all))
  }

  private init(_ shared: Shared, _ others: Others?) {
    (self.shared, self.others) = (shared, others)
    (log, level) = (shared.log, shared.options.level)
  }

  /// Whether an exchange would be recorded, as far as levels say.
  @inlinable public var isEnabled: Bool {
    @inline(__always) get {
      if log.isEnabled(level) { return true }
      guard let others else { return false }
      return others.isEnabled
    }
  }

  /// Logs that get the same exchanges as another one.
  @usableFromInline
  final class Others: Sendable {
    let all: [Shared]
    init(_ all: [Shared]) { self.all = all }

    @usableFromInline var isEnabled: Bool { all.contains { $0.isEnabled } }
  }

  /// Records that an exchange begins, and returns what its end is recorded with.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - url: The URL. Redacted before it is recorded.
  ///   - headers: The request's header fields. Evaluated only if they are recorded. Default: none.
  ///   - task: What the exchange is for, in the caller's words. Evaluated only if it is recorded.
  ///     Default: nothing.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  /// - Returns: The exchange. If it is not recorded, its end is not either.
  /// - Complexity: O(bytes of the URL and of the header fields).
  @inlinable @inline(__always)
  public func begin(
    method: String, url: String, headers: @autoclosure () -> HTTPHeaders = [:],
    task: @autoclosure () -> String? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) -> Exchange {
    guard isEnabled else { return Exchange() }
    return shared.begin(
      beside: others, method, url, headers, task, SourceLocation(file, function, line, column))
  }

  /// Where a statement stands in the source code.
  @frozen @usableFromInline
  package struct SourceLocation: Sendable {
    @usableFromInline package let file, function: StaticString
    @usableFromInline package let line, column: UInt32

    /// The place that the literals of these names give.
    @inlinable
    package init(_ file: StaticString, _ function: StaticString, _ line: UInt32, _ column: UInt32) {
      (self.file, self.function, self.line, self.column) = (file, function, line, column)
    }
  }
}
