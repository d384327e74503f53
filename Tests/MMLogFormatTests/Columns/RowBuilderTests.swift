import TestSupport
import Testing

@testable import MMLogFormat

@Suite struct RowBuilderTests {
  /// A record in the thread's own segment.
  private let own = TestRecord(ticks: 4, words: [1])
  /// One in a segment that threads share.
  private let shared = TestRecord(ticks: 3, flags: .thread, words: [9 | 1009 << 32])
  private let thread = ThreadIdentity(ordinal: 9, id: 1009, name: "worker")

  /// Gives each record to `body`.
  private func withViews(_ records: [TestRecord], _ body: (RecordView) -> Void) {
    let memory = AlignedBytes(words: records.flatMap { $0.encoded(seed: 0) })
    withExtendedLifetime(memory) {
      var scanner = RecordScanner(memory.bytes, from: 0, seed: 0, zeros: .end)
      while case .record(let view, _) = scanner.next() { body(view) }
    }
  }

  @Test("a thread has its name in a frame, wherever its first record stands", arguments: 0..<3)
  func aThreadHasItsNameInAFrame(placeOfOwn: Int) {
    var records = [shared, shared]
    records.insert(own, at: placeOfOwn)
    for addsSeries in [false, true] {
      var builder = RowBuilder()
      withViews(records) { view in
        if let ordinal = view.sharedThreadOrdinal {
          builder.add(view, ticks: view.ticks, threadOrdinal: ordinal) {
            view.sharedThread ?? thread
          }
        } else if addsSeries {
          var series = builder.beginSeries(
            of: thread, ticks: view.ticks, size: 1 << 20, first: view.bytes.count)
          let isAdded = series.add(view, ticks: view.ticks, decryptedWith: nil, at: 0)
          #expect(isAdded)
          builder.end(series)
        } else {
          builder.add(view, thread: thread, ticks: view.ticks)
        }
      }
      #expect(builder.threads == [thread] && builder.count == 3)
    }
  }

  @Test("a thread without a name is there once") func aThreadWithoutANameIsThereOnce() {
    var builder = RowBuilder()
    withViews([shared, shared]) { view in
      builder.add(view, ticks: 3, threadOrdinal: 9) { view.sharedThread ?? thread }
    }
    #expect(builder.threads == [ThreadIdentity(ordinal: 9, id: 1009, name: "")])
  }
}
