import Glibc

/// Another program, run as a process with the demo's own input, output and environment.
final class Child {
  let id: pid_t
  private var isGone = false

  init(_ path: String, _ arguments: [String]) throws {
    let strings = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for string in strings { free(string) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, path, nil, nil, strings, environ)
    guard code == 0 else {
      throw DemoError("\(path) cannot be started: \(String(cString: strerror(code)))")
    }
    self.id = id
  }

  deinit { kill() }

  /// Ends the process with SIGKILL, if it still runs, and waits for its end.
  func kill() {
    if isGone { return }
    _ = Glibc.kill(id, SIGKILL)
    wait()
  }

  func wait() {
    var status: CInt = 0
    while !isGone && waitpid(id, &status, 0) < 0 && errno == EINTR {}
    isGone = true
  }

  var hasEnded: Bool {
    var status: CInt = 0
    if !isGone { isGone = waitpid(id, &status, WNOHANG) == id }
    return isGone
  }

  /// The path of a program that was built with this one.
  static func path(of program: String) -> String {
    let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 4096)
    defer { buffer.deallocate() }
    let count = readlink("/proc/self/exe", buffer, 4096)
    let bytes = UnsafeRawBufferPointer(start: buffer, count: max(0, count))
    let path = String(decoding: bytes, as: UTF8.self)
    return path.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/\(program)"
  }
}
