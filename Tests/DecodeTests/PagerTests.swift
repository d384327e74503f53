import TestSupport
import Testing

/// What is shown page by page, on a terminal that python3 makes.
@Suite struct PagerTests {
  /// Runs a program on a terminal of 80 columns, waits until `ready` is printed, sends a signal,
  /// and waits until no process has the terminal. Prints the signal that ended the program.
  private static let script = """
    import fcntl, os, pty, signal, struct, sys, termios
    id, terminal = pty.fork()
    if id == 0:
      signal.pthread_sigmask(signal.SIG_SETMASK, [])
      fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
      os.execv(sys.argv[2], sys.argv[2:])
    text = b""
    def read():
      try: return os.read(terminal, 65536)
      except OSError: return b""
    while b"ready" not in text:
      part = read()
      if not part: sys.exit("no pager: %s" % text)
      text += part
    os.kill(id, int(sys.argv[1]))
    while read(): pass
    print(os.WTERMSIG(os.waitpid(id, 0)[1]))
    """

  @Test("a signal that ends the decoder ends its pager, too", arguments: [1, 15])
  func ended(signal: Int) throws {
    let log = TestLog.closed("one")
    log.save()
    let kept = TemporaryDirectory()
    kept.put("run.py", Self.script)
    let run = try shell(
      """
      export MMLOG_PAGER='echo ready; exec sleep 1000'
      timeout -s KILL 600 python3 '\(kept("run.py"))' \(signal) '\(tool)' '\(log.folder.path)'
      """, folder: kept)
    #expect(run == Run(output: "\(signal)\n", errors: "", status: 0))
  }
}
