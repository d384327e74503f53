import MMLogSystem
import Testing

@Suite struct BackoffTests {
  @Test("the pause doubles with each failure up to the longest")
  func thePauseDoublesWithEachFailureUpToTheLongest() {
    var backoff = Backoff(shortest: 100, longest: 1000)
    let pauses = (1...6).map { _ in
      backoff.postpone(at: 0)
      return backoff.pause
    }
    #expect(pauses == [100, 200, 400, 800, 1000, 1000])
  }

  @Test("a try is due at first, after a pause, and after a success")
  func aTryIsDueAtFirstAfterAPauseAndAfterASuccess() {
    var backoff = Backoff(longest: .max / 4)
    #expect(backoff.isDue)
    backoff.postpone(at: 0)
    #expect(backoff.delay == 0)
    backoff.postpone(at: .max / 4)
    #expect(!backoff.isDue)
    #expect(backoff.delay > 0)
    backoff.reset()
    #expect(backoff.isDue)
    #expect(backoff.pause == 0)
  }
}
