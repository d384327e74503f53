import CMMLogCore
import Testing

@Suite("Ticks")
struct TicksTests {
  @Test("ticks never go back on a thread")
  func neverBack() {
    var last = mmlog_ticks()
    for _ in 0..<1_000_000 {
      let now = mmlog_ticks()
      if now < last {
        Issue.record("\(now) after \(last)")
        break
      }
      last = now
    }
  }

  @Test("ticks never go back between threads that follow each other")
  func neverBackBetweenThreads() async {
    var last = mmlog_ticks()
    for turn in 0..<1000 {
      let now = await Task.detached { mmlog_ticks() }.value
      #expect(now >= last, "turn \(turn)")
      last = now
    }
  }

  @Test("ticks from the clock go on and never back")
  func clock() {
    let first = mmlog_ticks_from_clock()
    var last = first
    while last == first { last = mmlog_ticks_from_clock() }
    #expect(last > first)
  }

  @Test("coarse ticks advance in steps, and never go back")
  func coarse() async {
    await #expect(processExitsWith: .success) {
      let fine = mmlog_ticks()
      mmlog_coarsen_ticks()
      var last = mmlog_ticks()
      #expect(last | 2047 >= fine)
      for _ in 0..<100_000 {
        let now = mmlog_ticks()
        #expect(now >= last)
        #if !arch(arm64)
          #expect(now & 511 == 0)
        #endif
        last = now
      }
    }
  }
}
