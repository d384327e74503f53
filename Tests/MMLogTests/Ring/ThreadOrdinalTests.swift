import MMLogReader
import MMLogSystem
import Synchronization
import Testing

@testable import MMLog

@Suite("Ordinals of threads")
struct ThreadOrdinalTests {
  @Test("after the last one they begin anew, and none is 0")
  func wrapping() throws {
    let test = try TestStore()
    let log = test.log
    let threads = try #require(test.store.core.openSession?.threads)
    threads.ordinals.store(.max - 1, ordering: .relaxed)
    for number in 0..<2 { try Thread(name: "thread") { log.info("\(number)") }.join() }
    let contents = try test.closeAndRead()
    let isClean = contents.isClean
    #expect(isClean && contents.messages == ["0", "1"])
    #expect(contents.records.map(\.thread.ordinal) == [.max, 1])
  }

  @Test("a thread has one for all that its signal handlers record, though it logs nothing else")
  func handlers() throws {
    let test = try TestStore { $0.servesSignalHandlers = true }
    let log = test.log
    for number in 0..<2 as Range<Int64> {
      try Thread(name: "thread") {
        for _ in 0..<3 { _ = log.recordInSignalHandler(.info, "in a handler", number: number) }
      }.join()
    }
    let contents = try test.closeAndRead()
    let isClean = contents.isClean
    #expect(isClean && contents.records.count == 6)
    let byThread = contents.messagesByThread.values.map { Set($0) }
    #expect(byThread.count == 2 && byThread.allSatisfy { $0.count == 1 })
  }
}
