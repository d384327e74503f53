package import Glibc

/// The id of the process with which an exit test began.
package let originalProcess = getpid()

/// Forks the process of an exit test.
package func forkProcess() -> pid_t {
  _ = originalProcess
  let child = fork()
  require(child >= 0)
  return child
}

/// The exit code of a child, or the signal that ended it.
package func waitFor(_ child: pid_t) -> CInt {
  var status: CInt = 0
  while waitpid(child, &status, 0) < 0 && errno == EINTR {}
  let signal = status & 0x7F
  return signal == 0 ? status >> 8 & 0xFF : signal
}
