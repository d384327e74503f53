import CxxLoggers
import MMLogCalls

/// glog: formats and writes in the caller, through the C library's buffer. One for each process.
///
/// Proof of `@unchecked Sendable`: glog is for many threads.
struct Glog: Contender, @unchecked Sendable {
  static let name = "glog"
  private let sample = Sample()
  private let directory: String

  init(directory: String, for purpose: Purpose) {
    self.directory = directory
    glog_open(directory)
  }

  @inline(never)
  func order(_ index: Int) {
    glog_order(
      UInt64(index), sample.cUser, Sample.elapsed(index), UInt64(Sample.quantity(index)))
  }

  @inline(never) func text(_ index: Int) { glog_text(sample.cText) }

  @inline(never)
  func line(_ text: String, _ cText: UnsafePointer<CChar>) { glog_text(cText) }

  @inline(never) func pairs(_ index: Int) { glog_pairs(UInt64(index), sample.cUser) }

  @inline(never)
  func sites(_ index: Int) {
    glog_site(UInt64(index % Sample.siteCount), UInt64(index), sample.cUser)
  }

  @inline(never) func disabled(_ index: Int) { glog_disabled(UInt64(index)) }

  func drain() { glog_drain() }

  func finish() {
    glog_close()
    Files.list(directory).forEach(Files.sync)
  }

  /// Each file begins with lines of its own.
  static func records(in directory: String) throws -> Int {
    Files.list(directory).map { max(0, Files.lines(in: $0) - 4) }.reduce(0, +)
  }
}
