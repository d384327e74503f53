@testable import MMLog
import MMLogStorage
import Testing

@Suite struct PassRequestsTests {
  private let requests = PassRequests()
  private let failure = LogError(.outOfSpace, "of this pass")

  /// Asks for a pass. Meanwhile, `passes` makes passes.
  private func wait(for passes: () -> Void) throws(LogError) {
    try requests.wait(atMost: 60_000_000_000, for: passes, else: "no pass")
  }

  @Test("a request that a pass has served does not fail because a later pass does")
  func laterFailure() throws {
    try wait {
      requests.serve(requests.newestTicket, nil)
      requests.serve(requests.newestTicket, failure)
    }
  }

  @Test("a request fails as its pass does, also when no other comes")
  func ownFailure() throws {
    try wait { requests.serve(requests.newestTicket, nil) }
    let own = logError { try wait { requests.serve(requests.newestTicket, failure) } }
    #expect(own?.code == .outOfSpace)
    #expect(logError { try wait { requests.end() } }?.code == .outOfSpace)
  }

  @Test("a request that has failed is served by a later pass that succeeds")
  func laterSuccess() throws {
    try wait {
      requests.serve(requests.newestTicket, failure)
      requests.serve(requests.newestTicket, nil)
    }
  }
}
