import Glibc
import MMLogSystem

/// Whether a condition holds now, or will hold within ten minutes.
///
/// For what other threads and processes do: beside other tests, they may not run for minutes.
package func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = Deadline(after: 600_000_000_000)
  while try !condition() {
    if deadline.isOver { return false }
    usleep(1000)
  }
  return true
}
