import CMMLogCore
import Glibc
import MMLogSystem
import Testing

@Suite("Threads")
struct ThreadTests {
  @Test("a thread has its name, a number of its own, and has run when it is joined")
  func runs() throws {
    let seen = Box((name: "", id: Int32(0)))
    let thread = try Thread(name: "a name that is too long") {
      let name = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
        let count = CurrentProcess.threadName(into: buffer)
        return String(decoding: buffer[..<count], as: UTF8.self)
      }
      seen.value = (name, CurrentProcess.threadID())
    }
    thread.join()
    thread.join()
    #expect(seen.value.name == "a name that is ")
    #expect(seen.value.id > 0)
    #expect(seen.value.id != CurrentProcess.threadID())
  }

  @Test("signals are blocked in a thread, except those that a fault of its own raises")
  func signals() throws {
    let blocked = Box<[CInt]>([])
    try Thread(name: "signals") {
      var set = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &set)
      blocked.value = (1..<32).filter { sigismember(&set, $0) == 1 }
    }.join()
    let open = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGKILL, SIGSTOP]
    #expect(blocked.value == (1..<32).filter { !open.contains($0) })
  }

  @Test("a thread's signals do not depend on those of the one that starts it")
  func signalsOfThreadInThread() throws {
    let abort = Box<CInt>(-1)
    try Thread(name: "outer") {
      var (set, own) = (sigset_t(), sigset_t())
      sigaddset(&set, SIGABRT)
      pthread_sigmask(SIG_BLOCK, &set, &own)
      #expect(throws: Never.self) {
        try Thread(name: "inner") {
          var set = sigset_t()
          pthread_sigmask(SIG_BLOCK, nil, &set)
          abort.value = sigismember(&set, SIGABRT)
        }.join()
      }
    }.join()
    #expect(abort.value == 0)
  }

  @Test("starting a thread leaves the signals of the one that starts it alone")
  func signalsOfStarter() throws {
    var (before, after) = (sigset_t(), sigset_t())
    pthread_sigmask(SIG_BLOCK, nil, &before)
    try Thread(name: "nothing") {}.join()
    pthread_sigmask(SIG_BLOCK, nil, &after)
    for signal in 1..<CInt(32) {
      #expect(sigismember(&before, signal) == sigismember(&after, signal), "signal \(signal)")
    }
  }

  @Test("a thread that nobody keeps runs to its end")
  func detached() throws {
    let word = SharedWord()
    _ = try Thread(name: "detached") {
      mmlog_store_release_u32(word.pointer, 1)
      Futex.wake(word.pointer)
    }
    while mmlog_load_acquire_u32(word.pointer) == 0 { _ = Futex.wait(word.pointer, expected: 0) }
    #expect(mmlog_load_acquire_u32(word.pointer) == 1)
  }

  @Test("a thread may join itself: it does not wait")
  func joinsItself() throws {
    let (own, done) = (Box<Thread?>(nil), SharedWord())
    let thread = try Thread(name: "itself") {
      while own.value == nil { sched_yield() }
      own.value?.join()
      mmlog_store_release_u32(done.pointer, 1)
    }
    own.value = thread
    thread.join()
    own.value = nil
    #expect(mmlog_load_acquire_u32(done.pointer) == 1)
  }

  #if DEBUG
    @Test("a thread that cannot start is an error, and its closure is let go")
    func refused() {
      weak var watch: Box<Int>?
      do {
        let body = Box(0)
        watch = body
        ForcedFault.force(.pthreadCreate, errno: EAGAIN, under: "refused thread")
        let error = failure { _ = try Thread(name: "refused thread") { body.value = 1 } }
        #expect(error == SystemError(call: .pthreadCreate, errno: EAGAIN, path: "refused thread"))
        #expect(body.value == 0)
      }
      #expect(watch == nil)
    }
  #endif
}

@Suite("Futexes and mutexes")
struct FutexTests {
  @Test("a waiting thread is woken by another")
  func woken() throws {
    let (word, result) = (SharedWord(), Box<Futex.WaitResult?>(nil))
    let waiter = try Thread(name: "waiter") {
      result.value = Futex.wait(word.pointer, expected: 0)
    }
    while Futex.wake(word.pointer, count: 1) == 0 { sched_yield() }
    waiter.join()
    #expect(result.value == .woken)
  }

  @Test("a word that is another one already is not waited for")
  func changed() {
    #expect(Futex.wait(SharedWord().pointer, expected: 1) == .changed)
  }

  @Test("a wait ends with its time, which may be none", arguments: [1_000_000, 0, -5] as [Int64])
  func timedOut(timeout: Int64) {
    #expect(Futex.wait(SharedWord().pointer, expected: 0, timeout: timeout) == .timedOut)
  }

  @Test("waking nobody wakes nobody, and errno is left alone")
  func nobody() {
    errno = 77
    #expect(Futex.wake(SharedWord().pointer) == 0)
    _ = Futex.wait(SharedWord().pointer, expected: 1)
    #expect(errno == 77)
  }

  @Test("one thread at a time is between lock and unlock")
  func excludes() throws {
    let (mutex, sum) = (ForkSafeMutex(), UnsafeCounter())
    let threads = try (0..<4).map { number in
      try Thread(name: "adder \(number)") {
        for _ in 0..<20_000 { mutex.withLock { sum.value += 1 } }
      }
    }
    for thread in threads { thread.join() }
    #expect(sum.value == 80_000)
  }

  @Test("a taken lock is not taken twice, and is free after unlocking or starting anew")
  func tryLock() {
    let mutex = ForkSafeMutex()
    #expect(mutex.tryLock())
    #expect(!mutex.tryLock())
    mutex.unlock()
    #expect(mutex.tryLock())
    mutex.reinitialize()
    #expect(mutex.tryLock())
  }

  @Test("an error leaves the lock free")
  func errorUnlocks() {
    let mutex = ForkSafeMutex()
    let error = failure {
      try mutex.withLock { () throws(SystemError) in throw SystemError(call: .read, errno: EIO) }
    }
    #expect(error?.errno == EIO)
    #expect(mutex.tryLock())
  }
}

/// Proof of `@unchecked Sendable`: it has none; the lock under test is what makes it so.
private final class UnsafeCounter: @unchecked Sendable {
  var value = 0
}
