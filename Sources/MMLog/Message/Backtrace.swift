import MMLogCrash
import MMLogFormat

extension Logger.MetadataValue {
  /// Returns the calling thread's stack, to be logged with a record:
  ///
  /// ```swift
  /// log.error("order \(id) is in no book", metadata: ["stack": .backtrace()])
  /// ```
  ///
  /// A log call whose level is off evaluates nothing, and so walks no stack. A stack of ten
  /// functions takes some 50 microseconds and one kilobyte of the record.
  ///
  /// The value has return addresses, as text that `addr2line(1)` takes, and the build ids of the
  /// programs and libraries that they are in: `{"frames": ["/usr/bin/orders+0x1e10"], "builds":
  /// {"/usr/bin/orders": "5be0…"}}`. `LogReader.Record.backtraces` finds the names of functions, as
  /// it does for crashes. The stack is walked by frame pointers, which Swift keeps; C code needs
  /// `-fno-omit-frame-pointer`.
  ///
  /// Any thread; not in signal handlers. Allocates. System calls: process_vm_readv(2) for each
  /// function; where that is forbidden, the value has no frames.
  ///
  /// - Returns: At most 126 return addresses, the first of which is in the caller, and the builds
  ///   of at most 14 programs and libraries.
  /// - Complexity: O(functions on the stack × programs and libraries loaded).
  @inline(never)
  public static func backtrace() -> Logger.MetadataValue {
    guard let stack = CrashArea.backtrace() else { return .array([]) }
    var builds = Logger.Metadata()
    for module in stack.modules where !module.buildID.isEmpty {
      builds.append(.hex(module.buildID), for: module.path)
    }
    // The first two are in this function, and in the one that it has called.
    let frames = stack.frames.dropFirst(2).map { Self.string(stack.place(of: $0)) }
    return ["frames": .array(frames), "builds": .dictionary(builds)]
  }
}
