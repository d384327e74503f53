import CMMLog
import CommandLineTool
import Glibc
import MMLogStorage
import MMLogSystem

/// How this process is to end, apart from being killed by another. Debug builds only.
enum Death {
  static func arm(_ arguments: Arguments) throws {
    #if DEBUG
      let directory = arguments.required(.directory)
      if let name = arguments.value(of: .point) { try arm(point: name) }
      if let count = try arguments.integer(of: .short, in: 1...Int.max) {
        ForcedFault.forceShort(.pwrite, count: count, times: .max, under: directory)
      }
      if let call = try arguments.integer(of: .call, in: 1...Int.max) {
        ForcedFault.die(onCall: call, under: directory)
      }
      if let fail = arguments.value(of: .fail) {
        let numbers = fail.split(separator: ":").compactMap { Int($0) }
        guard numbers.count == 2 else { throw UsageError("--fail-writes takes FIRST:COUNT") }
        ForcedFault.force(
          .pwrite, errno: ENOSPC, onCall: numbers[0], times: numbers[1], under: directory)
      }
    #endif
  }

  #if DEBUG
    private static func arm(point: String) throws {
      let parts = point.split(separator: ":")
      guard parts.count == 2, let count = UInt64(parts[1]) else {
        throw UsageError("--die-at takes POINT:N")
      }
      let name = Array(parts[0].utf8)
      // Neither allocates nor locks: it may be called in a signal handler.
      let expected = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.count)
      _ = expected.initialize(from: name)
      let counter = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
      counter.initialize(to: 0)
      let (base, counted) = (UInt(bitPattern: expected.baseAddress), UInt(bitPattern: counter))
      TestPoint.handler = { reached in
        guard reached.utf8CodeUnitCount == name.count,
          let start = UnsafeRawPointer(bitPattern: base),
          memcmp(start, reached.utf8Start, name.count) == 0,
          let counter = UnsafeMutablePointer<UInt64>(bitPattern: counted)
        else { return }
        if mmlog_fetch_add_u64(counter, 1) + 1 == count { CurrentProcess.die() }
      }
    }
  #endif
}
