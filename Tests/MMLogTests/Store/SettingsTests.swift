import CMMLogWriter
import Glibc
import MMLog
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Settings that a program changes while its store is open.
@Suite("settings") struct SettingsTests {
  @Test("the settings are noted beside the archives, and again when they change")
  func noted() throws {
    let test = try TestStore { $0.retention.count = 3 }
    func noted() throws -> StoreSettings? {
      try test.store.applyRetention()
      return try StoreSettings(of: "test", in: Directory.open(test.folder.path))
    }
    // Nothing is noted for a store without archives.
    #expect(try noted() == nil)
    test.log.info("one")
    try test.store.flush(.archive)
    #expect(try noted() == test.store.settings)
    try test.store.update { $0.rotation.age = .seconds(60) }
    #expect(try noted()?.rotation.age == .seconds(60))
    #expect(try noted()?.retention.count == 3)
    try test.store.close()
  }

  @Test(
    "a fork's child keeps to the limits that were set before the fork",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func childKeepsLimits() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore { $0.retention.count = 1 }
      try test.store.update { $0.retention = .unlimited }
      try test.store.update { $0.rotation = Rotation(size: 8 << 20, age: .seconds(3600)) }
      for index in 0..<3 {
        test.log.info("\(index)")
        _ = try test.store.rotate(within: .seconds(60))
      }
      let child = forkProcess()
      if child == 0 {
        require(
          test.store.settings.retention == .unlimited
            && test.store.settings.rotation.size == 8 << 20)
        test.log.info("child")
        try test.store.applyRetention()
        try test.store.close()
        _exit(0)
      }
      require(waitFor(child) == 0)
      require(try test.store.archives().count == 4)
      try test.store.close()
    }
  }

  @Test(
    "what a fork's child sets before its first record holds",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func childSetsLimits() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore { $0.retention = .unlimited }
      for index in 0..<3 {
        test.log.info("\(index)")
        _ = try test.store.rotate(within: .seconds(60))
      }
      let child = forkProcess()
      if child == 0 {
        var retention = Retention.unlimited
        retention.count = 2
        try test.store.update { $0.retention = retention }
        test.log.info("child")
        try test.store.applyRetention()
        require(test.store.settings.retention == retention)
        try test.store.close()
        _exit(0)
      }
      require(waitFor(child) == 0)
      require(test.store.settings.retention == .unlimited)
      require(try test.store.archives().count == 2)
      try test.store.close()
    }
  }

  @Test("a closed store still says what was set")
  func afterClosing() throws {
    let test = try TestStore()
    var retention = Retention()
    retention.count = 7
    try test.store.update { $0.retention = retention }
    try test.store.update { $0.rotation = Rotation(size: 1 << 20, age: nil) }
    try test.store.close()
    #expect(test.store.settings.retention == retention)
    #expect(test.store.settings.rotation == Rotation(size: 1 << 20, age: nil))
  }

  #if DEBUG
    @Test("numbers wait for no lock of the directory")
    func numbersDoNotWait() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        test.log.info("x")
        let archive = try test.store.rotate(within: .seconds(60))
        try test.store.applyRetention()
        let other = try File.open(test.folder(".mmlog-lock"), [.read, .write, .create])
        require(try other.tryLock())
        let tries = SharedCount()
        CallObserver.observe { call, _, _ in if call == .fcntlLock { tries.value += 1 } }
        let failure = LockedValue<LogError?>(nil)
        let waiting = try Thread(name: "waits") {
          let error = logError { if let archive { try test.store.pin(archive) } }
          failure.withLock { $0 = error }
        }
        while tries.value < 10 { usleep(1000) }
        require(test.store.pendingBytes > 0)
        require(test.store.statistics.pendingBytes > 0)
        // If these calls waited for the lock, the other thread would have given up by now.
        try other.unlock()
        waiting.join()
        require(failure.withLock { $0 } == nil)
        CallObserver.observe(nil)
        try test.store.close()
      }
    }
  #endif
}
