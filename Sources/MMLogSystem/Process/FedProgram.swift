import Glibc

/// Runs a shell command, gives it its standard input, and waits for it.
package enum FedProgram {
  /// How it ended.
  package enum Ending: Equatable, Sendable {
    /// It exited with this status.
    case exited(Int32)
    /// This signal killed it.
    case killed(Int32)
    /// It was killed, because its time was over.
    case timedOut
    /// It was killed, because it was canceled.
    case canceled
  }

  /// What became of a command.
  package struct Result: Sendable {
    /// How it ended.
    package let ending: Ending
    /// Whether the command has read all of its input.
    package let hasTakenInput: Bool
    /// The last 1,000 bytes that the command wrote to standard output and standard error.
    package let said: [UInt8]
  }

  private static let maximumSaid = 1000

  /// Runs `sh -c COMMAND` in a process group of its own: pipe2(2), posix_spawn(3), poll(2),
  /// waitpid(2). Blocks until the command has ended.
  ///
  /// - Parameters:
  ///   - environment: Variables beside those of this process.
  ///   - input: What the command reads.
  ///   - timeout: How many nanoseconds the command may run; then it is killed with all of its
  ///     group.
  ///   - isCanceled: Asked ten times a second; if it is true, the command is killed in the same
  ///     way.
  /// - Throws: ECHILD if it has ended and nobody knows how, because this process ignores SIGCHLD.
  package static func run(
    _ command: String, environment: [(name: String, value: String)], input: [UInt8],
    timeout: Int64, isCanceled: () -> Bool
  ) throws(SystemError) -> Result {
    var toChild = try Pipe()
    var fromChild = try Pipe()
    let output = Spawn.Stream.descriptor(fromChild.writing)
    let id = try Spawn.start(
      "/bin/sh", ["sh", "-c", command], environment: environment,
      input: .descriptor(toChild.reading), output: output, errors: output, isLeader: true)
    toChild.closeReading()
    fromChild.closeWriting()
    for end in [toChild.writing, fromChild.reading] {
      _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
    }
    let deadline = Deadline(after: timeout)
    var (written, hasTaken, said, stopped) = (0, true, [UInt8](), nil as Ending?)
    var unread = Unread()
    if input.isEmpty { toChild.closeWriting() }
    while true {
      wait(toChild.writing, fromChild.reading)
      if toChild.writing >= 0 {
        switch write(toChild.writing, input[written...]) {
        case .some(let count): written += count
        case .none: (hasTaken, written) = (false, input.count)
        }
        if written == input.count {
          if hasTaken { unread.watch(toChild.writing) }
          toChild.closeWriting()
        }
      }
      if !read(fromChild.reading, &said) { fromChild.closeReading() }
      if let status = try Spawn.status(of: id, waits: false) {
        _ = read(fromChild.reading, &said)
        return Result(
          ending: stopped ?? ending(status),
          hasTakenInput: hasTaken && written == input.count && unread.isEmpty, said: said)
      }
      if stopped == nil {
        if isCanceled() { stopped = .canceled }
        if deadline.isOver { stopped = .timedOut }
        if stopped != nil { kill(-id, SIGKILL) }
      }
    }
  }

  private static func ending(_ status: CInt) -> Ending {
    let signal = status & 0x7F
    return signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal)
  }

  /// Waits for a tenth of a second, or until there is something to do.
  private static func wait(_ writing: CInt, _ reading: CInt) {
    // poll(2) passes over a descriptor below 0. A child that has closed its output is waited for in
    // short steps.
    var ends = [
      pollfd(fd: writing, events: Int16(POLLOUT), revents: 0),
      pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
    ]
    _ = poll(&ends, 2, writing < 0 && reading < 0 ? 2 : 100)
  }

  /// Writes, and returns how many bytes were written; nil if nobody reads any more.
  private static func write(_ descriptor: CInt, _ bytes: ArraySlice<UInt8>) -> Int? {
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EINTR ? 0 : nil
  }

  /// Reads what there is, up to 16 parts: a program that prints faster than this reads must not
  /// keep the caller from checking the time. Returns false at the end.
  private static func read(_ descriptor: CInt, _ said: inout [UInt8]) -> Bool {
    guard descriptor >= 0 else { return true }
    var part = [UInt8](repeating: 0, count: 4096)
    for _ in 0..<16 {
      let count = Glibc.read(descriptor, &part, part.count)
      if count < 0 { return errno == EAGAIN || errno == EINTR }
      if count == 0 { return false }
      said += part.prefix(count)
      said.removeFirst(max(0, said.count - maximumSaid))
    }
    return true
  }
}

/// The bytes in a pipe that nobody has read.
private struct Unread: ~Copyable {
  private var descriptor: CInt = -1
  /// FIONREAD, which is not imported.
  private static let count: UInt = 0x541B

  /// Opens another reading end of the pipe, through which nothing is read: proc(5), `/proc/PID/fd`.
  /// To be called only after all is written, since this end would hide that the program has closed
  /// its own.
  mutating func watch(_ writing: CInt) {
    descriptor = open("/proc/self/fd/\(writing)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
  }

  /// Whether nothing is unread; true, too, if that is not known: ioctl(2).
  var isEmpty: Bool {
    var bytes: CInt = 0
    return descriptor < 0 || ioctl(descriptor, Self.count, &bytes) != 0 || bytes == 0
  }

  deinit { if descriptor >= 0 { _ = close(descriptor) } }
}
