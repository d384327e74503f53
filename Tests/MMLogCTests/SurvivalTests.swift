import CCalls
import CMMLogC
import Foundation
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@Suite("A fatal signal whose handler is left by longjmp")
struct SurvivalTests {
  @Test(
    "a later crash has its own report, and the first is a record if the process lives on",
    arguments: [true, false])
  func survived(waits: Bool) async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      [path = folder.path as String, waits = waits as Bool] in
      ccalls_jump_out_of_abort()
      let store = try openStore(path) { $0.records_crashes = true }
      ccalls_log_many(mmlog_get_logger(store, "c"), 1)
      ccalls_survive_abort()
      while waits && CContents(path).records.count < 2 { usleep(10_000) }
      let main = CurrentProcess.threadID()
      try MMLogSystem.Thread(name: "other") {
        // Until the kernel can determine where its stack is.
        while isRunning(main) { sched_yield() }
        UnsafeMutablePointer<UInt64>(bitPattern: 16)?.pointee = 1
      }.join()
    }
    let messages = CContents(folder.path).messages
    #expect(messages.count { $0.hasPrefix("survived SIGABRT") } == (waits ? 1 : 0))
    var signals: [Int32] = []
    for case .crashed(_, let report) in LogReader(paths: [folder.path]) {
      signals.append(report.signal)
    }
    #expect(signals == [SIGSEGV])
  }
}

/// Whether a thread of this process does not sleep.
private func isRunning(_ thread: Int32) -> Bool {
  (try? String(contentsOfFile: "/proc/self/task/\(thread)/syscall", encoding: .utf8))?
    .hasPrefix("running") != false
}
