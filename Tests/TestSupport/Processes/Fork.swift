package import Glibc

/// The process that an exit test began as.
package let originalProcess = getpid()

/// Forks a process that an exit test began.
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
