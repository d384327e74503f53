import CMMLogCore
import Testing

@Suite("Atomics")
struct AtomicTests {
  @Test("what was stored is loaded, in both widths and every ordering")
  func loadsAndStores() {
    var (narrow, wide): (UInt32, UInt64) = (0, 0)
    mmlog_store_relaxed_u32(&narrow, 0xdead_beef)
    #expect(mmlog_load_relaxed_u32(&narrow) == 0xdead_beef)
    mmlog_store_release_u32(&narrow, 7)
    #expect(mmlog_load_acquire_u32(&narrow) == 7)
    mmlog_store_relaxed_u64(&wide, 0xdead_beef_0000_0001)
    #expect(mmlog_load_relaxed_u64(&wide) == 0xdead_beef_0000_0001)
    mmlog_store_release_u64(&wide, 8)
    mmlog_compiler_fence()
    #expect(mmlog_load_acquire_u64(&wide) == 8)
  }

  @Test("adding and exchanging return what was there before")
  func readModifyWrite() {
    var (narrow, wide): (UInt32, UInt64) = (5, 5)
    #expect(mmlog_fetch_add_u32(&narrow, 3) == 5)
    #expect(mmlog_exchange_u32(&narrow, 2) == 8)
    #expect(mmlog_fetch_add_u64(&wide, .max) == 5)
    #expect((narrow, wide) == (2, 4))
  }

  @Test("a compare-exchange that fails stores nothing and reports what it found")
  func compareExchange() {
    var (narrow, wide): (UInt32, UInt64) = (1, 1)
    var (expectedNarrow, expectedWide): (UInt32, UInt64) = (2, 2)
    #expect(!mmlog_compare_exchange_u32(&narrow, &expectedNarrow, 9))
    #expect(!mmlog_compare_exchange_u64(&wide, &expectedWide, 9))
    #expect((narrow, expectedNarrow, wide, expectedWide) == (1, 1, 1, 1))
    #expect(mmlog_compare_exchange_u32(&narrow, &expectedNarrow, 9))
    #expect(mmlog_compare_exchange_u64(&wide, &expectedWide, 9))
    #expect((narrow, wide) == (9, 9))
  }

  @Test("no addition is lost between threads")
  func additionsAreNotLost() async {
    let word = SharedWord()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<50_000 { word.add(1) } }
      }
    }
    #expect(word.value == 200_000)
  }
}

/// A word on the heap. Proof of `@unchecked Sendable`: touched by atomic operations only.
private final class SharedWord: @unchecked Sendable {
  private let pointer = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
  init() { pointer.initialize(to: 0) }
  deinit { pointer.deallocate() }

  func add(_ value: UInt64) { _ = mmlog_fetch_add_u64(pointer, value) }
  var value: UInt64 { mmlog_load_acquire_u64(pointer) }
}
