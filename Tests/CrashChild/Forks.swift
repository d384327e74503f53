import CommandLineTool
import CrashRecords
import Glibc

/// The children that a process forks while it logs: each is a process with a number and a page of
/// its own, made beforehand.
struct Forks: Sendable {
  let pages: [CountPage]
  private let process: Int

  init(_ arguments: Arguments, process: Int) throws {
    let count = try arguments.integer(of: .forks, in: 0...100) ?? 0
    self.process = process
    Lane.prepare()
    pages = try (0..<count).map { try CountPage("\(arguments.required(.page)).\($0 + 1)") }
  }

  var count: Int { pages.count }

  func firstLane(of number: Int) -> Int { (process + 1 + number) * CountPage.laneCount }

  /// Ends the child if it makes no progress for a minute. The child calls this again as it makes
  /// progress: under heavy load, its whole work may take longer. The child does not keep its
  /// parent's signal handler and mask.
  func limitLife() {
    signal(SIGALRM, SIG_DFL)
    var alone = sigset_t()
    sigemptyset(&alone)
    sigaddset(&alone, SIGALRM)
    pthread_sigmask(SIG_UNBLOCK, &alone, nil)
    alarm(60)
  }
}
