import Glibc
import MMLog
import MMLogReader
import MMLogSystem
import Synchronization
import Testing
import TestSupport

@Suite("Following a living store")
struct FollowTests {
  /// Threads log at full speed into a ring so small, and archives so small, that records are moved
  /// and archives rotated while they are read.
  @Test("every record is given once, in the order of its thread, across the handoff and rotation")
  func handoff() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.rotation.size = 4 << 10
      $0.drainInterval = .milliseconds(10)
    }
    let (threads, each) = (3, 3000)
    let follower = LogFollower(paths: [test.folder.path])
    let log = test.log
    let workers = try (0..<threads).map { number in
      try Thread(name: "worker\(number)") {
        for index in 0..<each {
          // Some records are larger than a segment.
          let text = String(repeating: "x", count: index % 500 == 7 ? 6000 : index % 40)
          log.info("\(number) \(index) \(text)")
        }
      }
    }
    var found = [[Int]](repeating: [], count: threads)
    var others: [String] = []
    func take() {
      // Other threads want to run, too.
      Sleep.nanoseconds(1_000_000)
      while let item = follower.next() {
        switch item {
        case .record(let record):
          let words = record.message.split(separator: " ")
          guard let thread = Int(words[0]), let index = Int(words[1]) else { continue }
          found[thread].append(index)
        case .crashed: others.append("#")
        case .sessionStarted: others.append("<")
        case .sessionEnded(_, let ending, _):
          if ending.how == .closed { others.append(">") }
        case .corruption(let corruption): others.append("\(corruption)")
        case .losses, .gap, .unfinished: others.append("loss")
        }
      }
    }
    while found.reduce(0, { $0 + $1.count }) < threads * each { take() }
    for worker in workers { worker.join() }
    try test.store.close()
    while !others.contains(">") { take() }
    for thread in 0..<threads { #expect(found[thread] == Array(0..<each), "thread \(thread)") }
    #expect(others == ["<", ">"])
    #expect(try test.folder.names(ending: ".mmlog").count > 1)
  }

  @Test("a process that starts later is found, and its filter and beginning hold")
  func laterStore() throws {
    let folder = TemporaryDirectory()
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "yes")]
    let follower = LogFollower(paths: [folder.path], filter: filter, last: 0)
    for round in 0..<3 {
      let store = try LogStore(directory: folder.path, name: "store\(round)")
      let log = store.logger(label: "test")
      log.info("no \(round)")
      log.info("yes \(round)")
      var messages: [String] = []
      while messages.isEmpty {
        Sleep.nanoseconds(1_000_000)
        messages = follower.newMessages()
      }
      #expect(messages == ["yes \(round)"])
      try store.close()
    }
  }

  /// Two threads hand a token back and forth, and log at each step: each record was logged after
  /// the one before it had been committed.
  @Test("records of threads that wait for one another come in the order in which they were logged")
  func handedOn() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .milliseconds(10)
    }
    let (steps, turn) = (20_000, Turn())
    let follower = LogFollower(paths: [test.folder.path])
    let log = test.log
    let workers = try (0..<2).map { number in
      try Thread(name: "worker\(number)") {
        for step in stride(from: number, to: steps, by: 2) {
          while turn.step.load(ordering: .acquiring) != step { sched_yield() }
          log.info("step \(step)")
          turn.step.store(step + 1, ordering: .releasing)
        }
      }
    }
    var found: [Int] = []
    while found.count < steps {
      found += follower.newMessages().map { Int($0.dropFirst(5)) ?? -1 }
      sched_yield()
    }
    for worker in workers { worker.join() }
    let outOfOrder = zip(found, found.dropFirst()).filter { $0 >= $1 }
    #expect(outOfOrder.isEmpty, "\(outOfOrder.prefix(5)) of \(outOfOrder.count)")
  }
}

/// Whose turn it is.
private final class Turn: Sendable {
  let step = Atomic(0)
}
