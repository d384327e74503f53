import MMLogSystem
import Synchronization

/// Counts the threads that use libcrypto. libcrypto's exit handler frees what libcrypto works with,
/// even while threads use it, and they would crash. So the exit handler waits for them, and no
/// thread begins a new use.
enum LibraryUses {
  /// Bits 0–30 are the number of threads, bit 31 is set from the exit handler on, and bits 32–63
  /// are the process: a child of fork has none of its parent's threads. One word, so that it needs
  /// no lock, which the child might find locked.
  private static let state = Atomic<UInt64>(0)
  private static let ended: UInt64 = 1 << 31
  /// How long the exit handler waits at most, in milliseconds. A signal handler may exit the
  /// process on a thread that it interrupted while the thread used libcrypto.
  private static let longestWait = 5000

  /// - Returns: False from the exit handler on.
  static func add() -> Bool {
    change { $0 & ended == 0 ? $0 + 1 : nil }
  }

  static func remove() {
    _ = change { $0 & ~ended == 0 ? nil : $0 - 1 }
  }

  /// Ends all use. libcrypto calls it before it frees anything.
  static func endAll() {
    _ = change { $0 | ended }
    let process = process
    for _ in 0..<longestWait {
      if lowerHalf(of: state.load(ordering: .acquiring), in: process) & ~ended == 0 { return }
      Sleep.nanoseconds(1_000_000)
    }
  }

  private static func change(_ next: (UInt64) -> UInt64?) -> Bool {
    var old = state.load(ordering: .relaxed)
    // Asked only once, because it is a system call.
    let process = process
    while true {
      guard let count = next(lowerHalf(of: old, in: process)) else { return false }
      let (isDone, original) = state.compareExchange(
        expected: old, desired: process | count, ordering: .sequentiallyConsistent)
      if isDone { return true }
      old = original
    }
  }

  private static var process: UInt64 { UInt64(UInt32(bitPattern: CurrentProcess.id)) << 32 }

  /// The lower half of a state, without the uses of another process.
  private static func lowerHalf(of state: UInt64, in process: UInt64) -> UInt64 {
    let lowerHalf = state & 0xFFFF_FFFF
    return state & ~0xFFFF_FFFF == process ? lowerHalf : lowerHalf & ended
  }
}
