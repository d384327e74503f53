import Glibc
import MMLogSystem

/// Standard input that also ends after SIGTERM or SIGINT, as soon as its writer has nothing more to
/// say. Service managers send the signal to both processes at once.
struct StoppableInput: ~Copyable {
  private let input = File(adopting: 0, path: "standard input")

  /// - Throws: ``SystemError`` if no pipe can be made for the signals.
  init() throws(SystemError) {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw SystemError(call: .open, errno: errno, path: "a pipe for signals")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    StopSignal.ends = (ends[0], ends[1])
    for signal in [SIGTERM, SIGINT] {
      // The handler runs once: a second signal ends the process as usual, in case the disk keeps it
      // waiting.
      SignalHandler.install(for: signal, once: true) { _ in
        StopSignal.arrived()
      }
    }
  }

  /// After a signal, the input has ended when nothing has come for this time, in milliseconds.
  private static let lastSilence: CInt = 1000

  /// Reads what there is, or waits for it.
  ///
  /// - Returns: How many bytes; nil at the end of the input.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
    if try wait(upTo: -1) == .stopped,
      try wait(upTo: Self.lastSilence, forSignals: false) == .silent
    {
      return nil
    }
    let count = try input.read(into: buffer)
    return count == 0 ? nil : count
  }

  /// Whether there is something to read within this time, or the input has ended.
  func isReady(within milliseconds: Int) throws(SystemError) -> Bool {
    try wait(upTo: CInt(clamping: milliseconds), forSignals: false) != .silent
  }

  private enum Event { case input, stopped, silent }

  private func wait(
    upTo milliseconds: CInt, forSignals: Bool = true
  ) throws(SystemError) -> Event {
    var waiting = [
      pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
      pollfd(fd: StopSignal.ends.read, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      let count = poll(&waiting, forSignals ? 2 : 1, milliseconds)
      if count == 0 { return .silent }
      if count > 0 { return waiting[1].revents != 0 ? .stopped : .input }
      guard errno == EINTR else {
        throw SystemError(call: .poll, errno: errno, path: "standard input")
      }
    }
  }
}

/// The two ends of a pipe, which a signal handler may use.
private enum StopSignal {
  nonisolated(unsafe) static var ends: (read: CInt, write: CInt) = (-1, -1)

  static func arrived() {
    var byte: UInt8 = 0
    _ = write(ends.write, &byte, 1)
  }
}
