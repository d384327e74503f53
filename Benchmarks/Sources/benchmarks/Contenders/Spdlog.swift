import CxxLoggers
import MMLogCalls

/// spdlog with a background thread: callers put messages, formatted, into a queue, and wait when it
/// is full.
///
/// Proof of `@unchecked Sendable`: the logger is one of spdlog's "mt" kind, for many threads.
struct SpdlogAsync: SpdlogContender, @unchecked Sendable {
  static let name = "spdlog async"
  let log: SpdlogCalls

  init(directory: String, for purpose: Purpose) throws {
    // 8192 is spdlog's own default.
    log = try SpdlogCalls("\(directory)/log", queue: purpose == .latency ? 1 << 17 : 8192)
  }
}

/// spdlog that formats and writes in the caller, through the C library's buffer.
///
/// Proof of `@unchecked Sendable`: as above.
struct SpdlogSync: SpdlogContender, @unchecked Sendable {
  static let name = "spdlog sync"
  let log: SpdlogCalls

  init(directory: String, for purpose: Purpose) throws {
    log = try SpdlogCalls("\(directory)/log", queue: 0)
  }
}

/// What logs with ``SpdlogCalls``.
protocol SpdlogContender: Contender {
  var log: SpdlogCalls { get }
}

extension SpdlogContender {
  @inline(never) func order(_ index: Int) { log.order(index) }
  @inline(never) func text(_ index: Int) { log.text() }
  @inline(never) func line(_ text: String, _ cText: UnsafePointer<CChar>) { log.line(cText) }
  @inline(never) func pairs(_ index: Int) { log.pairs(index) }
  @inline(never) func sites(_ index: Int) { log.sites(index) }
  @inline(never) func disabled(_ index: Int) { log.disabled(index) }
  func drain() { log.drain() }
  func finish() { log.close() }
}

struct SpdlogCalls {
  private let logger: OpaquePointer
  private let sample = Sample()
  private let path: String

  init(_ path: String, queue: UInt64) throws {
    guard let logger = spdlog_open(path, queue) else {
      throw BenchmarkError("spdlog cannot make \(path)")
    }
    (self.logger, self.path) = (logger, path)
  }

  @inline(__always)
  func order(_ index: Int) {
    spdlog_order(
      logger, UInt64(index), sample.cUser, Sample.elapsed(index), UInt64(Sample.quantity(index)))
  }

  @inline(__always) func text() { spdlog_text(logger, sample.cText) }

  @inline(__always)
  func line(_ text: UnsafePointer<CChar>) { spdlog_text(logger, text) }

  @inline(__always)
  func pairs(_ index: Int) { spdlog_pairs(logger, UInt64(index), sample.cUser) }

  @inline(__always)
  func sites(_ index: Int) {
    spdlog_site(logger, UInt64(index % Sample.siteCount), UInt64(index), sample.cUser)
  }

  @inline(__always) func disabled(_ index: Int) { spdlog_disabled(logger, UInt64(index)) }

  func drain() { spdlog_drain(logger) }

  func close() {
    spdlog_close(logger)
    Files.sync(path)
  }
}
