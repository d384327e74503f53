import MMLogSystem
import Synchronization
import Testing

@testable import MMLog

@Suite("The segments of a ring, as they change hands")
struct SegmentPoolTests {
  private func sealed(in pool: SegmentPool) throws -> Int {
    let index = try #require(pool.take())
    pool.seal(index)
    return index
  }

  @Test("the drainer waits for a thread that gives a segment back, having found it pinned")
  func released() throws {
    let pool = SegmentPool(count: 8)
    for _ in 0..<4 {
      let index = try sealed(in: pool)
      #expect(pool.acquire(index))
      let thread = try Thread(name: "discarder") { pool.release(index) }
      #expect(pool.acquireInTurn(index) && pool.status(index) == .acquired)
      thread.join()
      pool.give(back: index)
    }
  }

  @Test("a segment waits for its stream until threads may take it")
  func bare() throws {
    let pool = SegmentPool(count: 1, needsStreams: true)
    let index = try #require(pool.takeBare())
    #expect(pool.hasBare && pool.take() == nil)
    pool.give(ready: index)
    #expect(!pool.hasBare && pool.take() == index)
    pool.give(back: index)
    #expect(pool.hasBare)
  }

  @Test("it does not wait for one that was discarded meanwhile, or is in use anew")
  func discarded() throws {
    let pool = SegmentPool(count: 8)
    for isTaken in [false, true] {
      let index = try sealed(in: pool)
      #expect(pool.acquireUnpinned(pool.snapshot(index)))
      let thread = try Thread(name: "discarder") {
        pool.give(back: index)
        if isTaken { _ = pool.take() }
      }
      #expect(!pool.acquireInTurn(index))
      thread.join()
    }
  }

  @Test("an open segment stays where it is while it is pinned, also when it is sealed")
  func pinned() throws {
    let pool = SegmentPool(count: 8)
    let index = try #require(pool.take())
    #expect(pool.pinOpen(index))
    pool.seal(index)
    #expect(!pool.acquireUnpinned(pool.snapshot(index)) && pool.status(index) == .sealed)
    pool.unpin(index)
    #expect(!pool.pinOpen(index) && pool.acquireUnpinned(pool.snapshot(index)))
  }

  @Test("who saw a segment does not acquire another use of it, though its status be the same")
  func usedAgain() throws {
    let pool = SegmentPool(count: 1)
    for isRetained in [false, true] {
      func use() throws -> SegmentPool.Snapshot {
        let index = try sealed(in: pool)
        if isRetained {
          #expect(pool.acquire(index))
          pool.retain(index)
        }
        return pool.snapshot(index)
      }
      let seen = try use()
      #expect(pool.acquire(seen) && !pool.acquire(seen))
      pool.give(back: seen.index)
      let now = try use()
      #expect(now.status == seen.status && now != seen)
      #expect(!pool.acquire(seen) && !pool.acquireUnpinned(seen))
      #expect(pool.acquireUnpinned(now))
      pool.give(back: now.index)
    }
    #expect(pool.sealedCount == 0)
  }
}
