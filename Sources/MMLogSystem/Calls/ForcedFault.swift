#if DEBUG
  import Synchronization

  /// Makes system calls fail on request, so that full disks and I/O errors can be tested.
  ///
  /// Debug builds only. A fault is aimed at calls whose path starts with a prefix, so that tests
  /// that run in parallel in one process do not meet each other's faults; the prefix "" means the
  /// calls that are about no path (getrandom, membarrier, …), and only those.
  package enum ForcedFault {
    /// What happens in place of a call.
    enum Effect: Sendable {
      case errno(CInt)
      case short(Int)
      case death
      case wait(ForkSafeMutex)
    }

    /// Makes matching calls fail with `errno`, without being made. EINTR is retried, as a real one.
    ///
    /// - Parameters:
    ///   - onCall: which of the matching calls from now on is the first to fail; 1 is the next one.
    ///   - times: how many fail from there on, one after the other; `.max` for all.
    package static func force(
      _ call: SystemCall, errno: CInt, onCall: Int = 1, times: Int = 1, under pathPrefix: String?
    ) {
      arm(Fault(call, .errno(errno), pathPrefix, onCall: onCall, times: times))
    }

    /// Makes matching reads or writes move at most `count` bytes; as ``force`` otherwise.
    package static func forceShort(
      _ call: SystemCall, count: Int, onCall: Int = 1, times: Int = 1, under pathPrefix: String?
    ) {
      arm(Fault(call, .short(count), pathPrefix, onCall: onCall, times: times))
    }

    /// Makes matching calls wait until a lock is free before they are made, as on a frozen file
    /// system.
    package static func block(
      _ call: SystemCall, on gate: ForkSafeMutex, under pathPrefix: String?
    ) {
      arm(Fault(call, .wait(gate), pathPrefix, onCall: 1, times: .max))
    }

    /// Ends the process with SIGKILL in place of a call about a path with this prefix, whichever
    /// call it is; `onCall` 1 is the next one.
    package static func die(onCall: Int, under pathPrefix: String) {
      arm(Fault(nil, .death, pathPrefix, onCall: onCall, times: 1))
    }

    /// Forgets the faults that were asked for with exactly this prefix.
    package static func clear(under pathPrefix: String?) {
      change { $0.removeAll { $0.prefix == pathPrefix } }
    }

    /// Counts a call, and returns what is to happen in its place.
    static func next(_ call: SystemCall, _ path: @autoclosure () -> String) -> Effect? {
      // Without a lock while nothing is armed: calls are made in signal handlers and after fork
      // too.
      if armed.load(ordering: .acquiring) == 0 { return nil }
      let path = path()
      var effect: Effect?
      change { faults in
        for index in faults.indices where faults[index].matches(call, path) {
          guard let due = faults[index].count() else { continue }
          if case .death = due { CurrentProcess.die() }
          if effect == nil { effect = due }
          struck.insert(path)
        }
        faults.removeAll { $0.isSpent }
      }
      return effect
    }

    /// How many calls the faults for `call` with exactly this prefix have let pass so far. If the
    /// first call to fail never comes, this counts calls without changing any.
    package static func passed(_ call: SystemCall, under pathPrefix: String?) -> Int {
      lock.withLock {
        faults.filter { $0.call == call && $0.prefix == pathPrefix }.map(\.passed).max() ?? 0
      }
    }

    /// The paths of the calls that have been made to fail, or to move less, since the process
    /// began.
    package static var struckPaths: Set<String> { lock.withLock { struck } }

    nonisolated(unsafe) private static var struck: Set<String> = []  // under `lock`
    private static let armed = Atomic<Int>(0)
    private static let lock = ForkSafeMutex()
    nonisolated(unsafe) private static var faults: [Fault] = []  // under `lock`

    private static func arm(_ fault: Fault) {
      _ = survivesFork
      change { $0.append(fault) }
    }

    private static func change(_ body: (inout [Fault]) -> Void) {
      lock.withLock {
        body(&faults)
        armed.store(faults.count, ordering: .releasing)
      }
    }

    // A child of fork finds the list whole and unlocked, whatever other threads were doing.
    private static let survivesFork: Bool = {
      do throws(SystemError) {
        try ForkHandlers.install(
          prepare: { ForcedFault.lock.lock() }, parent: { ForcedFault.lock.unlock() },
          child: { ForcedFault.lock.reinitialize() })
        return true
      } catch {
        return false
      }
    }()
  }

  /// One request of a test, with its counters.
  private struct Fault: Sendable {
    /// Nil for any call.
    let call: SystemCall?
    let effect: ForcedFault.Effect
    /// Nil for any path, or none.
    let prefix: String?
    private(set) var passed = 0
    private var toPass: Int
    private var toFail: Int

    init(
      _ call: SystemCall?, _ effect: ForcedFault.Effect, _ prefix: String?, onCall: Int, times: Int
    ) {
      (self.call, self.effect, self.prefix) = (call, effect, prefix)
      (toPass, toFail) = (max(onCall - 1, 0), max(times, 0))
    }

    var isSpent: Bool { toFail == 0 }

    func matches(_ call: SystemCall, _ path: String) -> Bool {
      if let chosen = self.call, call != chosen { return false }
      guard let prefix else { return true }
      return prefix.isEmpty ? path.isEmpty : path.utf8.starts(with: prefix.utf8)
    }

    /// Counts one matching call: the effect if it is due.
    mutating func count() -> ForcedFault.Effect? {
      if toPass > 0 {
        toPass -= 1
        passed += 1
        return nil
      }
      if toFail == 0 { return nil }
      if toFail != .max { toFail -= 1 }
      return effect
    }
  }
#endif
