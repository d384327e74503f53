import Glibc
import MMLog
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

#if DEBUG
  @Suite("Log calls whose thread ends within them")
  struct LeftCallTests {
    @Test("threads that come later log with the blocks that are left")
    func blocks() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        let log = test.log
        let ending = SharedCount()
        TestPoint.handler = { point in
          if point == .recordBuilt, ending.value == Int(CurrentProcess.threadID()) {
            pthread_exit(nil)
          }
        }
        // More than a block has writers.
        for _ in 0..<6 {
          try Thread(name: "ending") {
            ending.value = Int(CurrentProcess.threadID())
            log.info("left \(1)")
          }.join()
        }
        ending.value = 0
        try Thread(name: "later") { for number in 0..<10 { log.info("\(number)") } }.join()
        let losses = test.store.losses
        try test.store.close()
        let messages = Contents(test.folder.path).messages
        require(losses.isEmpty, "\(losses)")
        require(messages.suffix(10) == (0..<10).map { "\($0)" }, "\(messages)")
      }
    }

    @Test("a signal ends no thread while it has the lock of the segment for all")
    func overflow() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore {
          $0.makeTiny()
          $0.fullRing = .wait(upTo: .seconds(1))
        }
        let log = test.log
        // As many threads as may have a segment of their own, and some more.
        let isDone = SharedCount()
        let holders = try (0..<60).map { index in
          let isReady = SharedCount()
          let thread = try Thread(name: "holder") {
            log.info("holder \(index)")
            isReady.value = 1
            while isDone.value == 0 { usleep(1000) }
          }
          while isReady.value == 0 { usleep(1000) }
          return thread
        }
        signal(SIGUSR1) { _ in pthread_exit(nil) }
        let ending = SharedCount()
        TestPoint.handler = { point in
          if point == .overflowLocked, ending.value == Int(CurrentProcess.threadID()) {
            pthread_kill(pthread_self(), SIGUSR1)
          }
        }
        try Thread(name: "ending") {
          unblockSignals()
          ending.value = Int(CurrentProcess.threadID())
          log.info("last words")
          require(false, "there was no signal")
        }.join()
        try Thread(name: "later") { log.info("later") }.join()
        isDone.value = 1
        for holder in holders { holder.join() }
        let losses = test.store.losses
        try test.store.close()
        let messages = Contents(test.folder.path).messages
        require(losses.isEmpty, "\(losses)")
        require(messages.suffix(2) == ["last words", "later"], "\(messages)")
      }
    }
  }
#endif
