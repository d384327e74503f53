import Glibc

/// Names a process, so that others can find out that it is gone. A number alone may belong to
/// another process later, and stands for another process on other machines and in containers.
package struct ProcessMark: Hashable, Sendable, LosslessStringConvertible {
  /// The beginning of the boot's id, and the namespace of the process's number: pid_namespaces(7).
  private let boot, namespace: UInt64
  private let id: Int32
  /// When the process started, in ticks since the boot.
  private let start: UInt64

  /// The calling process; nil if /proc does not say when it started.
  package static var current: ProcessMark? {
    let id = CurrentProcess.id
    guard let boot, let namespace,
      let start = ProcessLine(of: UInt32(bitPattern: id))?.start
    else { return nil }
    return ProcessMark(boot: boot, namespace: namespace, id: id, start: start)
  }

  private init(boot: UInt64, namespace: UInt64, id: Int32, start: UInt64) {
    (self.boot, self.namespace, self.id, self.start) = (boot, namespace, id, start)
  }

  /// Whether the process certainly has ended. False, too, if that cannot be determined here.
  ///
  /// Asks by kill(2) with the signal 0, since /proc may hide the processes of other users.
  package var isGone: Bool {
    guard boot == Self.boot, namespace == Self.namespace else { return false }
    if kill(id, 0) != 0, errno == ESRCH { return true }
    guard let line = ProcessLine(of: UInt32(bitPattern: id)) else { return false }
    return line.state == .dead || line.start.map { $0 != start } ?? false
  }

  /// The mark's four numbers, with colons between them.
  package var description: String { "\(boot):\(namespace):\(id):\(start)" }

  /// Reads what ``description`` gives; nil for anything else.
  package init?(_ description: String) {
    let parts = description.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 4, let boot = UInt64(parts[0]), let namespace = UInt64(parts[1]),
      let id = Int32(parts[2]), id > 0, let start = UInt64(parts[3])
    else { return nil }
    self.init(boot: boot, namespace: namespace, id: id, start: start)
  }

  private static let boot: UInt64? = {
    let id = Host.bootID()
    if id.allSatisfy({ $0 == 0 }) { return nil }
    return id.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }()

  /// `pid:[4026531836]`
  private static let namespace = UInt64(
    Host.target(of: "/proc/self/ns/pid").filter(\.isNumber))
}
