import CHarness
import MMLogCalls

/// A call that does nothing: what harness, loop and call cost.
struct NullCall: Contender {
  static let name = "null call"
  static let calls = 100_000
  private let sample = Sample()

  init(directory: String, for purpose: Purpose) {}

  @inline(never)
  func order(_ index: Int) {
    harness_null_order(
      UInt64(index), sample.cUser, Sample.elapsed(index), UInt64(Sample.quantity(index)))
  }

  @inline(never)
  func text(_ index: Int) { harness_null_text(sample.cText) }

  @inline(never)
  func pairs(_ index: Int) { harness_null_text(sample.cUser) }

  @inline(never)
  func sites(_ index: Int) { harness_consume(UInt64(index % Sample.siteCount)) }

  @inline(never)
  func disabled(_ index: Int) { harness_consume(UInt64(index)) }
}
