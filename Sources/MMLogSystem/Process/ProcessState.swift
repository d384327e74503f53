/// What a process does, as the kernel says: /proc/PID/stat, proc(5).
package enum ProcessState: Equatable, Sendable {
  /// It runs, or waits for something that a signal can end.
  case running
  /// By SIGSTOP, or a debugger.
  case stopped
  /// For a disk or a file system: no signal ends that.
  case waitingForDisk
  /// It has ended, and its parent has not waited for it.
  case dead

  /// Nil if there is no such process here, or it has another name: in another namespace, numbers
  /// mean other processes.
  ///
  /// - Parameters:
  ///   - id: The process's number.
  ///   - name: Its program's name; nil: any.
  package init?(of id: UInt32, name: String?) {
    let line = Host.contents(of: "/proc/\(id)/stat")
    // What stands in parentheses may have any character in it.
    guard let start = line.firstIndex(of: "("), let end = line.lastIndex(of: ")"), start < end
    else {
      return nil
    }
    let known = line[line.index(after: start)..<end]
    if let name, !name.utf8.prefix(15).elementsEqual(known.utf8) { return nil }
    switch line[end...].dropFirst().first(where: { $0 != " " }) {
    case "T", "t": self = .stopped
    case "D": self = .waitingForDisk
    case "Z", "X", "x": self = .dead
    case nil: return nil
    default: self = .running
    }
  }
}
