import Foundation
import Glibc
import MMLog
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// The calls before and after a store works on its files.
@Suite struct MaintenanceHookTests {
  /// The calls, and what archives there were at each.
  private struct Calls: Sendable {
    struct Call {
      var phase: LogStore.MaintenancePhase
      var thread: pthread_t
      /// How many threads were at work, this one included.
      var working: Int
      var archives: [String: Int]
    }
    let all = LockedValue<[Call]>([])

    func note(_ phase: LogStore.MaintenancePhase, in folder: String) {
      all.withLock { all in
        // Under the lock: whatever another thread does meanwhile comes after its own call.
        let before = (all.last?.working ?? 0) - (all.last?.phase == .didEnd ? 1 : 0)
        all.append(
          Call(
            phase: phase, thread: pthread_self(),
            working: phase == .willBegin ? before + 1 : before, archives: Self.sizes(folder)))
      }
    }

    static func sizes(_ folder: String) -> [String: Int] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      let archives = names.filter { $0.hasSuffix(".mmlog") }.map { name in
        let size = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.size]
        return (name, size as? Int ?? 0)
      }
      return Dictionary(uniqueKeysWithValues: archives)
    }

    /// Checks that all calls are in pairs, thread by thread.
    func checkPairs() {
      for calls in Dictionary(grouping: all.withLock { $0 }, by: \.thread).values {
        for (index, call) in calls.enumerated() {
          #expect(call.phase == (index % 2 == 0 ? .willBegin : .didEnd), "\(calls.map(\.phase))")
        }
        #expect(calls.count % 2 == 0)
      }
    }

    /// Checks that no archive was made, changed or deleted while no thread was at work.
    func checkThatNothingElseWrites() {
      var last: [String: Int] = [:]
      for call in all.withLock({ $0 }) where call.working == 1 {
        if call.phase == .willBegin { #expect(call.archives == last) }
        last = call.archives
      }
    }
  }

  @Test("the maintenance hook is called before and after opening, rotation, retention and closing")
  func theHookIsCalledAroundAllWork() throws {
    let (folder, calls) = (TemporaryDirectory(), Calls())
    let path = folder.path
    var configuration = LogStore.Configuration()
    configuration.maintenanceHook = { calls.note($0, in: path) }
    let store = try LogStore(directory: path, name: "test", configuration: configuration)
    #expect(calls.all.withLock { $0.first?.thread } == pthread_self())
    let log = store.logger(label: "test")
    for round in 0..<3 {
      log.info("\(round)")
      try store.rotate()
    }
    try store.update { $0.retention.count = 1 }
    try store.applyRetention()
    log.info("last")
    try store.close()
    calls.checkPairs()
    calls.checkThatNothingElseWrites()
    let all = calls.all.withLock { $0 }
    #expect(Set(all.map { "\($0.thread)" }).count == 3, "caller, drainer and maintenance")
    #expect(all.last?.archives == Calls.sizes(path) && all.last?.archives.isEmpty == false)
  }

  @Test("the maintenance hook is not called by a drainer that has nothing to write")
  func aDrainerWithNothingToWriteCallsNobody() throws {
    let calls = LockedValue<[String]>([])
    let test = try TestStore {
      $0.maintenanceHook = { _ in
        let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        calls.withLock { $0.append(name ?? "") }
      }
    }
    for _ in 0..<3 { try test.store.flush(.archive) }
    #expect(calls.withLock { !$0.contains("mmlog-drainer\n") })
    test.log.info("one")
    try test.store.flush(.archive)
    #expect(calls.withLock { $0.contains("mmlog-drainer\n") })
    try test.store.close()
  }

  #if DEBUG
    @Test("the maintenance hook's calls are in pairs also where the work fails")
    func callsAreInPairsWhereWorkFails() throws {
      let calls = Calls()
      let test = try TestStore { $0.maintenanceHook = { calls.note($0, in: "") } }
      let path = test.folder.path
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      test.log.info("one")
      #expect(throws: LogError.self) { try test.store.flush(.archive) }
      #expect(throws: LogError.self) { try test.store.close() }
      calls.checkPairs()
      #expect(!calls.all.withLock { $0 }.isEmpty)
    }
  #endif
}
