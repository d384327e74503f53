import MMLog
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogShipping

/// What a flush waits for, and how long.
@Suite struct FlushTests {
  @Test("a flush that begins while a pass archives is answered after the next pass")
  func withinPass() async throws {
    let test = try ShippedStore { $0.drainInterval = .seconds(3600) }
    let (store, log, receiver, control) = (test.store, test.log, Receiver(), ShipperControl())
    let (calls, second) = (LockedValue(0), LockedValue<Task<Bool, Never>?>(nil))
    var configuration = Shipper.Configuration.quick()
    configuration.archive = {
      try? store.flush(.archive)
      let call = calls.withLock {
        $0 += 1
        return $0
      }
      guard call == 1 else { return }
      log.info("record 2")
      second.withLock { $0 = Task { await control.flush(within: .seconds(3600)) } }
      while control.orders.withLock({ $0.flushes.count }) < 2 { Sleep.nanoseconds(1_000_000) }
    }
    let work = ShippingWork(
      test.folder.path, "test", receiver, configuration, control, isOnce: false)
    control.change { $0.isRunning = true }
    let thread = try Thread(name: "mmlog-ship") {
      work.run()
      control.end()
    }
    log.info("record 1")
    #expect(await control.flush(within: .seconds(3600)))
    let task = try #require(second.withLock { $0 })
    #expect(await task.value)
    #expect(receiver.messages == records(1...2))
    control.stop()
    thread.join()
  }

  @Test("a flush waits no longer than it may while a policy holds its batch")
  func policy() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver) {
      $0.policy = { _ in .wait(.seconds(60)) }
      $0.scanInterval = .seconds(60)
    }
    try test.log(1...10)
    try shipper.start()
    #expect(await shipper.flush(within: .milliseconds(50)) == false)
    await shipper.stop()
    #expect(receiver.tryCount == 0)
  }

  @Test("a flush waits no longer than it may while a receiver does not answer")
  func noAnswer() async throws {
    let test = try ShippedStore()
    let receiver = Receiver { _, _ in
      try await Task.sleep(nanoseconds: 60_000_000_000)
      return .accepted
    }
    let shipper = try test.shipper(to: receiver)
    try test.log(1...10)
    try shipper.start()
    try await wait { receiver.tryCount == 1 }
    #expect(await shipper.flush(within: .milliseconds(50)) == false)
    await shipper.stop()
  }

  @Test("a flush is not done when a shipper is stopped while its batch is on its way")
  func stopped() async throws {
    let test = try ShippedStore()
    let receiver = Receiver { _, _ in
      try await Task.sleep(nanoseconds: 60_000_000_000)
      return .accepted
    }
    let shipper = try test.shipper(to: receiver)
    try test.log(1...10)
    try shipper.start()
    async let isDone = shipper.flush(within: .seconds(60))
    try await wait { receiver.tryCount == 1 }
    await shipper.stop()
    #expect(await isDone == false)
  }
}
