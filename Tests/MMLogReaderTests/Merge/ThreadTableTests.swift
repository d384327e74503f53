import MMLogFormat
import TestSupport
import Testing

@testable import MMLogReader

/// The threads of a session, of which there may be any number.
@Suite struct ThreadTableTests {
  @Test("however many threads there are, each is known, and the table has a maximum")
  func manyThreads() {
    let table = ThreadTable(maximum: 100)
    for number in 0..<1000 as Range<UInt32> {
      let identity = ThreadIdentity(ordinal: number, id: number + 7, name: "worker\(number)")
      let thread = table.thread(identity)
      #expect(thread.id == number + 7 && thread.name == "worker\(number)")
      #expect(table.thread(identity) === thread)
      #expect(table.unknownThread(number).ordinal == number)
    }
    #expect(table.count <= 200)
  }

  @Test("records keep their threads, and filters find them, when a table has begun anew")
  func recordsOfManyThreads() throws {
    let geometry = RingGeometry(dictionarySize: 8192, segmentSize: 4096, segmentCount: 64)
    let log = TestLog(geometry: geometry)
    for thread in 1...60 as ClosedRange<UInt32> {
      log.write("\(thread)", ticks: UInt64(thread), thread: thread)
      if thread % 20 == 0, thread < 60 { log.archive() }
    }
    log.save()
    let files = LogFiles([.path(log.folder.path)])
    let session = try #require(files.sessions.first)
    func read(_ filter: LogReader.Filter) -> [LogReader.Record] {
      let reader = SessionReader(
        session, filter, FrameMemory(), after: nil, threads: ThreadTable(maximum: 8))
      var records: [LogReader.Record] = []
      while reader.hasNext {
        reader.readAhead()
        while let item = reader.next() {
          if case .record(let record) = item { records.append(record) }
        }
      }
      return records
    }
    let records = read(LogReader.Filter())
    #expect(records.map(\.thread.name) == (1...60).map { "worker\($0)" })
    #expect(records.map(\.message) == (1...60).map { "\($0)" })
    var filter = LogReader.Filter()
    filter.threads = [NamePattern("worker5*")]
    #expect(read(filter).map(\.thread.id) == [1005] + (1050...1059).map { $0 })
  }
}
