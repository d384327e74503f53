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
        // More threads than a block has writers.
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
  }
#endif
